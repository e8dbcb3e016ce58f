//! Tasks in memory.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant, SystemTime};

use crate::outcome::Outcome;
use crate::progress::Update;
use crate::store::{CallDigest, CallKey, ClaimedTask, FoundTask, NewTask, Retention, Submitted, frees_key};
use crate::task::{Task, TaskChange, TaskEvent, TaskId, TaskStatus, never_its_turn};

/// How often submitting looks for tasks whose time is over.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// The longest a task that was put back waits, whatever its source asked for.
const LONGEST_PAUSE: Duration = Duration::from_hours(24);

#[derive(Debug, Default)]
pub(super) struct Tasks {
    records: HashMap<TaskId, Record>,
    pending: HashSet<TaskId>,
    running: HashSet<TaskId>,
    swept: Option<Instant>,
    keys: HashMap<CallKey, (CallDigest, TaskId)>,
}

#[derive(Debug)]
struct Record {
    caller: Box<str>,
    request: Box<str>,
    key: Option<CallKey>,
    due: tokio::time::Instant,
    task: Task,
    events: Vec<TaskEvent>,
}

impl Record {
    fn happen(&mut self, change: TaskChange) {
        self.task.updated = SystemTime::now();
        self.events.push(TaskEvent { seq: self.events.len() as u64 + 1, change });
    }

    fn enter(&mut self, status: TaskStatus) {
        self.task.status = status;
        self.happen(TaskChange::Status(status));
    }
}

impl Tasks {
    pub(super) fn submit(&mut self, new: &NewTask) -> Submitted {
        if self.swept.is_none_or(|swept| swept.elapsed() >= SWEEP_EVERY) {
            self.prune();
        }
        if let Some((key, digest)) = &new.key {
            self.free_if_over(key);
            match self.keys.get(key) {
                Some((known, id)) if known == digest => return Submitted::Known(id.clone()),
                Some(_) => return Submitted::Conflict,
                None => self.keys.insert(key.clone(), (*digest, new.id.clone())),
            };
        }
        let now = SystemTime::now();
        let mut record = Record {
            caller: new.caller.clone(),
            request: new.request.clone(),
            key: new.key.as_ref().map(|(key, _)| key.clone()),
            due: tokio::time::Instant::now(),
            task: Task {
                id: new.id.clone(),
                tool: new.tool.clone(),
                status: TaskStatus::Pending,
                created: now,
                updated: now,
                keep: new.keep,
                outcome: None,
            },
            events: Vec::new(),
        };
        record.enter(TaskStatus::Pending);
        self.records.insert(new.id.clone(), record);
        self.pending.insert(new.id.clone());
        Submitted::Fresh
    }

    /// The task that answers for a key.
    pub(super) fn of_key(&mut self, key: &CallKey) -> Option<(CallDigest, TaskId)> {
        self.free_if_over(key);
        self.keys.get(key).cloned()
    }

    /// A task whose time is over answers for its key no more, swept or not.
    fn free_if_over(&mut self, key: &CallKey) {
        let known = self.keys.get(key).and_then(|(_, id)| self.records.get_mut(id));
        if let Some(record) = known.filter(|record| is_over(record)) {
            record.key = None;
            self.keys.remove(key);
        }
    }

    pub(super) fn start(&mut self, id: &TaskId) -> bool {
        match self.records.get_mut(id) {
            Some(record) if record.task.status == TaskStatus::Pending => {
                record.enter(TaskStatus::Running);
                self.pending.remove(id);
                self.running.insert(id.clone());
                true
            }
            _ => false,
        }
    }

    /// Callers in turn: whoever has the fewest running comes first, then whoever waits longest.
    pub(super) fn claim(&mut self, most: usize) -> Vec<ClaimedTask> {
        let mut turns: HashMap<&str, usize> = HashMap::new();
        for record in self.running.iter().filter_map(|id| self.records.get(id)) {
            *turns.entry(&record.caller).or_default() += 1;
        }
        let now = tokio::time::Instant::now();
        let waiting = self.pending.iter().filter_map(|id| self.records.get(id));
        let mut pending: Vec<&Record> = waiting.filter(|record| record.due <= now).collect();
        pending.sort_by_key(|record| record.task.created);
        let mut order: Vec<(usize, SystemTime, TaskId)> = pending
            .into_iter()
            .map(|record| {
                let turn = turns.entry(&record.caller).or_default();
                *turn += 1;
                (*turn, record.task.created, record.task.id.clone())
            })
            .collect();
        order.sort();
        order.into_iter().take(most).filter_map(|(_, _, id)| self.take(&id)).collect()
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
        if let Some(record) = self.running(id) {
            record.due = tokio::time::Instant::now() + pause.min(LONGEST_PAUSE);
            record.enter(TaskStatus::Pending);
            self.running.remove(id);
            self.pending.insert(id.clone());
        }
    }

