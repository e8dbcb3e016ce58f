//! Logs once that the database fails, with its cause, and once that it works again. An outage refuses many calls, and each
//! of them logging it would bury the cause.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::error::DatabaseError;

use crate::connections::database::Database;

/// Connections that the database ends within so short a time are ended by one cause.
const SAME_END: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Outage {
    /// Between the first failure and the moment at which the database works again.
    lasts: AtomicBool,
    /// When the database first ended a connection, since all was well.
    ended: Mutex<Option<Instant>>,
    /// Whether anything failed since the last heartbeat: while a disk is full, some writes still succeed.
    failed: AtomicBool,
}

impl Outage {
    fn note(&self, error: &sqlx::Error) {
        self.failed.store(true, Ordering::Relaxed);
        if ended_by_database(error) && self.is_new_end() {
            return;
        }
        // Of many that fail at once one swaps `false` out, and only that one logs.
        if !self.lasts.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "the record store fails: calls that need it are refused until it works again");
        }
    }

    /// Whether connections were not ended before this moment. Why they are is known from the next that cannot be had.
    fn is_new_end(&self) -> bool {
        self.ended().get_or_insert_with(Instant::now).elapsed() < SAME_END
    }

    fn ended(&self) -> MutexGuard<'_, Option<Instant>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After a heartbeat that succeeded: the outage is over when nothing else failed since the one before.
    pub(crate) fn note_heartbeat(&self) {
        if self.failed.swap(false, Ordering::Relaxed) {
            return;
        }
        *self.ended() = None;
        if self.lasts.swap(false, Ordering::Relaxed) {
            tracing::info!("the record store works again");
        }
    }
}

/// PostgreSQL's `admin_shutdown`: it is stopping, or somebody ended this one connection.
fn ended_by_database(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(DatabaseError::code).is_some_and(|code| code == "57P01")
}

impl Database {
    /// Remembers an error that is not of one write alone. A lost file is logged where it is noticed, and whatever
    /// fails from then on, such as new connections, fails because of it.
    pub(crate) fn note_failure(&self, error: &sqlx::Error) {
        if self.engine.concerns_all(error) && self.file_is_ours().is_ok() {
            self.outage.note(error);
        }
    }
}
