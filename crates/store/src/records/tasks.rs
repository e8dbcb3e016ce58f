//! Tasks: kept, claimed by one server at a time, read back with what happened to them.

use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::store::{
    Backlog, ClaimedTask, FoundTask, Listener, NewTask, StoreError, StoreFuture, Submitted, TaskOfCaller,
    TaskStore, frees_key,
};
use toolmux_core::progress::Update;
use toolmux_core::task::{Task, TaskEvent, TaskId, TaskStatus};

use crate::background::uncertain_claims::UncertainClaim;
use crate::connections::announcements::Announcements;
use crate::connections::database::{ClaimNumber, Database, failed, span};
use crate::group_commit::write::{SingleWrite, TaskRow, WORK, Write, task_notifier};
use crate::records::calls::{plain, record_id};
use crate::records::standing::Standing;
use crate::records::stored::{write_outcome, write_update};
use crate::records::task_rows::{TaskRecord, read_claimed, read_task, read_update_event};
use crate::sql::{Repeated, sql};
use crate::sql_store::SqlStore;

static TASK_CLAIMED: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("task_claimed")));

impl TaskStore for SqlStore {
    fn task_submit<'a>(&'a self, task: &'a NewTask) -> StoreFuture<'a, Submitted> {
        Box::pin(async move {
            let submit = SingleWrite::TaskSubmit(Box::new(TaskRow::from(task)));
            if self.writer.write(Write::Single(submit)).await? {
                return Ok(Submitted::Fresh);
            }
            let Some((key, digest)) = &task.key else {
                // The id of the task is random: whoever stands there is this very task, submitted by a write whose
                // answer was lost.
                return Ok(Submitted::Fresh);
            };
            match self.database.standing(&record_id(key), Some(digest), None).await? {
                Some(Standing::Task(id)) if id == task.id => Ok(Submitted::Fresh),
                Some(Standing::Task(id)) => Ok(Submitted::Known(id)),
                Some(Standing::Conflict) => Ok(Submitted::Conflict),
                Some(Standing::Ended(..) | Standing::Running | Standing::Abandoned(..) | Standing::Ours) => {
                    Ok(Submitted::Called)
                }
                // What had the key went away between the two statements.
                None => self.task_submit(task).await,
            }
        })
    }

