//! The durable stores behind core's `Store` port: SQLite for one machine, PostgreSQL for many.
//!
//! Every statement is written once, in `sql/`, and every table in `migrations/`; what differs between the engines is
//! the constants and few functions in `engines/sqlite.rs` and `engines/postgres.rs`.

mod background;
mod connections;
mod engines;
mod group_commit;
mod open;
mod read_only;
mod records;
mod settings;
mod sql;
mod sql_store;
mod status;

pub use self::connections::hosts::{HostsError, without_password};
pub use self::open::{StoreOpenError, is_store, open};
pub use self::read_only::ReadOnlyStore;
pub use self::settings::StoreSettings;
pub use self::sql_store::SqlStore;
