//! What is SQLite's own.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sqlx::Row;
use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::time::sleep;
use toolmux_core::BoxFuture;

use crate::connections::database::Database;
use crate::engines::engine::Engine;
use crate::engines::file::OpenFile;
use crate::engines::presence::Presence;

/// How often we look whether another process changed the file.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(crate) const SQLITE: Engine = Engine {
    name: "sqlite",
    // Both are kept in the file. The first takes the write lock each time: a connection that is opened later must
    // not wait for whoever writes.
    prepare: &[
        // Heeded only before there are tables; from then on pruning gives pages back to the system.
        "PRAGMA auto_vacuum = INCREMENTAL",
        "PRAGMA journal_mode = WAL",
    ],
    // Takes the write lock before the tables are looked at: of servers that start at once, each sees what the one before
    // it has made.
    migrates_in: Some("BEGIN IMMEDIATE"),
    setup: &[
        "PRAGMA busy_timeout = 10000",
        // In WAL mode only `FULL` survives a power failure; group commit pays for it.
        "PRAGMA synchronous = FULL",
        "PRAGMA journal_size_limit = 67108864",
        // Keys are random, so that pages are written again and again: the fewer checkpoints, the better.
        "PRAGMA wal_autocheckpoint = 8000",
        "PRAGMA cache_size = -16384",
    ],
    bytes_type: "BLOB",
    // Nothing to lay out; a version of the tables is the same one in both engines.
    layout: "SELECT 1",
    writers: 1,
    readers: 4,
    remote: false,
    idle_transaction: None,
    skip_locked: "",
    announce: None,
    clock: None,
    read_only_setup: &["PRAGMA busy_timeout = 10000"],
    vacuum: Some("PRAGMA incremental_vacuum(10000)"),
    bytes: "SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()",
    fails_all,
    create,
    file,
    existing,
    presence,
    watch,
};

/// SQLite's `SQLITE_BUSY`, the code of a file that is locked.
const BUSY: u32 = 5;

/// Another connection has the lock.
pub(crate) fn is_locked(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(DatabaseError::code).is_some_and(|code| primary(&code) == BUSY)
}

/// The lowest byte is the code, the rest says more about it.
fn primary(code: &str) -> u32 {
    code.parse::<u32>().unwrap_or_default() & 0xff
}

/// A file that is locked, read-only, broken or cannot be opened, a disk that is full or fails.
fn fails_all(code: &str) -> bool {
    const READ_ONLY: u32 = 8;
    const IO_ERROR: u32 = 10;
    const CORRUPT: u32 = 11;
    const FULL: u32 = 13;
    const CANNOT_OPEN: u32 = 14;
    const NOT_A_DATABASE: u32 = 26;
    [BUSY, READ_ONLY, IO_ERROR, CORRUPT, FULL, CANNOT_OPEN, NOT_A_DATABASE].contains(&primary(code))
}

/// A database in memory has none.
fn path(url: &str) -> Option<PathBuf> {
    let options: SqliteConnectOptions = url.parse().ok()?;
    Some(options.get_filename().to_owned()).filter(|file| file.is_file())
}

/// Arguments, results and callers are for the user of the server alone. SQLite gives the files beside it (`-wal`,
/// `-shm`) the permissions of this one.
fn create(url: &str) {
    let Ok(options) = url.parse::<SqliteConnectOptions>() else { return };
    if url.contains("mode=rwc") && !url.contains(":memory:") {
        // Where it cannot be made SQLite says why. One that is there stays as it is.
        let mut file = OpenOptions::new();
        file.write(true).create(true).truncate(false).mode(0o600).open(options.get_filename()).ok();
    }
}

fn file(url: &str) -> Option<io::Result<OpenFile>> {
    path(url).map(OpenFile::at)
}

/// A connection that is opened later must not make a new file where ours was removed.
fn existing(url: &str) -> String {
    let (place, options) = url.split_once('?').unwrap_or((url, ""));
    format!("{place}?{}", options.replace("mode=rwc", "mode=rw"))
}

/// A database in memory is ours alone, and gone when we are.
fn presence(url: &str) -> Option<io::Result<Presence>> {
    Some(Presence::at(&path(url)?))
}

/// All our writes take one connection, whose `data_version` moves only when somebody else writes.
fn watch(database: Arc<Database>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut seen = None;
        loop {
            sleep(LOOK_EVERY).await;
            // Fails, and says so once, when the file is not ours any more.
            let rows = database.fetch(sqlx::query("PRAGMA data_version")).await.unwrap_or_default();
            let version = rows.first().and_then(|row| row.try_get::<i64, _>("data_version").ok());
            // The first look cannot know what came before it.
            if version != seen {
                database.notifiers.notify_all();
            }
            seen = version;
        }
    })
}
