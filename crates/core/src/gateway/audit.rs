//! Audit records on their way to the store: written in the background, so that no call waits for them.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use super::Gateway;
use crate::audit::{AuditAction, AuditRecord};
use crate::call::Caller;
use crate::refusal::Refusal;

/// How many records wait for the store. Beyond that they are dropped, which is counted and logged.
const QUEUE: usize = 4_096;
/// How many of them are refused calls, which any caller can cause in any number.
const REFUSALS: usize = QUEUE / 2;
/// How many of one kind are of one caller, so that others find room.
const OF_CALLER: usize = QUEUE / 8;
/// The pause before a store that was away is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Records that wait, and whether somebody writes them.
#[derive(Default)]
pub(super) struct Auditor(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    records: Vec<AuditRecord>,
    refusals: usize,
    /// By caller: refused calls, and everything else.
    by_caller: HashMap<Box<str>, [usize; 2]>,
    is_writing: bool,
    /// Dropped since the log last said how many.
    dropped: u64,
}

impl Waiting {
    fn has_room(&mut self, record: &AuditRecord) -> bool {
        let is_refusal = record.action == AuditAction::CallRefused;
        let full = if is_refusal { self.refusals >= REFUSALS } else { self.records.len() >= QUEUE };
        // What the server itself does is never a flood.
        let most = if record.caller.is_empty() { QUEUE } else { OF_CALLER };
        let own = self.by_caller.entry(record.caller.clone()).or_default();
        let own = &mut own[usize::from(!is_refusal)];
        if full || *own >= most {
            self.dropped += 1;
            return false;
        }
        *own += 1;
        self.refusals += usize::from(is_refusal);
        true
    }

    fn take(&mut self) -> Vec<AuditRecord> {
        self.is_writing = !self.records.is_empty();
        self.refusals = 0;
        self.by_caller.clear();
        if self.dropped > 0 {
            let dropped = std::mem::take(&mut self.dropped);
            tracing::warn!(dropped, "audit records were dropped: the queue to the record store is full");
        }
        std::mem::take(&mut self.records)
    }
}

impl Auditor {
    fn waiting<T>(&self, read: impl FnOnce(&mut Waiting) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Gateway {
    /// Records that something was done.
    pub fn audit(self: &Arc<Self>, record: AuditRecord) {
        let action = record.action;
        let (kept, begin) = self.auditor.waiting(|waiting| {
            if !waiting.has_room(&record) {
                return (false, false);
            }
            waiting.records.push(record);
            (true, !std::mem::replace(&mut waiting.is_writing, true))
        });
        if !kept {
            self.metrics.audit_dropped(action);
        }
        if begin {
            let gateway = Arc::clone(self);
            self.background.spawn(async move { gateway.write_audit().await });
        }
    }

    /// A refusal that is about who may do what, of a tool or of something else that a source offers. Mistakes in a request
    /// and full queues are everyday, and whoever is unknown is only counted: anybody could fill the store.
    pub(super) fn audit_refusal(self: &Arc<Self>, caller: &Caller, wanted: &impl Display, refusal: &Refusal) {
        let subject = format!("{wanted} {}", refusal.name());
        self.audit(AuditRecord::now(caller.name(), AuditAction::CallRefused, subject));
    }

    /// One writer at a time: `is_writing` is set by whoever adds the first record, and taken back under the same lock that
    /// finds nothing left. A record that comes in between is either in the batch or begins a writer of its own.
    async fn write_audit(self: &Arc<Self>) {
        loop {
            let batch = self.auditor.waiting(Waiting::take);
            if batch.is_empty() {
                return;
            }
            while let Err(error) = self.store.audit_add(&batch).await {
                tracing::debug!(developer = error.message.developer, "audit records cannot be written yet");
                if self.background.stop().run_until_cancelled(sleep(PAUSE)).await.is_none() {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(waiting: &mut Waiting, caller: &str, action: AuditAction, times: usize) -> usize {
        let record = AuditRecord::now(caller, action, "x");
        let mut kept = 0;
        for _ in 0..times {
            if waiting.has_room(&record) {
                waiting.records.push(record.clone());
                kept += 1;
            }
        }
        kept
    }

    #[test]
    fn refusals_of_one_caller_leave_room_for_other_records() {
        let mut waiting = Waiting::default();
        assert_eq!(fill(&mut waiting, "mallory", AuditAction::CallRefused, 10_000), OF_CALLER);
        assert_eq!(fill(&mut waiting, "mallory", AuditAction::TaskCancelled, 10_000), OF_CALLER);
        assert_eq!(fill(&mut waiting, "alice", AuditAction::CallRefused, 3), 3);
        for number in 0..100 {
            fill(&mut waiting, &format!("mallory {number}"), AuditAction::CallRefused, 1_000);
        }
        assert_eq!(waiting.refusals, REFUSALS);
        assert_eq!(fill(&mut waiting, "", AuditAction::ConfigReloaded, 9), 9);
        assert!(waiting.dropped > 19_000);
        assert_eq!(waiting.take().len(), REFUSALS + OF_CALLER + 9);
        assert_eq!(waiting.dropped, 0);
        assert_eq!(fill(&mut waiting, "mallory", AuditAction::CallRefused, 1), 1);
    }
}
