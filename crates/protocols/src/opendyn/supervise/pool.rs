//! The workers of one library: one unless more are configured, since C libraries keep state.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use toolmux_core::ports::figures::ProcessFigures;
use toolmux_dylib_host::hello::Ready;

use super::answers::Answers;
use super::job::{Answered, Job, Rejected};
use super::supervisor::Supervisor;
use super::worker::Launch;
use super::worker_queue::WorkerQueue;
use crate::opendyn::handles::{HandleTable, Owner};

/// How long a thread looks for the answer of a short call before it goes to sleep.
const EAGER: Duration = Duration::from_micros(50);
/// How long the workers have to end in peace.
const CLOSING: Duration = Duration::from_secs(2);

/// Who shares a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::opendyn) enum WorkerSharing {
    Everybody,
    /// Each caller has its own, for each user that it acts for.
    PerCaller,
    /// Each session of a caller has its own.
    PerSession,
}

pub(in crate::opendyn) struct PoolSettings {
    pub(in crate::opendyn) workers: usize,
    /// Calls that may wait for one worker.
    pub(in crate::opendyn) queue: usize,
    pub(in crate::opendyn) idle: Duration,
    pub(in crate::opendyn) sharing: WorkerSharing,
    /// Deaths of a worker within a minute after which calls are refused for a while; 0 for never.
    pub(in crate::opendyn) most_deaths: usize,
    /// How many in a hundred calls since the first of those deaths must have died.
    pub(in crate::opendyn) least_share: u64,
    /// Workers of callers, where each has its own.
    pub(in crate::opendyn) most_own: usize,
    /// Objects that callers hold.
    pub(in crate::opendyn) handles: Arc<HandleTable>,
}

pub(in crate::opendyn) struct Pool {
    slots: Vec<Arc<Slot>>,
    /// Workers of callers, by the name of the owner.
    own: Mutex<HashMap<String, Arc<Slot>>>,
    launch: Arc<Launch>,
    settings: PoolSettings,
    supervisors: TaskTracker,
}

struct Slot {
    worker_queue: Arc<WorkerQueue>,
    supervisor: OnceLock<AbortOnDropHandle<()>>,
}

impl Slot {
    fn new(queue: usize) -> Self {
        Slot { worker_queue: Arc::new(WorkerQueue::new(queue)), supervisor: OnceLock::new() }
    }
}

