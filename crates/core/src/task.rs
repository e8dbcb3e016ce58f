//! Tasks: calls that run in the background and can be followed by anybody who holds their id.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::outcome::{Outcome, Retry, ToolError};
use crate::progress::Update;
use crate::refusal::Refusal;

/// The longest anybody may ask an ended task to be kept.
pub const LONGEST_KEPT: Duration = Duration::from_hours(24 * 7);

/// The highest number that an event of a task can have: databases count with a sign. Whoever looks behind it gets the
/// task alone, without what happened to it.
pub const LAST_EVENT: u64 = i64::MAX.unsigned_abs();

/// The id of a task: long and random, so that nobody guesses one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(Arc<str>);

impl TaskId {
    /// A new one.
    pub fn random() -> Self {
        TaskId(uuid::Uuid::new_v4().to_string().into())
    }

    /// Reads an id as a caller writes it; any text is one, it may just not exist.
    pub fn new(text: &str) -> Self {
        TaskId(text.into())
    }

    /// The text of it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// Accepted, not begun.
    Pending,
    /// The tool runs.
    Running,
    /// The tool returned.
    Completed,
    /// The tool failed, or did not run.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
}

impl TaskStatus {
    const ALL: [TaskStatus; 5] = [
        TaskStatus::Pending,
        TaskStatus::Running,
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Cancelled,
    ];

    /// The word for it, the same in the store and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            TaskStatus::Pending => "pending",
            TaskStatus::Running => "running",
            TaskStatus::Completed => "completed",
            TaskStatus::Failed => "failed",
            TaskStatus::Cancelled => "cancelled",
        }
    }

    /// Reads the word.
    pub fn read(word: &str) -> Option<Self> {
        TaskStatus::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// True when nothing more will come.
    pub fn is_ended(self) -> bool {
        match self {
            TaskStatus::Pending | TaskStatus::Running => false,
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => true,
        }
    }

    /// How a task ends that had this outcome.
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Returned(_) => TaskStatus::Completed,
            Outcome::Failed(_) => TaskStatus::Failed,
        }
    }
}

/// A task as it is now.
#[derive(Clone, Debug)]
pub struct Task {
    /// The id of the task.
    pub id: TaskId,
    /// The flat name of its tool.
    pub tool: Box<str>,
    /// How far it is.
    pub status: TaskStatus,
    /// When it was accepted.
    pub created: SystemTime,
    /// When anything last happened to it.
    pub updated: SystemTime,
    /// How long it is kept after it ended.
    pub keep: Duration,
    /// What came of it, once it completed or failed.
    pub outcome: Option<Outcome>,
}

/// One thing that happened to a task, under a number that grows.
#[derive(Clone, Debug)]
pub struct TaskEvent {
    /// The number; a follower that comes back names the last it saw.
    pub seq: u64,
    /// What happened to the task.
    pub change: TaskChange,
}

/// What can happen to a task.
#[derive(Clone, Debug)]
pub enum TaskChange {
    /// It is in a new state.
    Status(TaskStatus),
    /// Its tool told something.
    Update(Update),
    /// It ended, with its outcome if it ran.
    Ended(TaskStatus, Option<Outcome>),
}

/// What a task becomes when its server went away while the tool ran.
pub fn may_have_run() -> Outcome {
    Outcome::Failed(ToolError::new("The server stopped while the tool ran; the tool may have run"))
}

/// What is kept of a call or task whose result gave way to newer ones: that its tool ran, so that whoever asks
/// again does not run it again.
pub fn result_not_kept() -> Outcome {
    Outcome::Failed(ToolError::new(
        "The tool ran, but its result is not kept any more: the results of this caller reached their limit of bytes",
    ))
}

/// What a call hears whose key belongs to a task that somebody cancelled.
pub fn cancelled() -> Outcome {
    Outcome::Failed(ToolError::new("The task of this call was cancelled; the tool may have run"))
}

/// What a task becomes that waited with credentials when its server went away: they are kept nowhere.
pub fn credentials_gone() -> Outcome {
    let error = "The server stopped before the tool ran, and the credentials given for it were not kept";
    Outcome::Failed(ToolError::new(error).retry(Retry::Now))
}

/// What a task becomes whose turn did not come.
pub fn never_its_turn() -> Outcome {
    Outcome::Failed(
        ToolError::new("The tool did not run: the task waited too long in the queue").retry(Retry::Now),
    )
}

/// A refusal that comes after a task was accepted is how the task failed.
pub fn refused(refusal: &Refusal) -> Outcome {
    Outcome::Failed(ToolError::from(refusal.message()).retry(refusal.retry()))
}
