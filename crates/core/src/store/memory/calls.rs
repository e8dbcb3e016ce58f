//! Calls in memory.

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
    outcome: watch::Sender<Option<Outcome>>,
}

impl Calls {
    pub(super) fn begin(&mut self, key: &CallKey, digest: &CallDigest) -> Begun {
        match self.calls.get(key) {
            Some(record) if record.digest != *digest => Begun::Conflict,
            Some(record) => record.outcome.borrow().clone().map_or(Begun::Running, Begun::Ended),
            None => {
                let outcome = watch::Sender::new(None);
                self.calls.insert(key.clone(), Record { digest: *digest, outcome });
                Begun::Fresh
            }
        }
    }

    pub(super) fn digest(&self, key: &CallKey) -> Option<CallDigest> {
        self.calls.get(key).map(|record| record.digest)
    }

    pub(super) fn finish(&mut self, key: &CallKey, outcome: &Outcome, most: u64) -> bool {
        let Some(record) = self.calls.get(key) else { return false };
        if let Some(known) = &*record.outcome.borrow() {
            return written(known) == written(outcome);
        }
        record.outcome.send_replace(Some(outcome.clone()));
        self.ended.push_back((key.clone(), Instant::now()));
        if self.ended.len() as u64 > most {
            self.drop_oldest();
        }
        true
    }

    pub(super) fn forget(&mut self, key: &CallKey) {
        self.calls.remove(key);
    }

    pub(super) fn watch(&self, key: &CallKey) -> Option<watch::Receiver<Option<Outcome>>> {
        self.calls.get(key).map(|record| record.outcome.subscribe())
    }

    /// All, and those that run.
    pub(super) fn count(&self) -> [u64; 2] {
        let running = self.calls.values().filter(|record| record.outcome.borrow().is_none()).count();
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
