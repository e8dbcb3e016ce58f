//! The port that records go out by.

mod notifiers;
mod retention;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use self::notifiers::{Listener, Notifiers};
pub use self::retention::{PRUNE_EVERY, Quota, Retention};
use crate::BoxFuture;
use crate::audit::AuditRecord;
use crate::call::CallId;
use crate::message::Message;
use crate::outcome::{Outcome, Retry};
use crate::progress::Update;
use crate::refusal::Refusal;
use crate::task::{Task, TaskEvent, TaskId};

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
    /// The same call has ended.
    Ended(Outcome),
    /// The same call was running on a server that is gone. It is the asker's now, who runs it again if
    /// that does no harm, and otherwise records that it may have run.
    Abandoned,
    /// The same call was submitted as a task, whose end is its end.
    Task(TaskId),
    /// The id belongs to another call.
    Conflict,
}

/// The store cannot answer.
#[derive(Clone, Debug)]
pub struct StoreError {
    /// Why.
    pub message: Message,
    /// Whether what was to be written is durable all the same.
    pub durable: Durable,
}

/// Whether a write that failed is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// It is not.
    No,
    /// The answer to its commit was lost: it may be.
    Unknown,
}

impl StoreError {
    /// An error after which nothing is durable.
    pub fn new(message: Message) -> Self {
        StoreError { message, durable: Durable::No }
    }
}

/// What failed is said in the log by the store itself, once: its refusals are many, and do not say it again.
impl From<StoreError> for Refusal {
    fn from(StoreError { message, .. }: StoreError) -> Self {
        tracing::debug!(developer = message.developer, "the record store refused: {}", message.public);
        Refusal::Unavailable { message: Message::public(message.public), retry_after: None }
    }
}

/// What a store answers, in time.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Where records are kept. Method names begin with the noun.
pub trait Store: Send + Sync {
    /// Claims an id. Of many callers at once exactly one gets [`Begun::Fresh`].
    fn call_begin<'a>(&'a self, key: &'a CallKey, digest: &'a CallDigest) -> StoreFuture<'a, Begun>;

    /// Records how a call ended; wakes all who wait for it. False when it is not ours any more: somebody took
    /// it over, and what they record is its end.
    fn call_finish<'a>(&'a self, key: &'a CallKey, outcome: &'a Outcome) -> StoreFuture<'a, bool>;

    /// Gives an id back because its tool did not run; those who wait must begin anew.
    fn call_forget<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, ()>;

    /// Waits until a running call has ended; `None` when it was forgotten or abandoned.
    fn call_wait<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, Option<Outcome>>;

    /// Keeps bytes that only their owner can read (tokens, challenges) until `expires`; replaces.
    fn sealed_put<'a>(
        &'a self,
        key: &'a SealedKey,
        bytes: &'a [u8],
        expires: Option<SystemTime>,
    ) -> StoreFuture<'a, ()>;

    /// Bytes kept under a key, unless they expired.
    fn sealed_find<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>>;

    /// The same, and removes them: of many who ask at once exactly one gets them.
    fn sealed_take<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>>;

    /// Replaces what is kept under a key, only if that is still `old`; `None` is nothing, or what expired. Of
    /// many who ask at once exactly one hears true.
    fn sealed_swap<'a>(
        &'a self,
        key: &'a SealedKey,
        old: Option<&'a [u8]>,
        new: Option<Sealed<'a>>,
    ) -> StoreFuture<'a, bool>;

    /// The names kept of one kind, in order.
    fn sealed_list<'a>(&'a self, kind: &'a str) -> StoreFuture<'a, Vec<String>>;

    /// Keeps a new task, pending. When this ends well the task outlives us. A task answers for its key
    /// until its time is over, or until it failed in a way worth retrying; calls and tasks share one space of
    /// keys.
    fn task_submit<'a>(&'a self, task: &'a NewTask) -> StoreFuture<'a, Submitted>;

    /// Takes one pending task to run it here; false when it is not pending any more.
    fn task_start<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool>;

    /// Takes up to `most` pending tasks to run them here, callers in turn.
    fn task_claim(&self, most: usize) -> StoreFuture<'_, Vec<ClaimedTask>>;

    /// Puts a task that runs here back among the pending: its tool did not run. It is not claimed again
    /// before `pause` has passed.
    fn task_return<'a>(&'a self, id: &'a TaskId, pause: Duration) -> StoreFuture<'a, ()>;

    /// Adds what the tool of a task that runs here told.
    fn task_tell<'a>(&'a self, id: &'a TaskId, update: &'a Update) -> StoreFuture<'a, ()>;

    /// Records how a task that runs here ended; false when it is not ours any more.
    fn task_finish<'a>(&'a self, id: &'a TaskId, outcome: &'a Outcome) -> StoreFuture<'a, bool>;

    /// Cancels a task wherever it is; false when it had ended. Whoever runs it is notified.
    fn task_cancel<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool>;

    /// True while a task runs here.
    fn task_is_ours<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool>;

    /// A task as it is now, with what happened to it after event `after`.
    fn task_find<'a>(&'a self, id: &'a TaskId, after: u64) -> StoreFuture<'a, Option<FoundTask>>;

    /// The tasks of a caller, newest first, older than `before`; none when the caller has no task of that id.
    fn task_list<'a>(
        &'a self,
        caller: &'a str,
        before: Option<&'a TaskId>,
        most: usize,
    ) -> StoreFuture<'a, Vec<Task>>;

    /// What a caller has waiting.
    fn task_backlog<'a>(&'a self, caller: &'a str) -> StoreFuture<'a, Backlog>;

    /// Notifies whenever anything happens to a task.
    fn task_notifier(&self, id: &TaskId) -> Listener;

    /// Notifies whenever there may be a task to claim.
    fn work_notifier(&self) -> Listener;

    /// Keeps what was done.
    fn audit_add<'a>(&'a self, records: &'a [AuditRecord]) -> StoreFuture<'a, ()>;

    /// What was done, newest first.
    fn audit_list(&self, most: usize) -> StoreFuture<'_, Vec<AuditRecord>>;

    /// Keeps the definitions that a source listed; replaces those of the same key.
    fn definitions_put<'a>(&'a self, key: &'a DefinitionsKey, text: &'a str) -> StoreFuture<'a, ()>;

    /// The definitions that were last kept under a key.
    fn definitions_find<'a>(&'a self, key: &'a DefinitionsKey) -> StoreFuture<'a, Option<String>>;

    /// What is kept now.
    fn status(&self) -> StoreFuture<'_, StoreStatus>;

    /// Removes what is older or more than allowed: of each caller its oldest. Results over the budget of bytes are
    /// replaced by [`crate::task::result_not_kept`], and the record that the tool ran stays.
    fn prune<'a>(&'a self, retention: &'a Retention) -> StoreFuture<'a, Pruned>;

    /// Why nothing is recorded any more until the server is restarted, when that is so. For a health probe: asks
    /// neither a database nor the network.
    fn fault(&self) -> Option<StoreError> {
        None
    }

    /// Ends what the store runs and lets others take over at once what it held.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Under what the definitions of a source are kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionsKey {
    /// The name of the source in the configuration.
    pub source: String,
    /// A digest of its configuration: other settings may mean other tools.
    pub digest: String,
}

