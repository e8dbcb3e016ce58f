//! Keeps records as long as the process lives.

mod audit;
mod calls;
mod tasks;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest, Sha256};

use self::audit::{Audit, MOST_AUDITED};
use self::calls::{Calls, MOST_CALLS, Room};
use self::tasks::Tasks;
use crate::BoxFuture;
use crate::audit::AuditRecord;
use crate::outcome::Outcome;
use crate::ports::store::{
    Backlog, Begun, CallDigest, CallKey, ClaimedTask, DefinitionsKey, FoundTask, Listener, NewTask,
    Notifiers, PRUNE_EVERY, Pruned, Retention, Sealed, SealedKey, Store, StoreFuture, StoreStatus, Submitted,
};
use crate::progress::Update;
use crate::task::{Task, TaskId, TaskStatus};

const WORK: &str = "work";

/// How many bytes of results of calls, and as many of tasks, are kept when configuration does not say.
const RESULT_BYTES: u64 = 256 << 20;

/// An id longer than this is kept as a digest: its length is its caller's to choose.
const LONGEST_ID: usize = 64;

/// Keeps records as long as the process lives.
#[derive(Debug)]
pub struct MemoryStore {
    records: Mutex<Records>,
    notifiers: Arc<Notifiers>,
    retention: Retention,
    room_of_calls: Room,
    room_of_tasks: Room,
    prune_every: Duration,
}

impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore::new(Retention::default(), PRUNE_EVERY)
    }
}

#[derive(Debug, Default)]
struct Records {
    calls: Calls,
    tasks: Tasks,
    sealed: BTreeMap<SealedKey, (Vec<u8>, Option<SystemTime>)>,
    definitions: BTreeMap<DefinitionsKey, (String, Instant)>,
    audit: Audit,
    pruned: Option<Instant>,
}

impl Records {
    fn prune(&mut self, retention: &Retention) -> Pruned {
        let sealed = self.sealed.len();
        self.sealed.retain(|_, kept| !expired(kept));
        self.definitions.retain(|_, (_, kept)| kept.elapsed() < retention.definitions_for);
        Pruned {
            calls: self.calls.prune(retention, room_of_calls(retention)),
            tasks: self.tasks.prune_over(retention, room_of_tasks(retention)),
            sealed: (sealed - self.sealed.len()) as u64,
            audit: self.audit.prune(retention),
        }
    }
}

impl MemoryStore {
    /// What is older or more than `retention` allows goes when the store is next asked anything, at most every
    /// `prune_every`.
    pub fn new(retention: Retention, prune_every: Duration) -> Self {
        // Memory is dearer than a disk.
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
            room_of_calls: room_of_calls(&retention),
            room_of_tasks: room_of_tasks(&retention),
            prune_every,
        }
    }

    fn records<T>(&self, read: impl FnOnce(&mut Records) -> T) -> T {
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

    fn tasks<T: Send + 'static>(&self, read: impl FnOnce(&mut Tasks) -> T) -> StoreFuture<'_, T> {
        ready(self.records(|records| read(&mut records.tasks)))
    }

    /// Changes a task and tells whoever listens.
    fn change<T: Send + 'static>(
        &self,
        id: &TaskId,
        change: impl FnOnce(&mut Tasks) -> T,
    ) -> StoreFuture<'_, T> {
        let changed = self.records(|records| change(&mut records.tasks));
        self.notifiers.notify(id.as_str());
        ready(changed)
    }
}

fn room_of_calls(retention: &Retention) -> Room {
    let bytes = retention.calls_bytes.unwrap_or(RESULT_BYTES);
    Room { count: retention.quota(retention.calls), bytes: retention.quota(bytes) }
}

fn room_of_tasks(retention: &Retention) -> Room {
    let bytes = retention.tasks_bytes.unwrap_or(RESULT_BYTES);
    Room { count: retention.quota(retention.tasks), bytes: retention.quota(bytes) }
}

/// The key under which a record is kept.
fn short(key: &CallKey) -> Cow<'_, CallKey> {
    if key.id.len() <= LONGEST_ID {
        return Cow::Borrowed(key);
    }
    let digest: [u8; 32] = Sha256::digest(key.id.as_bytes()).into();
    let id = digest.iter().fold(String::with_capacity(LONGEST_ID), |mut id, byte| {
        write!(id, "{byte:02x}").expect("writing to memory cannot fail");
        id
    });
    Cow::Owned(CallKey { caller: Arc::clone(&key.caller), id: id.into() })
}

fn ready<'a, T: Send + 'a>(value: T) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(Ok(value)))
}

