//! The durable stores behind core's `Store` port: SQLite for one machine, PostgreSQL for many.
//!
//! Every statement is written once, in `sql/`; what differs between the engines is their migrations and a
//! few lines in `sqlite.rs` and `postgres.rs`.

mod audit;
mod batch_sql;
mod calls;
mod connection;
mod database;
mod definitions;
mod file;
mod heartbeat;
mod hosts;
mod maintenance;
mod outage;
mod pools;
mod postgres;
mod presence;
mod prune;
mod read_only;
mod sealed;
mod sql;
mod sqlite;
mod store;
mod surplus;
mod tasks;
mod uncertain_claims;
mod write;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::store::{PRUNE_EVERY, Retention, Store};

pub use self::hosts::{HostsError, without_password};
pub use self::read_only::ReadOnlyStore;
pub use self::store::SqlStore;

/// How a durable store behaves.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings {
    /// How long a server that says nothing is taken to be alive.
    pub lease: Duration,
    /// What is kept and for how long.
    pub retention: Retention,
    /// How often what is older or more than that is removed.
    pub prune_every: Duration,
    /// How long a database that does not answer is waited for.
    pub patience: Duration,
}

impl Default for StoreSettings {
    fn default() -> Self {
        StoreSettings {
            lease: Duration::from_secs(10),
            retention: Retention::default(),
            prune_every: PRUNE_EVERY,
            patience: Duration::from_secs(3),
        }
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is of no kind we know.
    #[error("`{0}` is no store: write `memory`, `sqlite:FILE` or `postgres://USER@HOST/DATABASE`")]
    Unknown(String),
    /// The hosts in the address cannot be used.
    #[error("the address of the store is wrong")]
    Hosts(#[source] HostsError),
    /// The database did not let us in.
    #[error("the store cannot be opened")]
    Connect(#[source] sqlx::Error),
    /// The tables could not be brought up to date.
    #[error("the tables of the store cannot be brought up to date")]
    Migrate(#[source] sqlx::migrate::MigrateError),
    /// It is only to be looked at, and holds nothing of ours.
    #[error("the store has no tables yet")]
    NoTables,
    /// It is only to be looked at, and another version of this program made its tables.
    #[error("the tables of the store are of version {found}, those of this program of version {wanted}")]
    OtherTables {
        /// Theirs.
        found: i64,
        /// Ours.
        wanted: i64,
    },
}

/// True for the address of a store, whether or not one is there.
pub fn is_store(url: &str) -> bool {
    url == "memory" || store::engine(url, "ro").is_some()
}

/// Opens the store an address names and brings its tables up to date.
pub async fn open(url: &str, settings: StoreSettings) -> Result<Arc<dyn Store>, OpenError> {
    if url == "memory" {
        return Ok(Arc::new(MemoryStore::new(settings.retention, settings.prune_every)));
    }
    Ok(Arc::new(SqlStore::open(url, settings).await?))
}
