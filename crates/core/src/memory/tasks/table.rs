//! All tasks in memory. What ended tasks hold is counted in `ended.rs`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use super::ended::Ended;
use super::queue::{Queue, Stage};
use super::record::{Event, Record};
use crate::memory::room::Room;
use crate::outcome::Outcome;
use crate::ports::store::{
    Backlog, CallDigest, CallKey, ClaimedTask, FoundTask, NewTask, Retention, Submitted, TaskCounts,
    TaskOfCaller, frees_key,
};
use crate::progress::Update;
use crate::task::{Task, TaskId, TaskStatus, never_its_turn};

/// How often submitting looks for tasks whose time is over.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// The longest a task that was put back waits, whatever its source asked for.
const LONGEST_PAUSE: Duration = Duration::from_hours(24);

#[derive(Debug, Default)]
pub(in crate::memory) struct Tasks {
    records: HashMap<TaskId, Record>,
    queue: Queue,
    swept: Option<Instant>,
    keys: HashMap<CallKey, (CallDigest, TaskId)>,
    ended: Ended,
}

impl Tasks {
    pub(super) fn submit(
        &mut self,
        new: &NewTask,
        key: Option<(Cow<'_, CallKey>, &CallDigest)>,
    ) -> Submitted {
        if self.swept.is_none_or(|swept| swept.elapsed() >= SWEEP_EVERY) {
            self.prune();
        }
        if let Some((key, digest)) = &key {
            self.free_if_over(key);
            match self.keys.get(&**key) {
                Some((known, id)) if known == *digest => return Submitted::Known(id.clone()),
                Some(_) => return Submitted::Conflict,
                None => self.keys.insert(CallKey::clone(key), (**digest, new.id.clone())),
            };
        }
        let turn = self.queue.add(&new.caller, &new.id);
        let mut record = Record::new(new, key.map(|(key, _)| key.into_owned()), turn);
        record.enter(TaskStatus::Pending);
        self.records.insert(new.id.clone(), record);
        Submitted::Fresh
    }

    /// The task that answers for a key.
    pub(in crate::memory) fn of_key(&mut self, key: &CallKey) -> Option<(CallDigest, TaskId)> {
        self.free_if_over(key);
        self.keys.get(key).cloned()
    }

    /// A task whose time is over answers for its key no more, swept or not.
    fn free_if_over(&mut self, key: &CallKey) {
        let known = self.keys.get(key).and_then(|(_, id)| self.records.get_mut(id));
        if let Some(record) = known.filter(|record| record.is_over()) {
            record.key = None;
            self.keys.remove(key);
        }
    }

    pub(super) fn start(&mut self, id: &TaskId) -> bool {
        let Some(record) = self.records.get_mut(id) else { return false };
        let Some(from @ (Stage::Ready | Stage::Paused(_))) = record.stage() else { return false };
        record.enter(TaskStatus::Running);
        self.queue.change(&record.turn, from, Stage::Running);
        true
    }

    /// Callers in turn.
    pub(super) fn claim(&mut self, most: usize) -> Vec<ClaimedTask> {
        self.queue.next(most).iter().filter_map(|id| self.take(id)).collect()
    }

    fn take(&mut self, id: &TaskId) -> Option<ClaimedTask> {
        if !self.start(id) {
            return None;
        }
        let record = self.records.get(id)?;
        Some(ClaimedTask {
            id: id.clone(),
            request: record.request.to_string(),
            waited: record.task.created.elapsed().unwrap_or_default(),
        })
    }

    pub(super) fn put_back(&mut self, id: &TaskId, pause: Duration) {
        let Some(record) = self.records.get_mut(id) else { return };
        if record.stage() == Some(Stage::Running) {
            let until = tokio::time::Instant::now() + pause.min(LONGEST_PAUSE);
            record.paused = Some(until);
            record.enter(TaskStatus::Pending);
            self.queue.change(&record.turn, Stage::Running, Stage::Paused(until));
        }
    }

    pub(super) fn tell(&mut self, id: &TaskId, update: &Update) {
        if let Some(record) = self.running(id) {
            record.happen(Event::Update(update.clone()));
        }
    }

    /// Ends a task that has not ended; one with an outcome only if it runs.
    pub(super) fn end(
        &mut self,
        id: &TaskId,
        status: TaskStatus,
        outcome: Option<&Outcome>,
        room: Room,
    ) -> bool {
        let may_end = |record: &Record| match record.task.status {
            TaskStatus::Running => true,
            TaskStatus::Pending => outcome.is_none(),
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => false,
        };
        if !self.records.get(id).is_some_and(may_end) {
            return false;
        }
        self.conclude(id, status, outcome, room);
        true
    }

    fn conclude(&mut self, id: &TaskId, status: TaskStatus, outcome: Option<&Outcome>, room: Room) {
        let Some(record) = self.records.get_mut(id) else { return };
        if let Some(stage) = record.stage() {
            self.queue.remove(&record.caller, &record.turn, stage);
        }
        record.end(status, outcome);
        if outcome.is_some_and(frees_key)
            && let Some(key) = record.key.take()
        {
            self.keys.remove(&key);
        }
        self.ended.add(id, &mut self.records, room);
    }

    /// Ends tasks whose turn did not come in time, and says which.
    pub(in crate::memory) fn fail_late(&mut self, patience: Duration, room: Room) -> Vec<TaskId> {
        let is_late = |record: &Record| record.task.created.elapsed().is_ok_and(|age| age > patience);
        let waiting = self.queue.pending().filter(|id| self.records.get(*id).is_some_and(is_late));
        let late: Vec<TaskId> = waiting.cloned().collect();
        for id in &late {
            self.conclude(id, TaskStatus::Failed, Some(&never_its_turn()), room);
        }
        late
    }

    pub(super) fn is_running(&self, id: &TaskId) -> bool {
        self.records.get(id).is_some_and(|record| record.stage() == Some(Stage::Running))
    }

    pub(super) fn find(&self, id: &TaskId, after: u64) -> Option<FoundTask> {
        let record = self.records.get(id).filter(|record| !record.is_over())?;
        let (caller, task) = (record.caller.clone(), record.task.clone());
        Some(FoundTask { caller, task, events: record.events_after(after) })
    }

    pub(super) fn list(&self, caller: &str, before: Option<&TaskId>, most: usize) -> Vec<Task> {
        let own = |record: &&Record| *record.caller == *caller;
        let age = |task: &Task| (task.created, task.id.clone());
        let newest = match before {
            None => None,
            Some(id) => match self.records.get(id).filter(own) {
                Some(record) => Some(age(&record.task)),
                None => return Vec::new(),
            },
        };
        let listed = self.records.values().filter(own).filter(|record| !record.is_over());
        let older = |task: &&Task| newest.as_ref().is_none_or(|newest| age(task) < *newest);
        let mut tasks: Vec<&Task> = listed.map(|record| &record.task).filter(older).collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(age(task)));
        tasks.into_iter().take(most).cloned().collect()
    }

