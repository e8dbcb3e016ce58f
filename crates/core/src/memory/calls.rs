//! Calls in memory. Each caller has a share of the records and of the bytes of results: beyond it the caller's own
//! oldest give way. A result that gives way leaves the record that its tool ran; only the number of calls and their
//! age end a record, and a running call has no end.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;

use super::room::Room;
use super::short_key::short;
use super::store::{MemoryStore, ready};
use crate::call::CallId;
use crate::outcome::Outcome;
use crate::ports::store::{Begun, CallCounts, CallDigest, CallKey, CallStore, Retention, StoreFuture};
use crate::task::result_not_kept;

/// How many ended calls memory keeps, whatever more is allowed.
pub(super) const MOST_CALLS: u64 = 100_000;

#[derive(Debug, Default)]
pub(super) struct Calls {
    records: HashMap<CallKey, Record>,
    ended: HashMap<Arc<str>, Ended>,
    /// Of all callers, ended.
    count: u64,
    bytes: u64,
}

/// The ended calls of one caller.
#[derive(Debug, Default)]
struct Ended {
    /// Their ids and when they ended, oldest first.
    order: VecDeque<(CallId, Instant)>,
    /// How many of them, from the oldest on, have no result any more.
    without_result: usize,
    /// Bytes of the results of the others.
    bytes: u64,
}

#[derive(Debug)]
struct Record {
    digest: CallDigest,
    began: SystemTime,
    state: CallState,
}

#[derive(Debug)]
enum CallState {
    /// With a way to tell whoever waits, once somebody does.
    Running(Option<watch::Sender<Option<Outcome>>>),
    /// Boxed, so that records lie close together.
    Ended(Box<Outcome>),
    /// Ended; the result gave way to newer ones.
    NotKept,
}

impl Record {
    fn outcome(&self) -> Option<Outcome> {
        match &self.state {
            CallState::Running(_) => None,
            CallState::Ended(outcome) => Some(Outcome::clone(outcome)),
            CallState::NotKept => Some(result_not_kept()),
        }
    }
}

impl Calls {
    pub(super) fn begin(&mut self, key: &CallKey, digest: &CallDigest, kept_for: Duration) -> Begun {
        match self.records.entry(key.clone()) {
            Entry::Occupied(known) if known.get().digest != *digest => Begun::Conflict,
            Entry::Occupied(known) => {
                let until = known.get().began + kept_for;
                known.get().outcome().map_or(Begun::Running, |outcome| Begun::Ended(outcome, until))
            }
            Entry::Vacant(place) => {
                let (began, state) = (SystemTime::now(), CallState::Running(None));
                place.insert(Record { digest: *digest, began, state });
                Begun::Fresh
            }
        }
    }

    pub(super) fn digest(&self, key: &CallKey) -> Option<CallDigest> {
        self.records.get(key).map(|record| record.digest)
    }

    pub(super) fn finish(&mut self, key: &CallKey, outcome: &Outcome, room: Room) -> bool {
        let Some(record) = self.records.get_mut(key) else { return false };
        match &record.state {
            CallState::Ended(known) => return **known == *outcome,
            CallState::NotKept => return false,
            CallState::Running(Some(waiting)) => drop(waiting.send_replace(Some(outcome.clone()))),
            CallState::Running(None) => {}
        }
        let mut bytes = outcome.bytes() as u64;
        record.state = if bytes <= room.bytes.share {
            CallState::Ended(Box::new(outcome.clone()))
        } else {
            // It would not stay, and must not cost the caller its other results.
            bytes = 0;
            CallState::NotKept
        };
        let own = self.ended.entry(Arc::clone(&key.caller)).or_default();
        own.order.push_back((Arc::clone(&key.id), Instant::now()));
        own.bytes += bytes;
        let over = own.order.len() as u64 > room.count.share || own.bytes > room.bytes.share;
        self.count += 1;
        self.bytes += bytes;
        if over {
            self.trim(&key.caller, room.count.share, room.bytes.share);
        }
        if self.count > room.count.total || self.bytes > room.bytes.total {
            self.trim_all(room.with_room());
        }
        true
    }

    pub(super) fn forget(&mut self, key: &CallKey) {
        self.records.remove(key);
    }

    pub(super) fn watch(&mut self, key: &CallKey) -> Option<watch::Receiver<Option<Outcome>>> {
        self.records.get_mut(key).map(|record| match &mut record.state {
            CallState::Running(waiting) => {
                waiting.get_or_insert_with(|| watch::Sender::new(None)).subscribe()
            }
            CallState::Ended(_) | CallState::NotKept => watch::Sender::new(record.outcome()).subscribe(),
        })
    }

    pub(super) fn count(&self) -> CallCounts {
        let all = self.records.len() as u64;
        CallCounts { all, running: all - self.count }
    }

