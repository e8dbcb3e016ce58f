//! The store's part that is about tasks.

use std::time::Duration;

use super::table::Tasks;
use crate::memory::short_key::short;
use crate::memory::store::{MemoryStore, ready};
use crate::outcome::Outcome;
use crate::ports::store::{
    Backlog, ClaimedTask, FoundTask, Listener, NewTask, StoreFuture, Submitted, TaskOfCaller, TaskStore,
};
use crate::progress::Update;
use crate::task::{Task, TaskId, TaskStatus};

/// The notifier of whoever looks for tasks to run. Ids of tasks are longer, so that none is this.
const WORK: &str = "work";

impl MemoryStore {
    fn tasks<T: Send + 'static>(&self, read: impl FnOnce(&mut Tasks) -> T) -> StoreFuture<'_, T> {
        ready(self.records(|records| read(&mut records.tasks)))
    }

    /// Changes a task, and then notifies whoever follows it. In the other order a follower could look before the change,
    /// find nothing new, and wait for a notification that has already been.
    fn change<T: Send + 'static>(
        &self,
        id: &TaskId,
        change: impl FnOnce(&mut Tasks) -> T,
    ) -> StoreFuture<'_, T> {
        let changed = self.records(|records| change(&mut records.tasks));
        self.notifiers.notify(id.as_str());
        ready(changed)
    }
}

impl TaskStore for MemoryStore {
    fn task_submit<'a>(&'a self, task: &'a NewTask) -> StoreFuture<'a, Submitted> {
        let key = task.key.as_ref().map(|(key, digest)| (short(key), digest));
        // Calls and tasks are looked at under one lock, so that no call can begin in between and take the id too.
        let submitted = self.records(|records| {
            let called = key.as_ref().and_then(|(key, digest)| Some((records.calls.digest(key)?, *digest)));
            match called {
                Some((known, digest)) if known != *digest => Submitted::Conflict,
                Some(_) => Submitted::Called,
                None => records.tasks.submit(task, key),
            }
        });
        // Whoever is notified claims as many as it has room for: that others look too would be of no use.
        self.notifiers.notify_one(WORK);
        ready(submitted)
    }

    fn task_start<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        self.change(id, |tasks| tasks.start(id))
    }

    fn task_claim(&self, most: usize) -> StoreFuture<'_, Vec<ClaimedTask>> {
        let claimed = self.records(|records| records.tasks.claim(most));
        for task in &claimed {
            self.notifiers.notify(task.id.as_str());
        }
        ready(claimed)
    }

    fn task_return<'a>(&'a self, id: &'a TaskId, pause: Duration) -> StoreFuture<'a, ()> {
        self.change(id, |tasks| tasks.put_back(id, pause))
    }

    fn task_tell<'a>(&'a self, id: &'a TaskId, update: &'a Update) -> StoreFuture<'a, ()> {
        self.change(id, |tasks| tasks.tell(id, update))
    }

    fn task_finish<'a>(&'a self, id: &'a TaskId, outcome: &'a Outcome) -> StoreFuture<'a, bool> {
        self.change(id, |tasks| tasks.end(id, TaskStatus::of(outcome), Some(outcome), self.room_of_tasks))
    }

    fn task_cancel<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        self.change(id, |tasks| tasks.end(id, TaskStatus::Cancelled, None, self.room_of_tasks))
    }

    fn task_is_ours<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        self.tasks(|tasks| tasks.is_running(id))
    }

    fn task_find<'a>(&'a self, id: &'a TaskId, after: u64) -> StoreFuture<'a, Option<FoundTask>> {
        self.tasks(|tasks| tasks.find(id, after))
    }

    fn task_list<'a>(
        &'a self,
        caller: &'a str,
        before: Option<&'a TaskId>,
        most: usize,
    ) -> StoreFuture<'a, Vec<Task>> {
        self.tasks(|tasks| tasks.list(caller, before, most))
    }

    fn task_list_all(&self, status: Option<TaskStatus>, most: usize) -> StoreFuture<'_, Vec<TaskOfCaller>> {
        self.tasks(|tasks| tasks.list_all(status, most))
    }

    fn task_backlog<'a>(&'a self, caller: &'a str) -> StoreFuture<'a, Backlog> {
        self.tasks(|tasks| tasks.backlog(caller))
    }

    fn task_notifier(&self, id: &TaskId) -> Listener {
        self.notifiers.listen(id.as_str())
    }

    fn work_notifier(&self) -> Listener {
        self.notifiers.listen(WORK)
    }
}
