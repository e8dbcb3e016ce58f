//! The ledger: which call ids are taken, and what came of their calls.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::error::StoreFuture;
use crate::call::CallId;
use crate::outcome::Outcome;
use crate::task::TaskId;

/// A recorded call: who gave it which id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// The caller's name; ids of different callers never meet.
    pub caller: Arc<str>,
    /// The id the caller gave.
    pub id: CallId,
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
    /// The same call has ended, and its record is kept until then at the latest.
    Ended(Outcome, SystemTime),
    /// The same call was running on a server that is gone. It is the asker's now, who runs it again if
    /// that does no harm, and otherwise records that it may have run.
    Abandoned,
    /// The same call was submitted as a task, whose end is its end.
    Task(TaskId),
    /// The id belongs to another call.
    Conflict,
}

/// The records of calls.
pub trait CallStore: Send + Sync {
    /// Claims an id. Of many callers at once exactly one gets [`Begun::Fresh`].
    fn call_begin<'a>(&'a self, key: &'a CallKey, digest: &'a CallDigest) -> StoreFuture<'a, Begun>;

    /// How long a call is kept that begins now, at the longest.
    fn call_kept_for(&self) -> Duration;

    /// Records how a call ended; wakes all who wait for it. False when it is not ours any more: somebody took
    /// it over, and what they record is its end.
    fn call_finish<'a>(&'a self, key: &'a CallKey, outcome: &'a Outcome) -> StoreFuture<'a, bool>;

    /// Gives an id back because its tool did not run; those who wait must begin anew.
    fn call_forget<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, ()>;

    /// Waits until a running call has ended; `None` when it was forgotten or abandoned.
    fn call_wait<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, Option<Outcome>>;
}
