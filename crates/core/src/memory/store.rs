//! The store as a whole: one lock over all records, and what is pruned when.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::audit::{Audit, MOST_AUDITED};
use super::calls::{Calls, MOST_CALLS};
use super::definitions::Definitions;
use super::keys::Keys;
use super::receipts::Receipts;
use super::room::Room;
use super::sealed::SealedRecords;
use super::tasks::Tasks;
use crate::BoxFuture;
use crate::ports::store::{
    Notifiers, PRUNE_EVERY, Pruned, Retention, StoreFuture, StoreMaintenance, StoreStatus,
};

/// Keeps records as long as the process lives.
#[derive(Debug)]
pub struct MemoryStore {
    records: Mutex<Records>,
    pub(super) notifiers: Arc<Notifiers>,
    pub(super) retention: Retention,
    pub(super) room_of_calls: Room,
    pub(super) room_of_tasks: Room,
    prune_every: Duration,
}

impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore::new(Retention::default(), PRUNE_EVERY)
    }
}

/// All kinds under one lock, because some facts are about two of them: an id is either a call's or a task's.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) calls: Calls,
    pub(super) tasks: Tasks,
    pub(super) sealed: SealedRecords,
    pub(super) definitions: Definitions,
    pub(super) audit: Audit,
    pub(super) receipts: Receipts,
    pub(super) keys: Keys,
    pruned: Option<Instant>,
}

impl Records {
    fn prune(&mut self, retention: &Retention) -> Pruned {
        self.definitions.prune(retention.definitions_for);
        Pruned {
            calls: self.calls.prune(retention, Room::of_calls(retention)),
            tasks: self.tasks.prune_over(retention, Room::of_tasks(retention)),
            sealed: self.sealed.prune(),
            audit: self.audit.prune(retention),
        }
    }
}

impl MemoryStore {
    /// What is older or more than `retention` allows goes when the store is next asked anything, at most every
    /// `prune_every`.
    pub fn new(retention: Retention, prune_every: Duration) -> Self {
        // Memory is scarcer than a disk.
        let retention = Retention {
            calls: retention.calls.min(MOST_CALLS),
            audit: retention.audit.min(MOST_AUDITED),
            refusals: retention.refusals.min(MOST_AUDITED),
            ..retention
        };
        MemoryStore {
            records: Mutex::default(),
            notifiers: Arc::default(),
            retention,
            room_of_calls: Room::of_calls(&retention),
            room_of_tasks: Room::of_tasks(&retention),
            prune_every,
        }
    }

    /// Reads or changes the records. Nothing under the lock waits, so that the lock is held only for a moment. There
    /// is no task that prunes in the background: whoever comes first when it is due does it, and a store that nobody
    /// asks anything holds no more than before.
    pub(super) fn records<T>(&self, read: impl FnOnce(&mut Records) -> T) -> T {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if records.pruned.is_none_or(|pruned| pruned.elapsed() >= self.prune_every) {
            records.pruned = Some(Instant::now());
            records.prune(&self.retention);
            for late in records.tasks.fail_late(self.retention.pending_for, self.room_of_tasks) {
                self.notifiers.notify(late.as_str());
            }
        }
        read(&mut records)
    }
}

/// The answer of a store that never has to wait.
pub(super) fn ready<'a, T: Send + 'a>(value: T) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(Ok(value)))
}

impl StoreMaintenance for MemoryStore {
    fn status(&self) -> StoreFuture<'_, StoreStatus> {
        ready(self.records(|records| StoreStatus {
            kind: "memory",
            schema: 0,
            servers: 1,
            calls: records.calls.count(),
            tasks: records.tasks.count(),
            sealed: records.sealed.len(),
            audit: records.audit.len(),
            bytes: None,
        }))
    }

    fn prune<'a>(&'a self, retention: &'a Retention) -> StoreFuture<'a, Pruned> {
        ready(self.records(|records| records.prune(retention)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
