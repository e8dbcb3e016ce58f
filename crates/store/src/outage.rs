//! Says once in the log that the database fails, with its cause, and once that it works again. Calls that are refused
//! meanwhile do not say it again.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::database::Database;

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
    /// Remembers an error that is not of one write alone. A lost file is told of where it is noticed, and whatever
    /// fails from then on, such as new connections, fails because of it.
    pub(crate) fn note_failure(&self, error: &sqlx::Error) {
        if self.engine.concerns_all(error) && self.file_is_ours().is_ok() {
            self.outage.note(error);
        }
    }
}
