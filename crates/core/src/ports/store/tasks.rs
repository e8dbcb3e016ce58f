//! Tasks as a store keeps them: submitted, claimed by one server at a time, followed, ended.

use std::time::Duration;

use super::calls::{CallDigest, CallKey};
use super::error::StoreFuture;
use super::notifiers::Listener;
use crate::outcome::{Outcome, Retry};
use crate::progress::Update;
use crate::task::{Task, TaskEvent, TaskId, TaskStatus};

/// A task to be kept.
#[derive(Clone, Debug)]
pub struct NewTask {
    pub id: TaskId,
    /// The name of the caller who submits it.
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
    /// The task is kept.
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
    /// The name of the caller who submitted it.
    pub caller: Box<str>,
    /// The task as it is now.
    pub task: Task,
    /// What happened, in order.
    pub events: Vec<TaskEvent>,
}

/// A task and whose it is.
#[derive(Clone, Debug)]
pub struct TaskOfCaller {
    /// The name of the caller who submitted it.
    pub caller: String,
    /// The task as it is now.
    pub task: Task,
}

/// The records of tasks.
pub trait TaskStore: Send + Sync {
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

    /// Adds an update that the tool of a task that runs here sent.
    fn task_tell<'a>(&'a self, id: &'a TaskId, update: &'a Update) -> StoreFuture<'a, ()>;

    /// Records how a task that runs here ended; false when it is not ours any more.
    fn task_finish<'a>(&'a self, id: &'a TaskId, outcome: &'a Outcome) -> StoreFuture<'a, bool>;

    /// Cancels a task wherever it is; false when it had ended. Whoever runs it is notified.
    fn task_cancel<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool>;

    /// True while a task runs here.
    fn task_is_ours<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool>;

    /// A task as it is now, with what happened to it after event `after`; after [`LAST_EVENT`](crate::task::LAST_EVENT)
    /// comes nothing, which gives the task alone.
    fn task_find<'a>(&'a self, id: &'a TaskId, after: u64) -> StoreFuture<'a, Option<FoundTask>>;

    /// The tasks of a caller, newest first, older than `before`; none when the caller has no task of that id.
    fn task_list<'a>(
        &'a self,
        caller: &'a str,
        before: Option<&'a TaskId>,
        most: usize,
    ) -> StoreFuture<'a, Vec<Task>>;

    /// The tasks of every caller, newest first, of one state or all.
    fn task_list_all(&self, status: Option<TaskStatus>, most: usize) -> StoreFuture<'_, Vec<TaskOfCaller>>;

    /// What a caller has waiting.
    fn task_backlog<'a>(&'a self, caller: &'a str) -> StoreFuture<'a, Backlog>;

    /// Notifies whenever anything happens to a task.
    fn task_notifier(&self, id: &TaskId) -> Listener;

    /// Notifies whenever there may be a task to claim.
    fn work_notifier(&self) -> Listener;
}