impl Store for MemoryStore {
    fn call_begin<'a>(&'a self, key: &'a CallKey, digest: &'a CallDigest) -> StoreFuture<'a, Begun> {
        let key = short(key);
        ready(self.records(|records| match records.tasks.of_key(&key) {
            Some((known, _)) if known != *digest => Begun::Conflict,
            Some((_, task)) => Begun::Task(task),
            None => records.calls.begin(&key, digest),
        }))
    }

    fn call_finish<'a>(&'a self, key: &'a CallKey, outcome: &'a Outcome) -> StoreFuture<'a, bool> {
        ready(self.records(|records| records.calls.finish(&short(key), outcome, self.room_of_calls)))
    }

    fn call_forget<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, ()> {
        self.records(|records| records.calls.forget(&short(key)));
        ready(())
    }

    fn call_wait<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, Option<Outcome>> {
        let watched = self.records(|records| records.calls.watch(&short(key)));
        Box::pin(async move {
            let Some(mut watched) = watched else { return Ok(None) };
            // The sender goes when the record is forgotten, which ends the wait too.
            Ok(watched.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone()))
        })
    }

    fn sealed_put<'a>(
        &'a self,
        key: &'a SealedKey,
        bytes: &'a [u8],
        expires: Option<SystemTime>,
    ) -> StoreFuture<'a, ()> {
        self.records(|records| records.sealed.insert(key.clone(), (bytes.to_vec(), expires)));
        ready(())
    }

    fn sealed_find<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>> {
        ready(self.records(|records| {
            records.sealed.retain(|_, kept| !expired(kept));
            records.sealed.get(key).map(|(bytes, _)| bytes.clone())
        }))
    }

    fn sealed_take<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>> {
        let taken = self.records(|records| records.sealed.remove(key));
        ready(taken.filter(|kept| !expired(kept)).map(|(bytes, _)| bytes))
    }

    fn sealed_swap<'a>(
        &'a self,
        key: &'a SealedKey,
        old: Option<&'a [u8]>,
        new: Option<Sealed<'a>>,
    ) -> StoreFuture<'a, bool> {
        ready(self.records(|records| {
            let kept = records.sealed.get(key).filter(|kept| !expired(kept));
            if kept.map(|(bytes, _)| bytes.as_slice()) != old {
                return false;
            }
            match new {
                Some(new) => records.sealed.insert(key.clone(), (new.bytes.to_vec(), new.expires)),
                None => records.sealed.remove(key),
            };
            true
        }))
    }

    fn sealed_list<'a>(&'a self, kind: &'a str) -> StoreFuture<'a, Vec<String>> {
        ready(self.records(|records| {
            let of_kind = records.sealed.iter().filter(|(key, kept)| key.kind == kind && !expired(kept));
            of_kind.map(|(key, _)| key.name.clone()).collect()
        }))
    }

    fn task_submit<'a>(&'a self, task: &'a NewTask) -> StoreFuture<'a, Submitted> {
        let key = task.key.as_ref().map(|(key, digest)| (short(key), digest));
        let submitted = self.records(|records| {
            let called = key.as_ref().and_then(|(key, digest)| Some((records.calls.digest(key)?, *digest)));
            match called {
                Some((known, digest)) if known != *digest => Submitted::Conflict,
                Some(_) => Submitted::Called,
                None => records.tasks.submit(task, key),
            }
        });
        self.notifiers.notify(WORK);
        ready(submitted)
    }

    fn task_start<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        self.change(id, |tasks| tasks.start(id))
    }

    fn task_claim(&self, most: usize) -> StoreFuture<'_, Vec<ClaimedTask>> {
        let claimed = self.records(|records| records.tasks.claim(most));
        for task in &claimed {
            self.notifiers.notify(task.id.as_str());
        }
        ready(claimed)
    }

    fn task_return<'a>(&'a self, id: &'a TaskId, pause: Duration) -> StoreFuture<'a, ()> {
        self.change(id, |tasks| tasks.put_back(id, pause))
    }

    fn task_tell<'a>(&'a self, id: &'a TaskId, update: &'a Update) -> StoreFuture<'a, ()> {
        self.change(id, |tasks| tasks.tell(id, update))
    }

    fn task_finish<'a>(&'a self, id: &'a TaskId, outcome: &'a Outcome) -> StoreFuture<'a, bool> {
        self.change(id, |tasks| tasks.end(id, TaskStatus::of(outcome), (Some(outcome), self.room_of_tasks)))
    }

    fn task_cancel<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        self.change(id, |tasks| tasks.end(id, TaskStatus::Cancelled, (None, self.room_of_tasks)))
    }

    fn task_is_ours<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        self.tasks(|tasks| tasks.is_running(id))
    }

    fn task_find<'a>(&'a self, id: &'a TaskId, after: u64) -> StoreFuture<'a, Option<FoundTask>> {
        self.tasks(|tasks| tasks.find(id, after))
    }

    fn task_list<'a>(
        &'a self,
        caller: &'a str,
        before: Option<&'a TaskId>,
        most: usize,
    ) -> StoreFuture<'a, Vec<Task>> {
        self.tasks(|tasks| tasks.list(caller, before, most))
    }

    fn task_backlog<'a>(&'a self, caller: &'a str) -> StoreFuture<'a, Backlog> {
        self.tasks(|tasks| tasks.backlog(caller))
    }

    fn task_notifier(&self, id: &TaskId) -> Listener {
        self.notifiers.listen(id.as_str())
    }

    fn work_notifier(&self) -> Listener {
        self.notifiers.listen(WORK)
    }

    fn audit_add<'a>(&'a self, records: &'a [AuditRecord]) -> StoreFuture<'a, ()> {
        self.records(|kept| kept.audit.add(records, &self.retention));
        ready(())
    }

    fn audit_list(&self, most: usize) -> StoreFuture<'_, Vec<AuditRecord>> {
        ready(self.records(|records| records.audit.list(most)))
    }

    fn definitions_put<'a>(&'a self, key: &'a DefinitionsKey, text: &'a str) -> StoreFuture<'a, ()> {
        self.records(|records| records.definitions.insert(key.clone(), (text.to_owned(), Instant::now())));
        ready(())
    }

    fn definitions_find<'a>(&'a self, key: &'a DefinitionsKey) -> StoreFuture<'a, Option<String>> {
        ready(self.records(|records| records.definitions.get(key).map(|(text, _)| text.clone())))
    }

    fn status(&self) -> StoreFuture<'_, StoreStatus> {
        ready(self.records(|records| StoreStatus {
            kind: "memory",
            schema: 0,
            servers: 1,
            calls: records.calls.count(),
            tasks: records.tasks.count(),
            sealed: records.sealed.len() as u64,
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

fn expired((_, expires): &(Vec<u8>, Option<SystemTime>)) -> bool {
    expires.is_some_and(|expires| expires <= SystemTime::now())
}