    pub(super) fn list_all(&self, status: Option<TaskStatus>, most: usize) -> Vec<TaskOfCaller> {
        let wanted = |task: &Task| status.is_none_or(|status| task.status == status);
        let listed = self.records.values().filter(|record| !record.is_over() && wanted(&record.task));
        let mut records: Vec<&Record> = listed.collect();
        records.sort_by_key(|record| std::cmp::Reverse((record.task.created, record.task.id.clone())));
        let of_caller =
            |record: &Record| TaskOfCaller { caller: record.caller.to_string(), task: record.task.clone() };
        records.into_iter().take(most).map(of_caller).collect()
    }

    pub(super) fn backlog(&self, caller: &str) -> Backlog {
        let own = self.queue.of(caller).filter_map(|id| self.records.get(id));
        own.fold(Backlog::default(), |Backlog { pending, bytes }, record| Backlog {
            pending: pending + u64::from(record.task.status == TaskStatus::Pending),
            bytes: bytes + record.request.len() as u64,
        })
    }

    pub(in crate::memory) fn count(&self) -> TaskCounts {
        let (pending, running) = (self.queue.count_pending() as u64, self.queue.count_running() as u64);
        TaskCounts { pending, running, ended: self.records.len() as u64 - pending - running }
    }

    pub(super) fn prune(&mut self) -> u64 {
        self.swept = Some(Instant::now());
        let over: Vec<TaskId> = self
            .records
            .values()
            .filter(|record| record.is_over())
            .map(|record| record.task.id.clone())
            .collect();
        self.remove(&over)
    }

    /// The same, and removes ended tasks that are older or more than allowed: of each caller its oldest.
    pub(in crate::memory) fn prune_over(&mut self, retention: &Retention, room: Room) -> u64 {
        let gone = self.prune();
        let ended = self.records.values().filter(|record| record.task.status.is_ended());
        let old = |at: SystemTime| at.elapsed().is_ok_and(|age| age >= retention.tasks_for);
        let old: Vec<TaskId> =
            ended.filter(|record| old(record.task.updated)).map(|record| record.task.id.clone()).collect();
        let gone = gone + self.remove(&old);
        let surplus = self.ended.surplus(room.count);
        let gone = gone + self.remove(&surplus);
        self.ended.trim_all(&mut self.records, room.bytes);
        gone
    }

    fn remove(&mut self, ids: &[TaskId]) -> u64 {
        for id in ids {
            let Some(record) = self.records.remove(id) else { continue };
            if let Some(key) = &record.key {
                self.keys.remove(key);
            }
            self.ended.remove(&record);
        }
        if !ids.is_empty() {
            self.ended.forget_removed(&self.records);
        }
        ids.len() as u64
    }

    fn running(&mut self, id: &TaskId) -> Option<&mut Record> {
        self.records.get_mut(id).filter(|record| record.task.status == TaskStatus::Running)
    }
}
