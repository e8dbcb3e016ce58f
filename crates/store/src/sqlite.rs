//! What is SQLite's own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sqlx::Row;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::time::sleep;
use toolmux_core::BoxFuture;

use crate::database::{Database, Engine};
use crate::presence::Presence;

/// How often we look whether another process changed the file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(crate) const SQLITE: Engine = Engine {
    name: "sqlite",
    setup: &[
        // Heeded only before there are tables; from then on pruning gives pages back to the system.
        "PRAGMA auto_vacuum = INCREMENTAL",
        "PRAGMA busy_timeout = 10000",
        "PRAGMA journal_mode = WAL",
        // In WAL mode only `FULL` survives a power failure; group commit pays for it.
        "PRAGMA synchronous = FULL",
        "PRAGMA journal_size_limit = 67108864",
        // Keys are random, so that pages are written again and again: the fewer checkpoints, the better.
        "PRAGMA wal_autocheckpoint = 8000",
        "PRAGMA cache_size = -16384",
    ],
    migrations: &[
        (1, "records", include_str!("../migrations/sqlite/1_records.sql")),
        (2, "audit", include_str!("../migrations/sqlite/2_audit.sql")),
    ],
    writers: 1,
    readers: 4,
    remote: false,
    skip_locked: "",
    announce: None,
    clock: None,
    looking: &["PRAGMA busy_timeout = 10000"],
    vacuum: Some("PRAGMA incremental_vacuum(10000)"),
    bytes: "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    presence,
    watch,
};

/// A database in memory is ours alone, and gone when we are.
fn presence(url: &str) -> Option<io::Result<Presence>> {
    let options: SqliteConnectOptions = url.parse().ok()?;
    let file = options.get_filename();
    file.is_file().then(|| Presence::at(file))
}

/// All our writes take one connection, whose `data_version` moves only when somebody else writes.
fn watch(database: Arc<Database>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut seen = None;
        loop {
            sleep(LOOK_EVERY).await;
            let version = sqlx::query("PRAGMA data_version").fetch_one(&database.write).await;
            let version = version.and_then(|row| row.try_get::<i64, _>(0)).ok();
            // The first look cannot know what came before it.
            if version != seen {
                database.bells.ring_all();
            }
            seen = version;
        }
    })
}
