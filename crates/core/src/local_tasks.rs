//! What only this process knows of tasks: how many more it can run, the credentials of those that wait, and what the
//! tools of those that run ask. Everything else about a task is in the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::call::Call;
use crate::limits::Limits;
use crate::task::TaskId;
use crate::task_questions::TaskQuestions;

/// How many tasks run here, how many may, and whether others wait for that.
pub(crate) struct TaskSlots {
    pub(crate) used: usize,
    pub(crate) most: usize,
    pub(crate) is_waited_for: bool,
}

/// Tasks in this process. A gateway has one; `tasks/` works with it.
pub(crate) struct LocalTasks {
    slots: Arc<Semaphore>,
    most: usize,
    freed: Notify,
    /// Calls whose credentials are kept nowhere else, until their turn comes.
    held: Mutex<HashMap<TaskId, Call>>,
    /// What tools of tasks that run here ask.
    pub(crate) questions: TaskQuestions,
    started: OnceLock<()>,
    /// Tasks wait in the store for their turn; new ones go behind them.
    waiting: AtomicBool,
}

impl LocalTasks {
    pub(crate) fn new(limits: &Limits) -> Self {
        let most = limits.task_concurrency.clamp(1, Semaphore::MAX_PERMITS);
        LocalTasks {
            slots: Arc::new(Semaphore::new(most)),
            most,
            freed: Notify::new(),
            held: Mutex::default(),
            questions: TaskQuestions::default(),
            started: OnceLock::new(),
            waiting: AtomicBool::new(false),
        }
    }

    /// How it is used now.
    pub(crate) fn slots(&self) -> TaskSlots {
        let used = self.most.saturating_sub(self.slots.available_permits());
        TaskSlots { used, most: self.most, is_waited_for: self.waiting.load(Ordering::Relaxed) }
    }

    /// True for the first who asks.
    pub(crate) fn start(&self) -> bool {
        self.started.set(()).is_ok()
    }

    /// A slot for a task that is just being accepted; none while others wait, which were there first.
    pub(crate) fn slot(&self) -> Option<OwnedSemaphorePermit> {
        if self.waiting.load(Ordering::SeqCst) { None } else { self.free_slot() }
    }

    /// A slot, after waiting for one. Dropping the future gives the place in the queue up.
    pub(crate) async fn next_slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }

    /// Every slot that is free, for tasks that wait in the store.
    pub(crate) fn free_slots(&self) -> Vec<OwnedSemaphorePermit> {
        let slots = self.take_free_slots();
        if !slots.is_empty() {
            return slots;
        }
        // Whoever gives a slot back from here on has the store looked at. One that was given back just before is
        // found by looking again; without that it would stay free until somebody looks by the clock.
        self.tasks_wait();
        self.take_free_slots()
    }

    pub(crate) fn has_free_slot(&self) -> bool {
        self.slots.available_permits() > 0
    }

    /// True when some slots are free, but so few that more should gather before the store is asked.
    pub(crate) fn has_few_free_slots(&self) -> bool {
        (1..self.most.div_ceil(4)).contains(&self.slots.available_permits())
    }

    fn take_free_slots(&self) -> Vec<OwnedSemaphorePermit> {
        std::iter::from_fn(|| self.free_slot()).collect()
    }

    fn free_slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).try_acquire_owned().ok()
    }

    /// Gives a slot back; whoever waits in the store is looked for.
    pub(crate) fn free(&self, slot: OwnedSemaphorePermit) {
        // Before `waiting` is read: whoever sets it looks for free slots afterwards, so that either they find this
        // one or we see that somebody waits. `SeqCst` keeps both sides from missing each other.
        drop(slot);
        if self.waiting.load(Ordering::SeqCst) {
            self.freed.notify_one();
        }
    }

    /// Ends when a slot was given back while tasks waited. A notification that came before is not lost.
    pub(crate) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Says that tasks wait in the store, or may.
    pub(crate) fn tasks_wait(&self) {
        self.waiting.store(true, Ordering::SeqCst);
    }

    /// Says that no task waits in the store.
    pub(crate) fn no_task_waits(&self) {
        self.waiting.store(false, Ordering::SeqCst);
    }

    /// Keeps a call with its credentials in memory, which the store never has.
    pub(crate) fn hold(&self, id: &TaskId, call: Call) {
        self.held().insert(id.clone(), call);
    }

    /// Takes a held call out: one run at most gets it.
    pub(crate) fn take_held(&self, id: &TaskId) -> Option<Call> {
        self.held().remove(id)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<TaskId, Call>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