/// Under what sealed bytes are kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SealedKey {
    /// What they are: `token`, `challenge`.
    pub kind: String,
    /// Whose they are.
    pub name: String,
}

/// Sealed bytes to be kept.
#[derive(Clone, Copy, Debug)]
pub struct Sealed<'a> {
    /// They.
    pub bytes: &'a [u8],
    /// Until when; absent means for good.
    pub expires: Option<SystemTime>,
}

/// A task to be kept.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// Its id.
    pub id: TaskId,
    /// Whose it is.
    pub caller: Box<str>,
    /// The flat name of its tool.
    pub tool: Box<str>,
    /// All that is needed to run it, as JSON.
    pub request: Box<str>,
    /// Running the tool twice does no harm.
    pub repeatable: bool,
    /// It can run elsewhere; false when it came with credentials, which are kept nowhere.
    pub portable: bool,
    /// The id its submitter gave, which makes the same again the same task.
    pub key: Option<(CallKey, CallDigest)>,
    /// How long it is kept after it ended.
    pub keep: Duration,
}

/// What a store says when a task is submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It is kept.
    Fresh,
    /// The same was submitted before.
    Known(TaskId),
    /// The same was called before, not as a task.
    Called,
    /// The id its submitter gave belongs to another task or call.
    Conflict,
}

/// True when an outcome gives the id its submitter gave free again: a failure worth retrying is retried with
/// the same id, and a question is answered with it; both must reach the tool.
pub fn frees_key(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Returned(output) => output.extra.asks(),
        Outcome::Failed(error) => error.retry != Retry::Never || error.extra.asks(),
    }
}

/// A task that is ours to run now.
#[derive(Clone, Debug)]
pub struct ClaimedTask {
    /// Its id.
    pub id: TaskId,
    /// All that is needed to run it, as JSON.
    pub request: String,
    /// How long ago it was accepted, by the store's clock.
    pub waited: Duration,
}

/// What a caller has waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Tasks that are pending.
    pub pending: u64,
    /// Bytes of the requests of its pending and running tasks.
    pub bytes: u64,
}

/// A task, whose it is, and what happened to it lately.
#[derive(Clone, Debug)]
pub struct FoundTask {
    /// Whose it is.
    pub caller: Box<str>,
    /// As it is now.
    pub task: Task,
    /// What happened, in order.
    pub events: Vec<TaskEvent>,
}

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// `memory`, `sqlite` or `postgres`.
    pub kind: &'static str,
    /// The version of its tables.
    pub schema: i64,
    /// Servers that hold records now.
    pub servers: u64,
    /// Calls, and how many of them run.
    pub calls: [u64; 2],
    /// Tasks by state: pending, running, ended.
    pub tasks: [u64; 3],
    /// Sealed records.
    pub sealed: u64,
    /// Audit records.
    pub audit: u64,
    /// Bytes on disk, when known.
    pub bytes: Option<u64>,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Calls.
    pub calls: u64,
    /// Ended tasks past their time or over their number.
    pub tasks: u64,
    /// Sealed records past theirs.
    pub sealed: u64,
    /// Audit records.
    pub audit: u64,
}