    pub(super) fn prune(&mut self, retention: &Retention, room: Room) -> u64 {
        let before = self.records.len();
        let callers: Vec<Arc<str>> = self.ended.keys().cloned().collect();
        for caller in &callers {
            while self.ended.get(caller).is_some_and(|own| {
                own.order.front().is_some_and(|(_, ended)| ended.elapsed() >= retention.calls_for)
            }) {
                self.drop_oldest(caller);
            }
        }
        self.trim_all(room);
        (before - self.records.len()) as u64
    }

    /// Takes from those who hold the most until all fit.
    fn trim_all(&mut self, room: Room) {
        let count = room.count.level(self.ended.values().map(|own| own.order.len() as u64));
        let bytes = room.bytes.level(self.ended.values().map(|own| own.bytes));
        let over = |own: &Ended| own.order.len() as u64 > count || own.bytes > bytes;
        let callers: Vec<Arc<str>> =
            self.ended.iter().filter(|(_, own)| over(own)).map(|(caller, _)| Arc::clone(caller)).collect();
        for caller in callers {
            self.trim(&caller, count, bytes);
        }
        if self.count > room.count.total {
            self.trim_oldest(room.count.total);
        }
        self.ended.retain(|_, own| !own.order.is_empty());
    }

    /// With more callers than records that are kept, each has one, and the oldest of all go.
    fn trim_oldest(&mut self, most: u64) {
        let oldest =
            self.ended.iter().filter_map(|(caller, own)| Some((own.order.front()?.1, caller.clone())));
        let mut oldest: Vec<(Instant, Arc<str>)> = oldest.collect();
        oldest.sort_unstable();
        let surplus = usize::try_from(self.count - most).unwrap_or(usize::MAX);
        for (_, caller) in oldest.iter().take(surplus) {
            self.drop_oldest(caller);
        }
    }

    fn trim(&mut self, caller: &Arc<str>, count: u64, bytes: u64) {
        while self.ended.get(caller).is_some_and(|own| own.order.len() as u64 > count) {
            self.drop_oldest(caller);
        }
        while self.ended.get(caller).is_some_and(|own| own.bytes > bytes) {
            self.drop_oldest_result(caller);
        }
    }

    fn drop_oldest(&mut self, caller: &Arc<str>) {
        let Some(own) = self.ended.get_mut(caller) else { return };
        let Some((id, _)) = own.order.pop_front() else { return };
        own.without_result = own.without_result.saturating_sub(1);
        self.count -= 1;
        let record = self.records.remove(&CallKey { caller: Arc::clone(caller), id });
        if let Some(CallState::Ended(outcome)) = record.map(|record| record.state) {
            own.bytes -= outcome.bytes() as u64;
            self.bytes -= outcome.bytes() as u64;
        }
    }

    fn drop_oldest_result(&mut self, caller: &Arc<str>) {
        let Some(own) = self.ended.get_mut(caller) else { return };
        let Some((id, _)) = own.order.get(own.without_result) else { return };
        own.without_result += 1;
        let key = CallKey { caller: Arc::clone(caller), id: Arc::clone(id) };
        let Some(record) = self.records.get_mut(&key) else { return };
        if let CallState::Ended(outcome) = std::mem::replace(&mut record.state, CallState::NotKept) {
            own.bytes -= outcome.bytes() as u64;
            self.bytes -= outcome.bytes() as u64;
        }
    }
}

impl CallStore for MemoryStore {
    fn call_begin<'a>(&'a self, key: &'a CallKey, digest: &'a CallDigest) -> StoreFuture<'a, Begun> {
        let key = short(key);
        ready(self.records(|records| match records.tasks.of_key(&key) {
            Some((known, _)) if known != *digest => Begun::Conflict,
            Some((_, task)) => Begun::Task(task),
            None => records.calls.begin(&key, digest, self.retention.calls_for),
        }))
    }

    fn call_kept_for(&self) -> Duration {
        self.retention.calls_for
    }

    fn call_finish<'a>(&'a self, key: &'a CallKey, outcome: &'a Outcome) -> StoreFuture<'a, bool> {
        ready(self.records(|records| records.calls.finish(&short(key), outcome, self.room_of_calls)))
    }

    fn call_forget<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, ()> {
        self.records(|records| records.calls.forget(&short(key)));
        ready(())
    }

    fn call_wait<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, Option<Outcome>> {
        // Subscribed under the lock: a call cannot end between the look and the wait without being seen.
        let watched = self.records(|records| records.calls.watch(&short(key)));
        Box::pin(async move {
            let Some(mut watched) = watched else { return Ok(None) };
            // The sender goes when the record is forgotten, which ends the wait too.
            Ok(watched.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone()))
        })
    }
}
