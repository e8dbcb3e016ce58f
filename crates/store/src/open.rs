//! From the address of a store to the store.

use std::sync::Arc;

use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::store::Store;

use crate::connections::hosts::HostsError;
use crate::engines::engine::Engine;
use crate::engines::postgres::POSTGRES;
use crate::engines::sqlite::SQLITE;
use crate::settings::StoreSettings;
use crate::sql_store::SqlStore;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreOpenError {
    /// The address is of no kind we know.
    #[error("`{0}` is not a store: write `memory`, `sqlite:FILE` or `postgres://USER@HOST/DATABASE`")]
    Unknown(String),
    /// The hosts in the address cannot be used.
    #[error("the address of the store is not valid")]
    Hosts(#[source] HostsError),
    /// The database did not let us in.
    #[error("the store cannot be opened")]
    Connect(#[source] sqlx::Error),
    /// The tables could not be brought up to date.
    #[error("the tables of the store cannot be brought up to date")]
    Migrate(#[source] sqlx::migrate::MigrateError),
    /// It is opened read-only, and holds nothing of ours.
    #[error("the store has no tables yet")]
    NoTables,
    /// It is opened read-only, and another version of this program made its tables.
    #[error("the tables of the store are of version {found}, those of this program of version {wanted}")]
    OtherTables {
        /// The version of the tables in the database.
        found: i64,
        /// The version that this program makes and reads.
        wanted: i64,
    },
}

/// True for the address of a store, whether or not one is there.
pub fn is_store(url: &str) -> bool {
    url == "memory" || engine(url, "ro").is_some()
}

/// Opens the store an address names and brings its tables up to date.
pub async fn open(url: &str, settings: StoreSettings) -> Result<Arc<dyn Store>, StoreOpenError> {
    if url == "memory" {
        return Ok(Arc::new(MemoryStore::new(settings.retention, settings.prune_every)));
    }
    Ok(Arc::new(SqlStore::open(url, settings).await?))
}

/// Which engine, and the address in the form it wants.
pub(crate) fn engine(url: &str, mode: &str) -> Option<(&'static Engine, String)> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Some((&POSTGRES, url.to_owned()));
    }
    let file = url.strip_prefix("sqlite:")?;
    let options = if file.contains('?') { String::new() } else { format!("?mode={mode}") };
    Some((&SQLITE, format!("sqlite:{file}{options}")))
}