    fn task_start<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let claim = self.database.next_claim();
            let start = SingleWrite::TaskStart { id: id.clone(), claim };
            let started = self.writer.write(Write::Single(start)).await;
            started.inspect_err(|_| self.database.claim_uncertain(UncertainClaim::Tasks(claim)))
        })
    }

    fn task_claim(&self, most: usize) -> StoreFuture<'_, Vec<ClaimedTask>> {
        Box::pin(async move {
            let mut claims = self.database.take_uncertain_tasks();
            let claimed = self.claim_or_wait(&mut claims, most).await;
            // Whatever may be ours without our knowing is looked for again.
            let uncertain =
                |claim: &ClaimNumber| self.database.claim_uncertain(UncertainClaim::Tasks(*claim));
            let rows = claimed.inspect_err(|_| claims.iter().for_each(uncertain)).map_err(failed)?;
            self.claimed(&rows).await.map_err(failed)
        })
    }

    fn task_return<'a>(&'a self, id: &'a TaskId, pause: Duration) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let now = self.database.now();
            let put = sqlx::query(sql!("task_return")).bind(now).bind(now.saturating_add(span(pause)));
            let put = put.bind(id.as_str()).bind(self.database.holder.as_str());
            let put = self.database.fetch(put).await.map_err(failed)?;
            let mut announcements = Announcements::default();
            for row in &put {
                self.database.tell_waiter(row, task_notifier(id), &mut announcements).map_err(failed)?;
            }
            // Nobody can claim it before the pause is over: then it is found by those who look from time to time.
            self.database.notify_of(announcements, &[task_notifier(id)]).await.map_err(failed)
        })
    }

    fn task_tell<'a>(&'a self, id: &'a TaskId, update: &'a Update) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let body = write_update(update)?;
            let tell = SingleWrite::TaskTell { id: id.clone(), body };
            self.writer.write(Write::Single(tell)).await.map(drop)
        })
    }

    fn task_finish<'a>(&'a self, id: &'a TaskId, outcome: &'a Outcome) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let (status, frees_key) = (TaskStatus::of(outcome), frees_key(outcome));
            let outcome = write_outcome(outcome);
            let finish = SingleWrite::TaskFinish { id: id.clone(), status, outcome, frees_key };
            self.writer.write(Write::Single(finish)).await
        })
    }

    fn task_cancel<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let cancel = sqlx::query(sql!("task_cancel")).bind(self.database.now()).bind(id.as_str());
            let cancelled = self.database.fetch(cancel).await.map_err(failed)?;
            self.database.tasks_written.add(cancelled.len() as u64, 0);
            let mut announcements = Announcements::default();
            for row in &cancelled {
                self.database.tell_waiter(row, task_notifier(id), &mut announcements).map_err(failed)?;
                // Whoever runs it ends its tool.
                let holder: String = row.try_get("holder").map_err(failed)?;
                if holder != self.database.holder {
                    announcements.tell_server(&holder, task_notifier(id));
                }
            }
            self.database.notify_of(announcements, &[task_notifier(id)]).await.map_err(failed)?;
            Ok(!cancelled.is_empty())
        })
    }

    fn task_is_ours<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let count =
                sqlx::query(sql!("task_is_ours")).bind(id.as_str()).bind(self.database.holder.as_str());
            let row = self.database.find_one(count).await.map_err(failed)?;
            row.try_get::<i64, _>("tasks").map(|tasks| tasks > 0).map_err(failed)
        })
    }

    fn task_find<'a>(&'a self, id: &'a TaskId, after: u64) -> StoreFuture<'a, Option<FoundTask>> {
        Box::pin(async move {
            let row = self.find_and_wait(id).await.map_err(failed)?;
            let Some(found) = row.as_ref().map(TaskRecord::read).transpose()? else { return Ok(None) };
            let mut events = found.status_events();
            // Every number is a state's or an update's: with as many states as numbers there are no updates to look for.
            let has_updates = (events.len() as u64) < found.seq;
            events.retain(|event| event.seq > after);
            if has_updates && found.seq > after {
                events.extend(self.updates(id, after, found.seq).await?);
                events.sort_by_key(|event| event.seq);
            }
            Ok(Some(FoundTask { caller: found.caller.into(), task: found.task, events }))
        })
    }

    fn task_list<'a>(
        &'a self,
        caller: &'a str,
        before: Option<&'a TaskId>,
        most: usize,
    ) -> StoreFuture<'a, Vec<Task>> {
        Box::pin(async move {
            let list = sqlx::query(sql!("task_list")).bind(plain(caller)).bind(self.database.now());
            let list = list.bind(before.map_or("", TaskId::as_str));
            let rows = self.database.list(list.bind(i64::try_from(most).unwrap_or(i64::MAX))).await;
            rows.map_err(failed)?.iter().map(read_task).collect()
        })
    }

    fn task_list_all(&self, status: Option<TaskStatus>, most: usize) -> StoreFuture<'_, Vec<TaskOfCaller>> {
        Box::pin(list_all(&self.database, status, most))
    }

    fn task_backlog<'a>(&'a self, caller: &'a str) -> StoreFuture<'a, Backlog> {
        Box::pin(async move {
            let count = sqlx::query(sql!("task_backlog")).bind(plain(caller));
            let row = self.database.find_one(count).await.map_err(failed)?;
            let number = |column| row.try_get::<i64, _>(column).map(i64::unsigned_abs).map_err(failed);
            Ok(Backlog { pending: number("pending")?, bytes: number("bytes")? })
        })
    }

    fn task_notifier(&self, id: &TaskId) -> Listener {
        self.database.notifiers.listen(&task_notifier(id))
    }

    fn work_notifier(&self) -> Listener {
        self.database.notifiers.listen(WORK)
    }
}

/// The tasks of every caller, newest first, of one state or all.
pub(crate) async fn list_all(
    database: &Database,
    status: Option<TaskStatus>,
    most: usize,
) -> Result<Vec<TaskOfCaller>, StoreError> {
    let list = sqlx::query(sql!("task_list_all")).bind(database.now());
    let list = list.bind(status.map_or("", TaskStatus::as_str));
    let rows = database.list(list.bind(i64::try_from(most).unwrap_or(i64::MAX))).await.map_err(failed)?;
    let read =
        |row| TaskRecord::read(row).map(|TaskRecord { caller, task, .. }| TaskOfCaller { caller, task });
    rows.iter().map(read).collect()
}

