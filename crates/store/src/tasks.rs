//! Tasks: kept, claimed by one server at a time, read back with what happened to them.

use std::time::Duration;

use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::store::{
    Backlog, ClaimedTask, FoundTask, NewTask, StoreError, Submitted, frees_key,
};
use toolmux_core::progress::Update;
use toolmux_core::task::{Task, TaskChange, TaskEvent, TaskId, TaskStatus};

use crate::calls::{Standing, plain, record_id};
use crate::database::{failed, span, time};
use crate::sql::sql;
use crate::store::{SqlStore, read_outcome, unreadable, write_outcome};
use crate::write::{TaskRow, WORK, Write, task_notifier};

/// How many claims whose answer was lost are remembered.
const MOST_UNCERTAIN: usize = 1_024;

impl SqlStore {
    pub(crate) async fn submit_task(&self, task: &NewTask) -> Result<Submitted, StoreError> {
        let key = task.key.as_ref().map(|(key, digest)| (record_id(key), digest.to_vec()));
        let row = TaskRow {
            id: task.id.clone(),
            caller: plain(&task.caller),
            tool: task.tool.to_string(),
            request: task.request.to_string(),
            repeatable: task.repeatable,
            portable: task.portable,
            key,
            keep: span(task.keep),
            start: None,
        };
        if self.writer.write(Write::TaskSubmit(Box::new(row))).await? {
            return Ok(Submitted::Fresh);
        }
        let Some((key, digest)) = &task.key else {
            // The first answer was lost, the write was not.
            return Ok(Submitted::Fresh);
        };
        match self.standing(&record_id(key), Some(digest), 0).await? {
            Some(Standing::Task(id)) if id == task.id => Ok(Submitted::Fresh),
            Some(Standing::Task(id)) => Ok(Submitted::Known(id)),
            Some(Standing::Conflict) => Ok(Submitted::Conflict),
            Some(Standing::Ended(_) | Standing::Running | Standing::Abandoned(..) | Standing::Ours) => {
                Ok(Submitted::Called)
            }
            // It went away in between.
            None => Box::pin(self.submit_task(task)).await,
        }
    }

    pub(crate) async fn start_task(&self, id: &TaskId) -> Result<bool, StoreError> {
        let turn = self.database.next_turn();
        let started = self.writer.write(Write::TaskStart { id: id.clone(), turn }).await;
        started.inspect_err(|_| self.doubt(turn))
    }

    pub(crate) async fn claim_tasks(&self, most: usize) -> Result<Vec<ClaimedTask>, StoreError> {
        let mut turns = self.uncertain_claims(std::mem::take);
        let claimed = self.claim_with(&mut turns, most).await;
        // Whatever may be ours without our knowing is looked for again.
        let claimed = claimed.inspect_err(|_| turns.iter().for_each(|turn| self.doubt(*turn)));
        let claimed = claimed.map_err(failed)?;
        let notifiers: Vec<String> = claimed.iter().map(|task| task_notifier(&task.id)).collect();
        self.database.notify(&notifiers).await.ok();
        Ok(claimed)
    }

    /// Finds what was claimed by turns whose answer was lost, and claims more under one more turn.
    async fn claim_with(&self, turns: &mut Vec<i64>, most: usize) -> Result<Vec<ClaimedTask>, sqlx::Error> {
        let mut claimed = Vec::new();
        for turn in turns.iter() {
            let find = sqlx::query(sql!("task_claimed")).bind(self.database.holder.as_str()).bind(*turn);
            claimed.extend(self.database.list(find).await?);
        }
        let turn = self.database.next_turn();
        turns.push(turn);
        let claim = sqlx::query(AssertSqlSafe(self.database.claim()));
        let claim = claim.bind(self.database.holder.as_str()).bind(turn).bind(self.database.now());
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        claimed.extend(self.database.fetch(claim.bind(most)).await?);
        let now = self.database.now();
        claimed.iter().map(|row| read_claimed(row, now)).collect()
    }

    pub(crate) async fn return_task(&self, id: &TaskId, pause: Duration) -> Result<(), StoreError> {
        let now = self.database.now();
        let put = sqlx::query(sql!("task_return")).bind(now).bind(now.saturating_add(span(pause)));
        let put = put.bind(id.as_str()).bind(self.database.holder.as_str());
        self.database.execute(put).await.map_err(failed)?;
        self.database.notify(&[task_notifier(id), WORK.to_owned()]).await.map_err(failed)
    }

    pub(crate) async fn tell_task(&self, id: &TaskId, update: &Update) -> Result<(), StoreError> {
        let body = serde_json::to_string(update).map_err(|error| unreadable(&error))?;
        self.database.tasks_written.add(0, body.len());
        self.writer.write(Write::TaskTell { id: id.clone(), body }).await.map(drop)
    }

    pub(crate) async fn finish_task(&self, id: &TaskId, outcome: &Outcome) -> Result<bool, StoreError> {
        let (status, frees_key) = (TaskStatus::of(outcome), frees_key(outcome));
        let outcome = write_outcome(outcome);
        self.database.tasks_written.add(1, outcome.len());
        self.writer.write(Write::TaskFinish { id: id.clone(), status, outcome, frees_key }).await
    }

    pub(crate) async fn cancel_task(&self, id: &TaskId) -> Result<bool, StoreError> {
        let cancel = sqlx::query(sql!("task_cancel")).bind(self.database.now()).bind(id.as_str());
        let cancelled = self.database.fetch(cancel).await.map_err(failed)?;
        self.database.notify(&[task_notifier(id)]).await.map_err(failed)?;
        Ok(!cancelled.is_empty())
    }

