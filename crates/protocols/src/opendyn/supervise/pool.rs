//! The workers of one library: one unless more are configured, since C libraries keep state.

use std::sync::{Arc, Mutex, OnceLock};
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
use crate::opendyn::handles::HandleTable;

/// How long a thread looks for the answer of a short call before it goes to sleep.
const EAGER: Duration = Duration::from_micros(50);
/// How long the workers have to end in peace.
const CLOSING: Duration = Duration::from_secs(2);

pub(in crate::opendyn) struct PoolSettings {
    pub(in crate::opendyn) workers: usize,
    /// Calls that may wait for one worker.
    pub(in crate::opendyn) queue: usize,
    pub(in crate::opendyn) idle: Duration,
    /// Deaths of a worker within a minute after which calls are refused for a while; 0 for never.
    pub(in crate::opendyn) most_deaths: usize,
    /// Objects that callers hold.
    pub(in crate::opendyn) handles: Arc<HandleTable>,
}

pub(in crate::opendyn) struct Pool {
    slots: Vec<Slot>,
    launch: Arc<Launch>,
    settings: PoolSettings,
    supervisors: TaskTracker,
}

struct Slot {
    worker_queue: Arc<WorkerQueue>,
    supervisor: OnceLock<AbortOnDropHandle<()>>,
}

impl Pool {
    /// Starts nothing yet.
    pub(in crate::opendyn) fn new(launch: Launch, settings: PoolSettings) -> Self {
        let slot =
            || Slot { worker_queue: Arc::new(WorkerQueue::new(settings.queue)), supervisor: OnceLock::new() };
        let slots = (0..settings.workers.max(1)).map(|_| slot()).collect();
        Pool { slots, launch: Arc::new(launch), settings, supervisors: TaskTracker::new() }
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
    ) -> Result<Answered, Rejected> {
        let slot = match generation {
            // The worker may die between this and `submit`: the next one then refuses its objects.
            Some(generation) => {
                let made = |slot: &&Slot| slot.worker_queue.generation() == generation;
                self.slots.iter().find(made).ok_or(Rejected::Forgotten)?
            }
            None if self.slots.len() == 1 => &self.slots[0],
            None => {
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

    fn mind(&self, slot: &Slot) {
        slot.supervisor.get_or_init(|| {
            let (worker_queue, launch) = (Arc::clone(&slot.worker_queue), Arc::clone(&self.launch));
            let (settings, handles) = (&self.settings, Arc::clone(&self.settings.handles));
            let supervisor =
                Supervisor::new(worker_queue, launch, settings.idle, settings.most_deaths, handles);
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
        for slot in &self.slots {
            slot.worker_queue.close();
        }
        self.supervisors.close();
        if timeout(CLOSING, self.supervisors.wait()).await.is_err() {
            self.slots.iter().filter_map(|slot| slot.supervisor.get()).for_each(AbortOnDropHandle::abort);
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
