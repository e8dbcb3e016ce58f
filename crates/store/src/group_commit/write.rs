//! One thing to be written, and how it is said in SQL. All of these touch rows by their key only, and
//! rows of other servers never, so that batches of several servers cannot lock each other out.

use sqlx::{AnyConnection, AssertSqlSafe, Row};
use toolmux_core::hex::to_hex;
use toolmux_core::ports::store::CallDigest;
use toolmux_core::task::{TaskId, TaskStatus};

use crate::connections::announcements::{Announcements, WAITERS};
use crate::connections::connection::Statement;
use crate::connections::database::{ClaimNumber, Database};
use crate::group_commit::batch_sql::CALL_BEGIN;
use crate::sql::sql;

/// The notifier of whoever looks for tasks to run.
pub(crate) const WORK: &str = "w";

pub(crate) type RecordId = [u8; 32];

/// The answer to each is whether anything was written.
pub(crate) enum Write {
    /// These two come in hundreds and are written many at a time, by `batch_sql.rs`.
    CallBegin(CallBegin),
    CallFinish(CallFinish),
    Single(SingleWrite),
}

#[derive(Clone)]
pub(crate) struct CallBegin {
    pub(crate) id: RecordId,
    pub(crate) caller: String,
    pub(crate) digest: CallDigest,
    pub(crate) claim: ClaimNumber,
}

pub(crate) struct CallFinish {
    pub(crate) id: RecordId,
    pub(crate) outcome: String,
}

/// What is written one at a time.
pub(crate) enum SingleWrite {
    CallForget { id: RecordId },
    TaskSubmit(Box<TaskRow>),
    TaskStart { id: TaskId, claim: ClaimNumber },
    TaskTell { id: TaskId, body: String },
    TaskFinish { id: TaskId, status: TaskStatus, outcome: String, frees_key: bool },
}

pub(crate) struct TaskRow {
    pub(crate) id: TaskId,
    pub(crate) caller: String,
    pub(crate) tool: String,
    pub(crate) request: String,
    pub(crate) repeatable: bool,
    pub(crate) portable: bool,
    /// The id its submitter gave, with the digest of the request.
    pub(crate) key: Option<(RecordId, CallDigest)>,
    /// How long it is kept after it ended, in milliseconds.
    pub(crate) keep: i64,
    /// The claim by which it is taken to run here at once.
    pub(crate) start: Option<ClaimNumber>,
}

impl Write {
    /// Counts what was committed, for retention. Not earlier: a count of the records that came between would miss it, and
    /// none would be due until more is written.
    pub(crate) fn count(&self, database: &Database) {
        match self {
            Write::CallFinish(finish) => database.calls_written.add(1, finish.outcome.len()),
            Write::Single(SingleWrite::TaskFinish { outcome, .. }) => {
                database.tasks_written.add(1, outcome.len());
            }
            Write::Single(SingleWrite::TaskTell { body, .. }) => database.tasks_written.add(0, body.len()),
            Write::CallBegin(_) | Write::Single(_) => {}
        }
    }

    pub(crate) fn as_begin(&self) -> Option<&CallBegin> {
        match self {
            Write::CallBegin(begin) => Some(begin),
            Write::CallFinish(_) | Write::Single(_) => None,
        }
    }

    pub(crate) fn as_finish(&self) -> Option<&CallFinish> {
        match self {
            Write::CallFinish(finish) => Some(finish),
            Write::CallBegin(_) | Write::Single(_) => None,
        }
    }

    /// Inserts come first and in the order of their keys: two servers that insert the same keys wait for
    /// each other in one direction only. In another order each could hold a row that the other waits for.
    pub(crate) fn order(&self) -> (u8, &[u8]) {
        match self {
            Write::CallBegin(CallBegin { id, .. }) => (0, id),
            Write::CallFinish(CallFinish { id, .. }) => (2, id),
            Write::Single(single) => match single {
                SingleWrite::TaskSubmit(row) => (1, row.key.as_ref().map_or(&[], |(id, _)| id)),
                SingleWrite::CallForget { id } => (3, id),
                // A task is submitted before it starts, starts before it tells, and tells before it ends: what one
                // task does in one batch is written in this order.
                SingleWrite::TaskStart { id, .. } => (4, id.as_str().as_bytes()),
                SingleWrite::TaskTell { id, .. } => (5, id.as_str().as_bytes()),
                SingleWrite::TaskFinish { id, .. } => (6, id.as_str().as_bytes()),
            },
        }
    }

    /// Whom to notify once this is written.
    pub(crate) fn notifier(&self) -> Option<String> {
        match self {
            Write::CallBegin(_) => None,
            Write::CallFinish(CallFinish { id, .. }) => Some(call_notifier(id)),
            Write::Single(single) => match single {
                // One that runs already is nobody's to look for, and nobody knows it yet.
                SingleWrite::TaskSubmit(row) => row.start.is_none().then(|| WORK.to_owned()),
                SingleWrite::CallForget { id } => Some(call_notifier(id)),
                SingleWrite::TaskStart { id, .. }
                | SingleWrite::TaskTell { id, .. }
                | SingleWrite::TaskFinish { id, .. } => Some(task_notifier(id)),
            },
        }
    }

    /// True for what one statement writes, which needs no transaction of its own.
    pub(crate) fn is_one_statement(&self) -> bool {
        match self {
            Write::CallBegin(_) | Write::CallFinish(_) => true,
            Write::Single(single) => match single {
                SingleWrite::TaskSubmit(row) => row.key.is_none(),
                SingleWrite::TaskTell { .. } => false,
                SingleWrite::CallForget { .. }
                | SingleWrite::TaskStart { .. }
                | SingleWrite::TaskFinish { .. } => true,
            },
        }
    }
}

