//! The port that records go out by, and the store that keeps them in memory.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;

use crate::BoxFuture;
use crate::message::Message;
use crate::outcome::Outcome;

/// How many ended calls memory keeps.
const MOST_KEPT: usize = 100_000;

/// A recorded call: who gave it which id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// The caller's name; ids of different callers never meet.
    pub caller: Box<str>,
    /// The id the caller gave.
    pub id: Box<str>,
}

/// A digest of tool and arguments: the same id with another digest is a conflict.
pub type CallDigest = [u8; 32];

/// What a store says when a call begins.
#[derive(Clone, Debug)]
pub enum Begun {
    /// Nobody had this id: run the tool.
    Fresh,
    /// The same call is running: wait for it.
    Running,
    /// The same call has ended.
    Ended(Outcome),
    /// The id belongs to another call.
    Conflict,
}

/// The store cannot answer.
#[derive(Clone, Debug)]
pub struct StoreError(pub Message);

/// Where records are kept. Method names begin with the noun.
pub trait Store: Send + Sync {
    /// Claims an id. Of many callers at once exactly one gets [`Begun::Fresh`].
    fn call_begin<'a>(
        &'a self,
        key: &'a CallKey,
        digest: &'a CallDigest,
    ) -> BoxFuture<'a, Result<Begun, StoreError>>;

    /// Records how a call ended; wakes all who wait for it.
    fn call_finish<'a>(
        &'a self,
        key: &'a CallKey,
        outcome: &'a Outcome,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Gives an id back because its tool did not run; those who wait must begin anew.
    fn call_forget<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Waits until a running call has ended; `None` when it was forgotten.
    fn call_wait<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, Result<Option<Outcome>, StoreError>>;

    /// Keeps bytes that only their owner can read (tokens, challenges) until `expires`; replaces.
    fn sealed_put<'a>(
        &'a self,
        key: &'a SealedKey,
        bytes: &'a [u8],
        expires: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Bytes kept under a key, unless they expired.
    fn sealed_find<'a>(&'a self, key: &'a SealedKey) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>>;

    /// The same, and removes them: of many who ask at once exactly one gets them.
    fn sealed_take<'a>(&'a self, key: &'a SealedKey) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>>;

    /// The names kept of one kind, in order.
    fn sealed_list<'a>(&'a self, kind: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;
}

/// Under what sealed bytes are kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SealedKey {
    /// What they are: `token`, `challenge`.
    pub kind: String,
    /// Whose they are.
    pub name: String,
}

/// Keeps records as long as the process lives.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Records>);

#[derive(Debug, Default)]
struct Records {
    calls: HashMap<CallKey, Record>,
    ended: VecDeque<CallKey>,
    sealed: BTreeMap<SealedKey, (Vec<u8>, Option<SystemTime>)>,
}

#[derive(Debug)]
struct Record {
    digest: CallDigest,
    outcome: watch::Sender<Option<Outcome>>,
}

impl MemoryStore {
    fn records<T>(&self, read: impl FnOnce(&mut Records) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store for MemoryStore {
    fn call_begin<'a>(
        &'a self,
        key: &'a CallKey,
        digest: &'a CallDigest,
    ) -> BoxFuture<'a, Result<Begun, StoreError>> {
        let begun = self.records(|records| match records.calls.get(key) {
            Some(record) if record.digest != *digest => Begun::Conflict,
            Some(record) => record.outcome.borrow().clone().map_or(Begun::Running, Begun::Ended),
            None => {
                let outcome = watch::Sender::new(None);
                records.calls.insert(key.clone(), Record { digest: *digest, outcome });
                Begun::Fresh
            }
        });
        Box::pin(std::future::ready(Ok(begun)))
    }

    fn call_finish<'a>(
        &'a self,
        key: &'a CallKey,
        outcome: &'a Outcome,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.records(|records| {
            if let Some(record) = records.calls.get(key) {
                record.outcome.send_replace(Some(outcome.clone()));
                records.ended.push_back(key.clone());
            }
            if records.ended.len() > MOST_KEPT
                && let Some(oldest) = records.ended.pop_front()
            {
                records.calls.remove(&oldest);
            }
        });
        Box::pin(std::future::ready(Ok(())))
    }

    fn call_forget<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, Result<(), StoreError>> {
        self.records(|records| records.calls.remove(key));
        Box::pin(std::future::ready(Ok(())))
    }

    fn call_wait<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, Result<Option<Outcome>, StoreError>> {
        let watched = self.records(|records| records.calls.get(key).map(|record| record.outcome.subscribe()));
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
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.records(|records| records.sealed.insert(key.clone(), (bytes.to_vec(), expires)));
        Box::pin(std::future::ready(Ok(())))
    }

    fn sealed_find<'a>(&'a self, key: &'a SealedKey) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        let found = self.records(|records| {
            records.sealed.retain(|_, kept| !expired(kept));
            records.sealed.get(key).map(|(bytes, _)| bytes.clone())
        });
        Box::pin(std::future::ready(Ok(found)))
    }

    fn sealed_take<'a>(&'a self, key: &'a SealedKey) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        let taken = self.records(|records| records.sealed.remove(key));
        Box::pin(std::future::ready(Ok(taken.filter(|kept| !expired(kept)).map(|(bytes, _)| bytes))))
    }

    fn sealed_list<'a>(&'a self, kind: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let names = self.records(|records| {
            let of_kind = records.sealed.iter().filter(|(key, kept)| key.kind == kind && !expired(kept));
            of_kind.map(|(key, _)| key.name.clone()).collect()
        });
        Box::pin(std::future::ready(Ok(names)))
    }
}

fn expired((_, expires): &(Vec<u8>, Option<SystemTime>)) -> bool {
    expires.is_some_and(|expires| expires <= SystemTime::now())
}
