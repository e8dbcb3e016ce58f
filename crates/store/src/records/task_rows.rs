//! Rows of `tasks` and `task_updates`, read.

use std::time::Duration;

use sqlx::Row;
use sqlx::any::AnyRow;
use toolmux_core::ports::store::{ClaimedTask, StoreError};
use toolmux_core::task::{Task, TaskChange, TaskEvent, TaskId, TaskStatus};

use crate::connections::database::{failed, time};
use crate::records::stored::{read_outcome, read_update, unreadable};

pub(crate) fn read_task(row: &AnyRow) -> Result<Task, StoreError> {
    let text = |column| row.try_get::<String, _>(column).map_err(failed);
    let number = |column| row.try_get::<i64, _>(column).map_err(failed);
    let outcome: Option<String> = row.try_get("outcome").map_err(failed)?;
    let status = text("status")?;
    Ok(Task {
        id: TaskId::new(&text("id")?),
        tool: text("tool")?.into(),
        status: TaskStatus::read(&status)
            .ok_or_else(|| unreadable(&std::io::Error::other(format!("no such state: `{status}`"))))?,
        created: time(number("created")?),
        updated: time(number("updated")?),
        keep: Duration::from_millis(number("keep")?.unsigned_abs()),
        outcome: outcome.as_deref().map(read_outcome).transpose()?,
    })
}

pub(crate) fn read_claimed(row: &AnyRow, now: i64) -> Result<ClaimedTask, sqlx::Error> {
    let (id, created): (String, i64) = (row.try_get("id")?, row.try_get("created")?);
    let waited = Duration::from_millis(u64::try_from(now - created).unwrap_or_default());
    Ok(ClaimedTask { id: TaskId::new(&id), request: row.try_get("request")?, waited })
}

pub(crate) fn read_update_event(row: &AnyRow) -> Result<TaskEvent, StoreError> {
    let (seq, body): (i64, String) =
        (row.try_get("seq").map_err(failed)?, row.try_get("body").map_err(failed)?);
    Ok(TaskEvent { seq: event_number(seq), change: TaskChange::Update(read_update(&body)?) })
}

/// A task with what its row says about the states it went through.
pub(crate) struct TaskRecord {
    pub(crate) caller: String,
    pub(crate) task: Task,
    /// The number of the last event.
    pub(crate) seq: u64,
    /// The number under which it was last put back among the pending, and under which it last began to run.
    pending_seq: Option<u64>,
    running_seq: Option<u64>,
}

impl TaskRecord {
    pub(crate) fn read(row: &AnyRow) -> Result<Self, StoreError> {
        let seq = |column| row.try_get::<Option<i64>, _>(column).map_err(failed);
        Ok(TaskRecord {
            caller: row.try_get("caller").map_err(failed)?,
            task: read_task(row)?,
            seq: seq("seq")?.map_or(0, event_number),
            pending_seq: seq("pending_seq")?.map(event_number),
            running_seq: seq("running_seq")?.map(event_number),
        })
    }

    /// The states a task went through are not rows of their own: its numbers tell when it was accepted, when it
    /// was last put back among the pending, and when it last began to run.
    pub(crate) fn status_events(&self) -> Vec<TaskEvent> {
        let states = [
            (Some(1), TaskStatus::Pending),
            (self.pending_seq, TaskStatus::Pending),
            (self.running_seq, TaskStatus::Running),
        ];
        let state = |(seq, status): (Option<u64>, _)| {
            Some(TaskEvent { seq: seq?, change: TaskChange::Status(status) })
        };
        let mut events: Vec<TaskEvent> = states.into_iter().filter_map(state).collect();
        events.sort_by_key(|event| event.seq);
        if self.task.status.is_ended() {
            let change = TaskChange::Ended(self.task.status, self.task.outcome.clone());
            events.push(TaskEvent { seq: self.seq, change });
        }
        events
    }
}

fn event_number(seq: i64) -> u64 {
    u64::try_from(seq).unwrap_or_default()
}