/// No code of ours panics while it holds the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Starts nothing yet.
    pub(in crate::opendyn) fn new(launch: Launch, settings: PoolSettings) -> Self {
        let slot = || Arc::new(Slot::new(settings.queue));
        let slots = (0..settings.workers.max(1)).map(|_| slot()).collect();
        let own = Mutex::default();
        Pool { slots, own, launch: Arc::new(launch), settings, supervisors: TaskTracker::new() }
    }

    /// What the library can do, as its first worker found it.
    pub(in crate::opendyn) async fn ready(&self) -> Result<Arc<Ready>, Rejected> {
        let slot = &self.slots[0];
        let told = slot.worker_queue.ask()?;
        self.mind(slot);
        match told.await {
            Ok(Ok(ready)) => Ok(ready),
            Ok(Err(reason)) => Err(Rejected::Resting { reason, rest: Duration::ZERO }),
            Err(_) => Err(Rejected::Closed),
        }
    }

    /// Runs a job; one with objects goes to the worker that made them. Dropping the future gives up the
    /// answer, not the job.
    pub(in crate::opendyn) async fn run(
        &self,
        job: Job,
        generation: Option<u32>,
        owner: Option<&Owner<'_>>,
    ) -> Result<Answered, Rejected> {
        let slot = match (generation, owner.and_then(|owner| self.key(owner))) {
            // The worker may die between this and `submit`: the next one then refuses its objects.
            (Some(generation), _) => &self.that_made(generation).ok_or(Rejected::Forgotten)?,
            (None, Some(key)) => &self.own_slot(key)?,
            (None, None) if self.slots.len() == 1 => &self.slots[0],
            (None, None) => {
                self.slots.iter().min_by_key(|slot| slot.worker_queue.waiting()).ok_or(Rejected::Closed)?
            }
        };
        let mut answered = slot.worker_queue.submit(job)?;
        // After the job is queued: a supervisor looks whether it is wanted before it sleeps.
        self.mind(slot);
        // With others waiting, the supervisor is awake and reads for all of them.
        if let Some(answers) = slot.worker_queue.answers_to_one()
            && let Some(answered) = look_eagerly(&slot.worker_queue, &answers, &mut answered).await
        {
            return Ok(answered);
        }
        answered.await.map_err(|_| Rejected::Closed)
    }

    fn that_made(&self, generation: u32) -> Option<Arc<Slot>> {
        let made = |slot: &&Arc<Slot>| slot.worker_queue.generation() == generation;
        let shared = self.slots.iter().find(made).cloned();
        shared.or_else(|| lock(&self.own).values().find(made).cloned())
    }

    /// The name of the worker of a caller; nothing where all share.
    fn key(&self, owner: &Owner<'_>) -> Option<String> {
        let session = match self.settings.sharing {
            WorkerSharing::Everybody => return None,
            WorkerSharing::PerCaller => "",
            WorkerSharing::PerSession => owner.session.map_or("", |session| &**session),
        };
        // Names have no control characters.
        Some(format!("{}\n{}\n{session}", owner.caller, owner.user.unwrap_or_default()))
    }

    /// The place of an owner's worker; those whose worker ended make room for others.
    fn own_slot(&self, key: String) -> Result<Arc<Slot>, Rejected> {
        let mut own = lock(&self.own);
        if let Some(slot) = own.get(&key) {
            return Ok(Arc::clone(slot));
        }
        if own.len() >= self.settings.most_own {
            own.retain(|_, slot| slot.worker_queue.generation() != 0 || slot.worker_queue.waiting() > 0);
        }
        if own.len() >= self.settings.most_own {
            return Err(Rejected::Full);
        }
        let slot = Arc::new(Slot::new(self.settings.queue));
        own.insert(key, Arc::clone(&slot));
        Ok(slot)
    }

    fn mind(&self, slot: &Slot) {
        slot.supervisor.get_or_init(|| {
            let (worker_queue, launch) = (Arc::clone(&slot.worker_queue), Arc::clone(&self.launch));
            let supervisor = Supervisor::new(worker_queue, launch, &self.settings);
            // Ended with the pool even if nobody closes it: dropping a supervisor kills its worker.
            AbortOnDropHandle::new(self.supervisors.spawn(supervisor.mind()))
        });
    }

    /// What was counted of the workers. The calls that they run are among those that wait.
    pub(in crate::opendyn) fn figures(&self) -> ProcessFigures {
        let waiting = self.slots.iter().map(|slot| slot.worker_queue.waiting() as u64).sum();
        ProcessFigures { waiting, ..self.launch.processes.figures() }
    }

    /// Ends all workers. What still waits is told that it did not run.
    pub(in crate::opendyn) async fn close(&self) {
        // All are told before any is awaited, so that they end at the same time.
        let own: Vec<Arc<Slot>> = lock(&self.own).drain().map(|(_, slot)| slot).collect();
        let all = || self.slots.iter().chain(&own);
        for slot in all() {
            slot.worker_queue.close();
        }
        self.supervisors.close();
        if timeout(CLOSING, self.supervisors.wait()).await.is_err() {
            all().filter_map(|slot| slot.supervisor.get()).for_each(AbortOnDropHandle::abort);
        }
    }
}

/// Looks for the answer again and again for a moment, letting others run meanwhile, before this thread goes to
/// sleep: to be woken on a processor that went idle takes longer than most calls.
async fn look_eagerly(
    worker_queue: &WorkerQueue,
    answers: &Mutex<Answers>,
    answered: &mut oneshot::Receiver<Answered>,
) -> Option<Answered> {
    let until = Instant::now() + EAGER;
    while Instant::now() < until {
        // Whoever has the lock reads for us. To wait for it would block a thread of the runtime.
        if let Ok(mut answers) = answers.try_lock() {
            answers.look(worker_queue);
        }
        match answered.try_recv() {
            Ok(answered) => return Some(answered),
            Err(oneshot::error::TryRecvError::Empty) => tokio::task::yield_now().await,
            Err(oneshot::error::TryRecvError::Closed) => return None,
        }
    }
    None
}
