//! One thing to be written, and how it is said in SQL. All of these touch rows by their key only, and
//! rows of other servers never, so that batches of several servers cannot lock each other out.

use sqlx::{AnyConnection, Row};
use toolmux_core::task::{TaskId, TaskStatus};

use crate::batch_sql::CALL_BEGIN;
use crate::database::Database;
use crate::sql::{SIZES, sql};

/// The notifier of whoever looks for tasks to run.
pub(crate) const WORK: &str = "w";

pub(crate) type RecordId = [u8; 32];

/// The answer to each is whether anything was written.
pub(crate) enum Write {
    CallBegin { id: RecordId, caller: String, digest: Vec<u8>, turn: i64 },
    CallFinish { id: RecordId, outcome: String },
    CallForget { id: RecordId },
    TaskSubmit(Box<TaskRow>),
    TaskStart { id: TaskId, turn: i64 },
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
    pub(crate) key: Option<(RecordId, Vec<u8>)>,
    pub(crate) keep: i64,
    /// The turn by which it is taken to run here at once.
    pub(crate) start: Option<i64>,
}

impl Write {
    /// Inserts come first and in the order of their keys: two servers that insert the same keys wait for
    /// each other in one direction only.
    pub(crate) fn order(&self) -> (u8, &[u8]) {
        match self {
            Write::CallBegin { id, .. } => (0, id),
            Write::TaskSubmit(row) => (1, row.key.as_ref().map_or(&[], |(id, _)| id)),
            Write::CallFinish { id, .. } => (2, id),
            Write::CallForget { id } => (3, id),
            Write::TaskStart { id, .. } => (4, id.as_str().as_bytes()),
            Write::TaskTell { id, .. } => (5, id.as_str().as_bytes()),
            Write::TaskFinish { id, .. } => (6, id.as_str().as_bytes()),
        }
    }

    /// Whom to notify once this is written.
    pub(crate) fn notifier(&self) -> Option<String> {
        match self {
            Write::CallBegin { .. } => None,
            // One that runs already is nobody's to look for, and nobody knows it yet.
            Write::TaskSubmit(row) => row.start.is_none().then(|| WORK.to_owned()),
            Write::CallFinish { id, .. } | Write::CallForget { id } => Some(call_notifier(id)),
            Write::TaskStart { id, .. } | Write::TaskTell { id, .. } | Write::TaskFinish { id, .. } => {
                Some(task_notifier(id))
            }
        }
    }

    /// True for what one statement writes, which needs no transaction of its own.
    pub(crate) fn is_one_statement(&self) -> bool {
        match self {
            Write::TaskSubmit(row) => row.key.is_none(),
            Write::TaskTell { .. } => false,
            Write::CallBegin { .. }
            | Write::CallFinish { .. }
            | Write::CallForget { .. }
            | Write::TaskStart { .. }
            | Write::TaskFinish { .. } => true,
        }
    }

    /// Writes it alone. Those that come in hundreds are written by `batch_sql.rs`.
    pub(crate) async fn apply(
        &self,
        database: &Database,
        connection: &mut AnyConnection,
    ) -> Result<bool, sqlx::Error> {
        let (now, holder) = (database.now(), database.holder.as_str());
        let written = match self {
            Write::CallBegin { .. } | Write::CallFinish { .. } => unreachable!("written together"),
            Write::CallForget { id } => {
                let forget = sqlx::query(sql!("call_forget")).bind(id.to_vec()).bind(holder);
                forget.execute(connection).await?.rows_affected() > 0
            }
            Write::TaskSubmit(row) => row.insert(now, holder, connection).await?,
            Write::TaskStart { id, turn } => {
                let start = sqlx::query(sql!("task_start")).bind(holder).bind(*turn).bind(now);
                start.bind(id.as_str()).execute(connection).await?.rows_affected() > 0
            }
            Write::TaskTell { id, body } => {
                let tell = sqlx::query(sql!("task_tell")).bind(now).bind(id.as_str()).bind(holder);
                let Some(row) = tell.fetch_optional(&mut *connection).await? else { return Ok(false) };
                let seq: i64 = row.try_get(0)?;
                let add = sqlx::query(sql!("task_update_add")).bind(id.as_str()).bind(seq);
                add.bind(body.as_str()).execute(connection).await?.rows_affected() > 0
            }
            Write::TaskFinish { id, status, outcome, frees_key } => {
                let finish = sqlx::query(sql!("task_finish")).bind(status.as_str()).bind(now);
                let finish = finish.bind(outcome.as_str()).bind(id.as_str()).bind(holder);
                let finish = finish.bind(i64::from(*frees_key));
                finish.execute(connection).await?.rows_affected() > 0
            }
        };
        Ok(written)
    }
}

impl TaskRow {
    async fn insert(
        &self,
        now: i64,
        holder: &str,
        connection: &mut AnyConnection,
    ) -> Result<bool, sqlx::Error> {
        if let Some((call, digest)) = &self.key {
            let keep = sqlx::query(CALL_BEGIN[SIZES.len() - 1].as_str()).bind(task_holder(&self.id));
            let keep = keep.bind(now).bind(call.to_vec()).bind(self.caller.as_str()).bind(digest.clone());
            if keep.bind(0_i64).execute(&mut *connection).await?.rows_affected() == 0 {
                return Ok(false);
            }
        }
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

/// The task that holds a call.
pub(crate) fn holding_task(holder: &str) -> Option<TaskId> {
    holder.strip_prefix(TASK_HOLDER).map(TaskId::new)
}

pub(crate) fn call_notifier(id: &RecordId) -> String {
    use std::fmt::Write as _;
    id[..16].iter().fold("c".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to memory cannot fail");
        text
    })
}

pub(crate) fn task_notifier(id: &TaskId) -> String {
    format!("t{id}")
}