    pub(super) fn tell(&mut self, id: &TaskId, update: &Update) {
        if let Some(record) = self.running(id) {
            record.happen(TaskChange::Update(update.clone()));
        }
    }

    /// Ends a task that has not ended; one with an outcome only if it runs.
    pub(super) fn end(&mut self, id: &TaskId, status: TaskStatus, outcome: Option<&Outcome>) -> bool {
        let may_end = |record: &Record| match record.task.status {
            TaskStatus::Running => true,
            TaskStatus::Pending => outcome.is_none(),
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => false,
        };
        if !self.records.get(id).is_some_and(may_end) {
            return false;
        }
        self.conclude(id, status, outcome);
        true
    }

    fn conclude(&mut self, id: &TaskId, status: TaskStatus, outcome: Option<&Outcome>) {
        let Some(record) = self.records.get_mut(id) else { return };
        record.task.status = status;
        record.task.outcome = outcome.cloned();
        record.happen(TaskChange::Ended(status, outcome.cloned()));
        if outcome.is_some_and(frees_key)
            && let Some(key) = record.key.take()
        {
            self.keys.remove(&key);
        }
        self.pending.remove(id);
        self.running.remove(id);
    }

    /// Ends tasks whose turn did not come in time, and says which.
    pub(super) fn fail_late(&mut self, patience: Duration) -> Vec<TaskId> {
        let is_late = |record: &Record| record.task.created.elapsed().is_ok_and(|age| age > patience);
        let waiting = self.pending.iter().filter(|id| self.records.get(*id).is_some_and(is_late));
        let late: Vec<TaskId> = waiting.cloned().collect();
        for id in &late {
            self.conclude(id, TaskStatus::Failed, Some(&never_its_turn()));
        }
        late
    }

    pub(super) fn is_running(&self, id: &TaskId) -> bool {
        self.running.contains(id)
    }

    pub(super) fn find(&self, id: &TaskId, after: u64) -> Option<FoundTask> {
        let record = self.records.get(id).filter(|record| !is_over(record))?;
        let skipped = usize::try_from(after).unwrap_or(usize::MAX).min(record.events.len());
        Some(FoundTask {
            caller: record.caller.clone(),
            task: record.task.clone(),
            events: record.events[skipped..].to_vec(),
        })
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
        let listed = self.records.values().filter(own).filter(|record| !is_over(record));
        let older = |task: &&Task| newest.as_ref().is_none_or(|newest| age(task) < *newest);
        let mut tasks: Vec<&Task> = listed.map(|record| &record.task).filter(older).collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(age(task)));
        tasks.into_iter().take(most).cloned().collect()
    }

    pub(super) fn backlog(&self, caller: &str) -> u64 {
        let waiting = self.pending.iter().filter_map(|id| self.records.get(id));
        waiting.filter(|record| *record.caller == *caller).count() as u64
    }

    /// Pending, running, ended.
    pub(super) fn count(&self) -> [u64; 3] {
        let (pending, running) = (self.pending.len(), self.running.len());
        [pending, running, self.records.len() - pending - running].map(|count| count as u64)
    }

    pub(super) fn prune(&mut self) -> u64 {
        self.swept = Some(Instant::now());
        let before = self.records.len();
        let keys = &mut self.keys;
        self.records.retain(|_, record| {
            let over = is_over(record);
            if let Some(key) = record.key.as_ref().filter(|_| over) {
                keys.remove(key);
            }
            !over
        });
        (before - self.records.len()) as u64
    }

    /// The same, and removes ended tasks that are older or more than allowed.
    pub(super) fn prune_over(&mut self, retention: &Retention) -> u64 {
        let gone = self.prune();
        let mut ended: Vec<(SystemTime, TaskId)> = self
            .records
            .values()
            .filter(|record| record.task.status.is_ended())
            .map(|record| (record.task.updated, record.task.id.clone()))
            .collect();
        ended.sort_by(|a, b| b.cmp(a));
        let old = |at: SystemTime| at.elapsed().is_ok_and(|age| age >= retention.tasks_for);
        let over =
            |(place, (at, _)): &(usize, (SystemTime, TaskId))| *place as u64 >= retention.tasks || old(*at);
        let surplus: Vec<_> = ended.into_iter().enumerate().filter(over).collect();
        for (_, (_, id)) in &surplus {
            if let Some(key) = self.records.remove(id).and_then(|record| record.key) {
                self.keys.remove(&key);
            }
        }
        gone + surplus.len() as u64
    }

    fn running(&mut self, id: &TaskId) -> Option<&mut Record> {
        self.records.get_mut(id).filter(|record| record.task.status == TaskStatus::Running)
    }
}

fn is_over(record: &Record) -> bool {
    record.task.status.is_ended()
        && record.task.updated.elapsed().is_ok_and(|elapsed| elapsed >= record.task.keep)
}