impl SqlStore {
    /// The row of a task. When somebody here listens for what happens to it, other servers are told so before the row is
    /// read: either a change comes before and is found, or it is announced to us.
    async fn find_and_wait(&self, id: &TaskId) -> Result<Option<AnyRow>, sqlx::Error> {
        let find = async || {
            let find = sqlx::query(sql!("task_find")).bind(id.as_str()).bind(self.database.now());
            self.database.find(find).await
        };
        let Some(row) = find().await? else { return Ok(None) };
        let others = self.database.engine.announce.is_some();
        let is_followed = || self.database.notifiers.is_listened_to(&task_notifier(id));
        if !others || row.try_get::<Option<i64>, _>("expires")?.is_some() || !is_followed() {
            return Ok(Some(row));
        }
        if self.database.is_told(&row)? {
            return Ok(Some(row));
        }
        let wait = sqlx::query(sql!("task_await")).bind(id.as_str()).bind(self.database.holder.as_str());
        self.database.execute(wait).await?;
        find().await
    }

    /// Claims, and when fewer tasks waited than there is room for, says so before looking once more: either a task comes
    /// before that look and is found, or whoever submits it tells us.
    async fn claim_or_wait(
        &self,
        claims: &mut Vec<ClaimNumber>,
        most: usize,
    ) -> Result<Vec<AnyRow>, sqlx::Error> {
        let mut claimed = self.claim_with(claims, most).await?;
        if self.database.engine.announce.is_none() {
            return Ok(claimed);
        }
        let (is_idle, was_idle) = (claimed.len() < most, self.database.idle.load(Ordering::SeqCst));
        if is_idle != was_idle {
            // In this order: when we are told of a task between the two, the mark has gone already.
            self.database.idle.store(is_idle, Ordering::SeqCst);
            let mark = sqlx::query(sql!("holder_idle")).bind(self.database.holder.as_str());
            let marked = self.database.execute(mark.bind(i64::from(is_idle))).await;
            marked.inspect_err(|_| self.database.idle.store(false, Ordering::SeqCst))?;
        }
        if is_idle && !was_idle {
            // Those claimed above are certain; should this fail, they are found again by their numbers.
            let mut again = Vec::new();
            let more = self.claim_with(&mut again, most - claimed.len()).await;
            claims.extend(again);
            claimed.extend(more?);
        }
        Ok(claimed)
    }

    /// Reads claimed tasks, and notifies those who follow them. They are ours, whether or not those hear of it at once.
    async fn claimed(&self, rows: &[AnyRow]) -> Result<Vec<ClaimedTask>, sqlx::Error> {
        let now = self.database.now();
        let (mut announcements, mut notifiers) = (Announcements::default(), Vec::new());
        let mut claimed = Vec::with_capacity(rows.len());
        for row in rows {
            let task = read_claimed(row, now)?;
            self.database.tell_waiter(row, task_notifier(&task.id), &mut announcements)?;
            notifiers.push(task_notifier(&task.id));
            claimed.push(task);
        }
        self.database.notify_of(announcements, &notifiers).await.ok();
        Ok(claimed)
    }

    /// Finds what was claimed by claims whose answer was lost, and claims more under one more number. Each of these numbers
    /// is in `claims` when this fails.
    async fn claim_with(
        &self,
        claims: &mut Vec<ClaimNumber>,
        most: usize,
    ) -> Result<Vec<AnyRow>, sqlx::Error> {
        let mut claimed = Vec::new();
        for (statement, piece) in TASK_CLAIMED.pieces(claims) {
            let find = sqlx::query(statement).bind(self.database.holder.as_str());
            let find = piece.iter().fold(find, |find, claim| find.bind(*claim));
            claimed.extend(self.database.list(find).await?);
        }
        let next = self.database.next_claim();
        claims.push(next);
        let claim = sqlx::query(AssertSqlSafe(self.database.claim_statement()));
        let claim = claim.bind(self.database.holder.as_str()).bind(next).bind(self.database.now());
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        claimed.extend(self.database.fetch(claim.bind(most)).await?);
        Ok(claimed)
    }

    /// The updates after one number, up to the one with which the task itself was read: later ones belong to the next look.
    async fn updates(&self, id: &TaskId, after: u64, last: u64) -> Result<Vec<TaskEvent>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let updates = sqlx::query(sql!("task_updates")).bind(id.as_str()).bind(after);
        let rows = self.database.list(updates).await.map_err(failed)?;
        let events = rows.iter().map(read_update_event);
        events.filter(|event| event.as_ref().map_or(true, |event| event.seq <= last)).collect()
    }
}

impl From<&NewTask> for TaskRow {
    fn from(task: &NewTask) -> Self {
        TaskRow {
            id: task.id.clone(),
            caller: plain(&task.caller),
            tool: task.tool.to_string(),
            request: task.request.to_string(),
            repeatable: task.repeatable,
            portable: task.portable,
            key: task.key.as_ref().map(|(key, digest)| (record_id(key), *digest)),
            keep: span(task.keep),
            start: None,
        }
    }
}
