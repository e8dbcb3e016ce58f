//! What the ended tasks of each caller hold. Beyond the share of its caller the oldest result gives way, and leaves
//! the record that its tool ran.

use std::collections::{HashMap, VecDeque};

use super::record::Record;
use crate::memory::room::Room;
use crate::ports::store::Quota;
use crate::task::TaskId;

#[derive(Debug, Default)]
pub(super) struct Ended {
    callers: HashMap<Box<str>, OfCaller>,
    bytes: u64,
}

#[derive(Debug, Default)]
struct OfCaller {
    /// The oldest end first.
    order: VecDeque<TaskId>,
    /// How many of them, from the oldest on, have no result any more.
    without_result: usize,
    bytes: u64,
}

impl Ended {
    /// Counts a task that has ended.
    pub(super) fn add(&mut self, id: &TaskId, records: &mut HashMap<TaskId, Record>, room: Room) {
        let Some(record) = records.get_mut(id) else { return };
        if record.bytes > room.bytes.share {
            // It would not stay, and must not cost the caller its other results.
            record.drop_result();
        }
        let own = self.callers.entry(record.caller.clone()).or_default();
        own.order.push_back(id.clone());
        own.bytes += record.bytes;
        self.bytes += record.bytes;
        let caller = record.caller.clone();
        self.trim(&caller, records, room.bytes.share);
        if self.bytes > room.bytes.total {
            self.trim_all(records, room.bytes.with_room());
        }
    }

    /// Takes results from those who hold the most until all fit.
    pub(super) fn trim_all(&mut self, records: &mut HashMap<TaskId, Record>, quota: Quota) {
        let level = quota.level(self.callers.values().map(|own| own.bytes));
        let over = self.callers.iter().filter(|(_, own)| own.bytes > level);
        let over: Vec<Box<str>> = over.map(|(caller, _)| caller.clone()).collect();
        for caller in over {
            self.trim(&caller, records, level);
        }
    }

    fn trim(&mut self, caller: &str, records: &mut HashMap<TaskId, Record>, most: u64) {
        let Some(own) = self.callers.get_mut(caller) else { return };
        while own.bytes > most {
            let Some(id) = own.order.get(own.without_result) else { return };
            own.without_result += 1;
            if let Some(record) = records.get_mut(id) {
                own.bytes -= record.bytes;
                self.bytes -= record.bytes;
                record.drop_result();
            }
        }
    }

    /// The tasks that are more than allowed.
    pub(super) fn surplus(&self, quota: Quota) -> Vec<TaskId> {
        let level = quota.level(self.callers.values().map(|own| own.order.len() as u64));
        let level = usize::try_from(level).unwrap_or(usize::MAX);
        // Each caller keeps at least its newest, whose number is bounded by how long tasks are kept.
        let oldest = |own: &OfCaller| own.order.len().saturating_sub(level);
        self.callers.values().flat_map(|own| own.order.iter().take(oldest(own)).cloned()).collect()
    }

    /// A record was removed; [`Ended::forget_removed`] follows.
    pub(super) fn remove(&mut self, record: &Record) {
        if let Some(own) = self.callers.get_mut(&record.caller) {
            own.bytes -= record.bytes;
            self.bytes -= record.bytes;
        }
    }

    /// Takes tasks out of the order whose records are gone.
    pub(super) fn forget_removed(&mut self, records: &HashMap<TaskId, Record>) {
        self.callers.retain(|_, own| {
            let gone = |id: &&TaskId| !records.contains_key(*id);
            own.without_result -= own.order.iter().take(own.without_result).filter(gone).count();
            own.order.retain(|id| records.contains_key(id));
            !own.order.is_empty()
        });
    }
}
