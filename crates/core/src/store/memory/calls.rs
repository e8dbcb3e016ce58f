//! Calls in memory.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use tokio::sync::watch;

use crate::outcome::Outcome;
use crate::store::{Begun, CallDigest, CallKey, Retention};

/// How many ended calls memory keeps, whatever more is allowed.
pub(super) const MOST_CALLS: u64 = 100_000;

#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: HashMap<CallKey, Record>,
    ended: VecDeque<(CallKey, Instant)>,
}

#[derive(Debug)]
struct Record {
    digest: CallDigest,
    state: State,
}

#[derive(Debug)]
enum State {
    /// With a way to tell whoever waits, once somebody does.
    Running(Option<watch::Sender<Option<Outcome>>>),
    /// Boxed, so that records lie close together.
    Ended(Box<Outcome>),
}

impl Record {
    fn outcome(&self) -> Option<&Outcome> {
        match &self.state {
            State::Running(_) => None,
            State::Ended(outcome) => Some(outcome),
        }
    }
}

impl Calls {
    pub(super) fn begin(&mut self, key: &CallKey, digest: &CallDigest) -> Begun {
        match self.calls.entry(key.clone()) {
            Entry::Occupied(known) if known.get().digest != *digest => Begun::Conflict,
            Entry::Occupied(known) => known.get().outcome().cloned().map_or(Begun::Running, Begun::Ended),
            Entry::Vacant(place) => {
                place.insert(Record { digest: *digest, state: State::Running(None) });
                Begun::Fresh
            }
        }
    }

    pub(super) fn digest(&self, key: &CallKey) -> Option<CallDigest> {
        self.calls.get(key).map(|record| record.digest)
    }

    pub(super) fn finish(&mut self, key: &CallKey, outcome: &Outcome, most: u64) -> bool {
        let Some(record) = self.calls.get_mut(key) else { return false };
        match &record.state {
            State::Ended(known) => return written(known) == written(outcome),
            State::Running(Some(waiting)) => drop(waiting.send_replace(Some(outcome.clone()))),
            State::Running(None) => {}
        }
        record.state = State::Ended(Box::new(outcome.clone()));
        self.ended.push_back((key.clone(), Instant::now()));
        if self.ended.len() as u64 > most {
            self.drop_oldest();
        }
        true
    }

    pub(super) fn forget(&mut self, key: &CallKey) {
        self.calls.remove(key);
    }

    pub(super) fn watch(&mut self, key: &CallKey) -> Option<watch::Receiver<Option<Outcome>>> {
        self.calls.get_mut(key).map(|record| match &mut record.state {
            State::Running(waiting) => waiting.get_or_insert_with(|| watch::Sender::new(None)).subscribe(),
            State::Ended(outcome) => watch::Sender::new(Some(Outcome::clone(outcome))).subscribe(),
        })
    }

    /// All, and those that run.
    pub(super) fn count(&self) -> [u64; 2] {
        let running = self.calls.values().filter(|record| record.outcome().is_none()).count();
        [self.calls.len() as u64, running as u64]
    }

    pub(super) fn prune(&mut self, retention: &Retention) -> u64 {
        let before = self.calls.len();
        while self.ended.front().is_some_and(|(_, ended)| {
            ended.elapsed() >= retention.calls_for || self.ended.len() as u64 > retention.calls
        }) {
            self.drop_oldest();
        }
        (before - self.calls.len()) as u64
    }

    fn drop_oldest(&mut self) {
        if let Some((oldest, _)) = self.ended.pop_front() {
            self.calls.remove(&oldest);
        }
    }
}

/// As other stores keep it, for comparing.
fn written(outcome: &Outcome) -> Option<String> {
    serde_json::to_string(outcome).ok()
}