    pub(crate) async fn is_our_task(&self, id: &TaskId) -> Result<bool, StoreError> {
        let count = sqlx::query(sql!("task_is_ours")).bind(id.as_str()).bind(self.database.holder.as_str());
        let row = self.database.find_one(count).await.map_err(failed)?;
        row.try_get::<i64, _>(0).map(|count| count > 0).map_err(failed)
    }

    pub(crate) async fn find_task(&self, id: &TaskId, after: u64) -> Result<Option<FoundTask>, StoreError> {
        let find = sqlx::query(sql!("task_find")).bind(id.as_str()).bind(self.database.now());
        let Some(row) = self.database.find(find).await.map_err(failed)? else {
            return Ok(None);
        };
        let task = read_task(&row)?;
        let (caller, seq): (String, i64) = (row.try_get(7).map_err(failed)?, row.try_get(8).map_err(failed)?);
        let states: [Option<i64>; 2] = [row.try_get(9).map_err(failed)?, row.try_get(10).map_err(failed)?];
        let mut events = status_events(&task, seq, states);
        let seq_of_all = u64::try_from(seq).unwrap_or_default();
        // Every number is a state's or an update's.
        let has_updates = (events.len() as u64) < seq_of_all;
        events.retain(|event| event.seq > after);
        if has_updates && seq_of_all > after {
            events.extend(self.task_updates(id, after, seq).await?);
            events.sort_by_key(|event| event.seq);
        }
        Ok(Some(FoundTask { caller: caller.into(), task, events }))
    }

    /// Only those the task itself was read with: later ones belong to the next look.
    async fn task_updates(&self, id: &TaskId, after: u64, last: i64) -> Result<Vec<TaskEvent>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let updates = sqlx::query(sql!("task_updates")).bind(id.as_str()).bind(after);
        let mut events = Vec::new();
        for row in self.database.list(updates).await.map_err(failed)? {
            let (seq, body): (i64, String) =
                (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
            if seq <= last {
                let update = serde_json::from_str(&body).map_err(|error| unreadable(&error))?;
                let seq = u64::try_from(seq).unwrap_or_default();
                events.push(TaskEvent { seq, change: TaskChange::Update(update) });
            }
        }
        Ok(events)
    }

    pub(crate) async fn list_tasks(
        &self,
        caller: &str,
        before: Option<&TaskId>,
        most: usize,
    ) -> Result<Vec<Task>, StoreError> {
        let list = sqlx::query(sql!("task_list")).bind(plain(caller)).bind(self.database.now());
        let list = list.bind(before.map_or("", TaskId::as_str));
        let rows = self.database.list(list.bind(i64::try_from(most).unwrap_or(i64::MAX))).await;
        rows.map_err(failed)?.iter().map(read_task).collect()
    }

    pub(crate) async fn count_backlog(&self, caller: &str) -> Result<Backlog, StoreError> {
        let count = sqlx::query(sql!("task_backlog")).bind(plain(caller));
        let row = self.database.find_one(count).await.map_err(failed)?;
        let number = |column: usize| row.try_get::<i64, _>(column).map(i64::unsigned_abs).map_err(failed);
        Ok(Backlog { pending: number(0)?, bytes: number(1)? })
    }

    fn doubt(&self, turn: i64) {
        self.uncertain_claims(|turns| {
            if turns.len() < MOST_UNCERTAIN {
                turns.push(turn);
            } else {
                tracing::warn!("too many claims of tasks are in doubt; one is held until this server stops");
            }
        });
    }
}

fn read_claimed(row: &AnyRow, now: i64) -> Result<ClaimedTask, sqlx::Error> {
    let (id, created): (String, i64) = (row.try_get(0)?, row.try_get(2)?);
    let waited = Duration::from_millis(u64::try_from(now - created).unwrap_or_default());
    Ok(ClaimedTask { id: TaskId::new(&id), request: row.try_get(1)?, waited })
}

fn read_task(row: &AnyRow) -> Result<Task, StoreError> {
    let text = |column: usize| row.try_get::<String, _>(column).map_err(failed);
    let number = |column: usize| row.try_get::<i64, _>(column).map_err(failed);
    let outcome: Option<String> = row.try_get(6).map_err(failed)?;
    let status = text(2)?;
    Ok(Task {
        id: TaskId::new(&text(0)?),
        tool: text(1)?.into(),
        status: TaskStatus::read(&status)
            .ok_or_else(|| unreadable(&std::io::Error::other(format!("no such state: `{status}`"))))?,
        created: time(number(3)?),
        updated: time(number(4)?),
        keep: Duration::from_millis(number(5)?.unsigned_abs()),
        outcome: outcome.as_deref().map(read_outcome).transpose()?,
    })
}

/// The states a task went through are not rows of their own: its numbers tell when it was accepted, when it
/// was last put back among the pending, and when it last began to run.
fn status_events(task: &Task, seq: i64, [pending, running]: [Option<i64>; 2]) -> Vec<TaskEvent> {
    let number = |seq: i64| u64::try_from(seq).unwrap_or_default();
    let states =
        [(Some(1), TaskStatus::Pending), (pending, TaskStatus::Pending), (running, TaskStatus::Running)];
    let states = states.into_iter().filter_map(|(seq, status)| Some((number(seq?), status)));
    let state = |(seq, status)| TaskEvent { seq, change: TaskChange::Status(status) };
    let mut events: Vec<TaskEvent> = states.map(state).collect();
    events.sort_by_key(|event| event.seq);
    if task.status.is_ended() {
        let change = TaskChange::Ended(task.status, task.outcome.clone());
        events.push(TaskEvent { seq: number(seq), change });
    }
    events
}
