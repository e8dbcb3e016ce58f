//! Logs once that the database fails, with its cause, and once that it works again. An outage refuses many calls, and each
//! of them logging it would bury the cause.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::connections::database::Database;

#[derive(Debug, Default)]
pub(crate) struct Outage {
    /// Between the first failure and the moment at which the database works again.
    lasts: AtomicBool,
    /// Whether anything failed since the last heartbeat: while a disk is full, some writes still succeed.
    failed: AtomicBool,
}

impl Outage {
    fn note(&self, error: &sqlx::Error) {
        self.failed.store(true, Ordering::Relaxed);
        // Of many that fail at once one swaps `false` out, and only that one logs.
        if !self.lasts.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "the record store fails: calls that need it are refused until it works again");
        }
    }

    /// After a heartbeat that succeeded: the outage is over when nothing else failed since the one before.
    pub(crate) fn note_heartbeat(&self) {
        if !self.failed.swap(false, Ordering::Relaxed) && self.lasts.swap(false, Ordering::Relaxed) {
            tracing::info!("the record store works again");
        }
    }
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
