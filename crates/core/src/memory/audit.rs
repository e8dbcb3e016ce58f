//! Audit records in memory. Records of refused calls, which any caller can cause in any number, have a budget of
//! their own, and each caller has a share of both.

use std::collections::{HashMap, VecDeque};

use super::store::{MemoryStore, ready};
use crate::audit::{AuditAction, AuditRecord};
use crate::ports::store::{AuditStore, Quota, Retention, StoreFuture};

/// How many audit records of either kind memory keeps, whatever more is allowed.
pub(super) const MOST_AUDITED: u64 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Audit {
    refused: Kept,
    others: Kept,
}

impl Audit {
    pub(super) fn add(&mut self, records: &[AuditRecord], retention: &Retention) {
        for record in records {
            let refused = record.action == AuditAction::CallRefused;
            let (kept, most) = if refused {
                (&mut self.refused, retention.refusals)
            } else {
                (&mut self.others, retention.audit)
            };
            kept.add(record.clone(), retention.quota(most));
        }
    }

    pub(super) fn list(&self, most: usize) -> Vec<AuditRecord> {
        // Each of the two is in the order of time, both together are not.
        let mut all: Vec<&AuditRecord> =
            self.refused.records.iter().chain(&self.others.records).rev().collect();
        all.sort_by_key(|record| std::cmp::Reverse(record.at));
        all.into_iter().take(most).cloned().collect()
    }

    pub(super) fn len(&self) -> u64 {
        (self.refused.records.len() + self.others.records.len()) as u64
    }

    pub(super) fn prune(&mut self, retention: &Retention) -> u64 {
        let before = self.len();
        for (kept, most) in [(&mut self.refused, retention.refusals), (&mut self.others, retention.audit)] {
            let old = |record: &AuditRecord| record.at.elapsed().is_ok_and(|age| age >= retention.audit_for);
            kept.records.retain(|record| !old(record));
            kept.count();
            kept.trim(retention.quota(most));
        }
        before - self.len()
    }
}

impl AuditStore for MemoryStore {
    fn audit_add<'a>(&'a self, records: &'a [AuditRecord]) -> StoreFuture<'a, ()> {
        self.records(|kept| kept.audit.add(records, &self.retention));
        ready(())
    }

    fn audit_list(&self, most: usize) -> StoreFuture<'_, Vec<AuditRecord>> {
        ready(self.records(|records| records.audit.list(most)))
    }
}

#[derive(Debug, Default)]
struct Kept {
    /// From the oldest to the newest.
    records: VecDeque<AuditRecord>,
    by_caller: HashMap<Box<str>, u64>,
}

impl Kept {
    fn add(&mut self, record: AuditRecord, quota: Quota) {
        let own = self.by_caller.entry(record.caller.clone()).or_default();
        *own += 1;
        let over = *own > quota.share;
        self.records.push_back(record);
        if over || self.records.len() as u64 > quota.total {
            self.trim(quota.with_room());
        }
    }

    fn trim(&mut self, quota: Quota) {
        let level = quota.level(self.by_caller.values().copied());
        let mut surplus: HashMap<Box<str>, u64> = self.by_caller.clone();
        surplus.retain(|_, held| {
            *held = held.saturating_sub(level);
            *held > 0
        });
        if surplus.is_empty() && self.records.len() as u64 <= quota.total {
            return;
        }
        // Oldest first, so that the oldest of each caller go.
        self.records.retain(|record| match surplus.get_mut(&record.caller) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        });
        // With more callers than records that are kept, the oldest of all go.
        while self.records.len() as u64 > quota.total {
            self.records.pop_front();
        }
        self.count();
    }

    fn count(&mut self) {
        self.by_caller.clear();
        for record in &self.records {
            *self.by_caller.entry(record.caller.clone()).or_default() += 1;
        }
    }
}