impl SingleWrite {
    pub(crate) async fn apply(
        &self,
        database: &Database,
        connection: &mut AnyConnection,
        announcements: &mut Announcements,
    ) -> Result<bool, sqlx::Error> {
        let (now, holder) = (database.now(), database.holder.as_str());
        // Each statement names our holder: once another server has taken a row over, ours changes nothing.
        match self {
            SingleWrite::TaskSubmit(row) => {
                let inserted = row.insert(now, holder, connection).await?;
                if inserted && row.start.is_none() {
                    announcements.task_waits();
                }
                Ok(inserted)
            }
            SingleWrite::TaskTell { id, body } => tell(database, (id, body), connection, announcements).await,
            SingleWrite::CallForget { id } => {
                let forget = with_waiters(database, sql!("call_forget"));
                let forget = sqlx::query(AssertSqlSafe(forget)).bind(id.to_vec()).bind(holder);
                change(database, forget, (connection, announcements), call_notifier(id)).await
            }
            SingleWrite::TaskStart { id, claim } => {
                let start = with_waiters(database, sql!("task_start"));
                let start = sqlx::query(AssertSqlSafe(start)).bind(holder).bind(*claim).bind(now);
                let start = start.bind(id.as_str());
                change(database, start, (connection, announcements), task_notifier(id)).await
            }
            SingleWrite::TaskFinish { id, status, outcome, frees_key } => {
                let finish = with_waiters(database, sql!("task_finish"));
                let finish = sqlx::query(AssertSqlSafe(finish)).bind(status.as_str()).bind(now);
                let finish = finish.bind(outcome.as_str()).bind(id.as_str()).bind(holder);
                let finish = finish.bind(i64::from(*frees_key));
                change(database, finish, (connection, announcements), task_notifier(id)).await
            }
        }
    }
}

/// A statement that says who waits for the records it changes, where there are other servers to be told.
fn with_waiters(database: &Database, statement: &str) -> String {
    let waiters = if database.engine.announce.is_some() { WAITERS } else { "" };
    [statement, waiters].concat()
}

/// Runs a statement made by [`with_waiters`].
async fn change(
    database: &Database,
    statement: Statement<'_>,
    (connection, announcements): (&mut AnyConnection, &mut Announcements),
    notifier: String,
) -> Result<bool, sqlx::Error> {
    if database.engine.announce.is_none() {
        return Ok(statement.execute(connection).await?.rows_affected() > 0);
    }
    let Some(row) = statement.fetch_optional(connection).await? else { return Ok(false) };
    database.tell_waiter(&row, notifier, announcements)?;
    Ok(true)
}

/// The task gives the update its number, in one transaction with it. A follower that could see the number before the update
/// might go on to a later event, and would never come back for this one.
async fn tell(
    database: &Database,
    (id, body): (&TaskId, &str),
    connection: &mut AnyConnection,
    announcements: &mut Announcements,
) -> Result<bool, sqlx::Error> {
    let tell = sqlx::query(sql!("task_tell")).bind(database.now()).bind(id.as_str());
    let tell = tell.bind(database.holder.as_str()).fetch_optional(&mut *connection).await?;
    let Some(row) = tell else { return Ok(false) };
    database.tell_waiter(&row, task_notifier(id), announcements)?;
    let seq: i64 = row.try_get("seq")?;
    let add = sqlx::query(sql!("task_update_add")).bind(id.as_str()).bind(seq).bind(body);
    Ok(add.execute(connection).await?.rows_affected() > 0)
}

impl TaskRow {
    async fn insert(
        &self,
        now: i64,
        holder: &str,
        connection: &mut AnyConnection,
    ) -> Result<bool, sqlx::Error> {
        // Calls and tasks share one space of keys: whoever inserts the row of `calls` first has the id, and the other
        // writes nothing.
        if let Some((call, digest)) = &self.key {
            let keep = sqlx::query(CALL_BEGIN.one()).bind(task_holder(&self.id)).bind(now);
            let keep = keep.bind(call.to_vec()).bind(self.caller.as_str()).bind(digest.to_vec());
            if keep.bind(0_i64).execute(&mut *connection).await?.rows_affected() == 0 {
                return Ok(false);
            }
        }
        // One that starts at once has two states behind it, pending and running, which are its first two events.
        let (status, seq) = match self.start {
            Some(_) => (TaskStatus::Running, 2),
            None => (TaskStatus::Pending, 1),
        };
        let inserted = sqlx::query(sql!("task_submit"))
            .bind(self.id.as_str())
            .bind(self.caller.as_str())
            .bind(self.tool.as_str())
            .bind(self.request.as_str())
            .bind(i64::from(self.repeatable))
            .bind(i64::from(self.portable))
            .bind(self.key.as_ref().map(|(call, _)| call.to_vec()))
            .bind(holder)
            .bind(now)
            .bind(self.keep)
            .bind(status.as_str())
            .bind(self.start.unwrap_or_default())
            .bind(seq)
            .bind(self.start.map(|_| seq))
            .execute(connection)
            .await?;
        Ok(inserted.rows_affected() > 0)
    }
}

const TASK_HOLDER: &str = "task ";

/// The key of a task stands among those of calls, held by the task: it is where its outcome is found.
pub(crate) fn task_holder(id: &TaskId) -> String {
    format!("{TASK_HOLDER}{id}")
}

/// The task that holds a call. Names of servers have no space in them, so that no server is taken for a task.
pub(crate) fn holding_task(holder: &str) -> Option<TaskId> {
    holder.strip_prefix(TASK_HOLDER).map(TaskId::new)
}

pub(crate) fn call_notifier(id: &RecordId) -> String {
    format!("c{}", to_hex(&id[..16]))
}

pub(crate) fn task_notifier(id: &TaskId) -> String {
    format!("t{id}")
}
