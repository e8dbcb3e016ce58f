//! One task per worker: it starts the worker when somebody wants it, reads its answers, ends it when a call
//! takes too long, and finds out how it died. Dropping the task ends the worker and all its descendants.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use toolmux_core::backoff::Backoff;
use toolmux_dylib_host::error_chain;
use toolmux_dylib_host::frame::RequestFrame;

use super::answers::{Answers, Read};
use super::death::Death;
use super::pool::PoolSettings;
use super::worker::{Launch, StartError, Worker};
use super::worker_queue::{Clock, WorkerQueue};
use crate::opendyn::handles::HandleTable;

/// How exactly time limits are kept.
const TICK: Duration = Duration::from_millis(25);
/// How long a worker that hung up may take to end by itself, so that its status can be told.
const LAST_BREATH: Duration = Duration::from_millis(250);
/// How long the kernel may take to end a killed process.
const BURIAL: Duration = Duration::from_secs(10);
/// Within which deaths are counted.
const COUNTED: Duration = Duration::from_mins(1);
const REST: Duration = Duration::from_secs(30);
/// The pause after the first failed start; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(super) struct Supervisor {
    pub(super) worker_queue: Arc<WorkerQueue>,
    pub(super) launch: Arc<Launch>,
    pub(super) idle: Duration,
    /// Deaths within [`COUNTED`] after which the library is given a rest; it never is with 0.
    most_deaths: usize,
    /// How many in a hundred calls since the first of them must have died.
    least_share: u64,
    /// A worker with open objects is not idle.
    pub(super) handles: Arc<HandleTable>,
    /// The next worker, loaded before it is needed; ended when this is dropped.
    spare: JoinSet<Result<Worker, StartError>>,
    /// When, and how many calls had been answered until then.
    deaths: VecDeque<(Instant, u64)>,
    /// After starts that failed.
    pauses: Backoff,
}

/// Why serving ended.
pub(super) enum End {
    /// Nobody needs the worker now.
    Idle,
    /// It died while the oldest job ran.
    Died(Death),
    /// It ended itself after a fault that was told.
    Unfit,
}

impl Supervisor {
    pub(super) fn new(worker_queue: Arc<WorkerQueue>, launch: Arc<Launch>, settings: &PoolSettings) -> Self {
        Supervisor {
            worker_queue,
            launch,
            idle: settings.idle,
            most_deaths: settings.most_deaths,
            least_share: settings.least_share,
            handles: Arc::clone(&settings.handles),
            spare: JoinSet::new(),
            deaths: VecDeque::new(),
            pauses: Backoff::new(FIRST_PAUSE, LONGEST_PAUSE),
        }
    }

    pub(super) async fn mind(mut self) {
        while !self.worker_queue.is_closed() {
            if !self.worker_queue.is_wanted() {
                // What was submitted since the look has left a permit, so that this returns at once.
                self.worker_queue.wake.notified().await;
                continue;
            }
            match self.worker().await {
                Ok(worker) => self.serve(worker).await,
                Err(error) => self.could_not_start(&error),
            }
        }
    }

    /// The spare, unless there is none, it could not start, or it has died since.
    async fn worker(&mut self) -> Result<Worker, StartError> {
        if let Some(Ok(Ok(mut worker))) = self.spare.join_next().await
            && matches!(worker.group.child.try_wait(), Ok(None))
        {
            return Ok(worker);
        }
        self.launch.start().await
    }

    fn could_not_start(&mut self, error: &StartError) {
        self.launch.processes.failed();
        let reason = format!("The library cannot be loaded: {}", error_chain(error));
        self.worker_queue.rest(&reason.into(), self.pauses.next_pause());
    }

    async fn serve(&mut self, mut worker: Worker) {
        self.pauses.reset();
        // Writability is known only once it was waited for.
        worker.requests.writable().await.ok();
        let answers = Answers::new(Arc::clone(&worker.answers), worker.generation);
        let answers = Arc::new(Mutex::new(answers));
        self.worker_queue.connect(&worker, &answers);
        let end = self.exchange(&mut worker, &answers).await;
        // All this before anybody is told of a death: who is told may call again at once, and must neither write into a
        // pipe that nobody reads nor find an object of the dead worker in the table.
        self.worker_queue.disconnect();
        self.handles.worker_gone(worker.generation);
        match end {
            End::Idle => {
                self.spare = JoinSet::new();
                stop(worker).await;
            }
            End::Unfit => {
                kill_and_reap(worker).await;
                self.count_death();
            }
            End::Died(death) => {
                if !self.worker_queue.blame(death) {
                    let library = &self.launch.hello.plan.library;
                    tracing::warn!(
                        library,
                        "the library ended between calls: its state and its objects are lost"
                    );
                }
                kill_and_reap(worker).await;
                self.count_death();
            }
        }
    }

    fn count_death(&mut self) {
        let (now, answered) = (Instant::now(), self.worker_queue.answered());
        self.launch.processes.failed();
        self.deaths.push_back((now, answered));
        while self.deaths.front().is_some_and(|(death, _)| now - *death > COUNTED) {
            self.deaths.pop_front();
        }
        let times = self.deaths.len();
        let since = self.deaths.front().map_or(0, |(_, before)| answered - before);
        // A library that crashes now and then, and answers most calls, goes on.
        let is_often = times as u64 * 100 >= self.least_share * (times as u64 + since);
        if self.most_deaths > 0 && times >= self.most_deaths && is_often {
            self.deaths.clear();
            let reason = format!("The library died {times} times within {COUNTED:?} and is paused");
            self.worker_queue.rest(&reason.into(), REST);
        }
    }

    async fn exchange(&mut self, worker: &mut Worker, answers: &Mutex<Answers>) -> End {
        let (requests, pipe) = (Arc::clone(&worker.requests), Arc::clone(&worker.answers));
        let worker_queue = Arc::clone(&self.worker_queue);
        let mut next_look = Instant::now() + TICK;
        loop {
            // Each branch may be dropped half-way: what it has read, or not written yet, is kept in the queue or in
            // `answers`.
            tokio::select! {
                _ = pipe.readable() => {
                    let (read, end) = lock(answers).read_frames(&worker_queue);
                    match end {
                        Some(end) => return end,
                        None if read == Read::EndOfPipe => return ended(worker, answers).await,
                        None => {}
                    }
                }
                () = worker_queue.wake.notified() => {
                    if worker_queue.is_closed() {
                        return End::Idle;
                    }
                    // A caller that looks for its own answer may find out that the worker cannot go on.
                    if let Some(end) = lock(answers).end.take() {
                        return end;
                    }
                    worker_queue.flush();
                    // The clock may have been set to the end of the idle time, far beyond the limit of a new call.
                    next_look = next_look.min(Instant::now() + TICK);
                }
                _ = requests.writable(), if worker_queue.has_unsent() => worker_queue.flush(),
                () = sleep_until(next_look) => match self.look(worker.generation) {
                    Ok(next) => next_look = next,
                    Err(end) => return end,
                },
                status = worker.group.child.wait() => {
                    // What it said before it ended is still in the pipe.
                    let mut answers = lock(answers);
                    let told = loop {
                        match answers.read_frames(&worker_queue) {
                            (Read::Some, None) => {}
                            (_, told) => break told,
                        }
                    };
                    return told.unwrap_or_else(|| End::Died(Death::of(status.ok(), answers.crash)));
                }
            }
        }
    }

    /// Looks at the clock; says when to look again.
    fn look(&mut self, generation: u32) -> Result<Instant, End> {
        let clock = self.worker_queue.clock();
        self.keep_spare();
        match clock {
            Clock::Expired(limit) => Err(End::Died(Death::TimedOut(limit))),
            Clock::Running => Ok(Instant::now() + TICK),
            Clock::Idle { .. } if self.may_let_go(generation) => Err(End::Idle),
            Clock::Idle { since } => Ok((since + self.idle).max(Instant::now() + TICK)),
        }
    }

    /// The queue is asked last and decides: a call that came since the look at the clock, or that has just opened an
    /// object, keeps the worker.
    fn may_let_go(&self, generation: u32) -> bool {
        !self.handles.is_holding(generation) && self.worker_queue.disconnect_if_idle(self.idle)
    }

    fn keep_spare(&mut self) {
        if self.spare.is_empty() {
            let launch = Arc::clone(&self.launch);
            self.spare.spawn(async move { launch.start().await });
        }
    }
}

/// The pipe is closed: how did the process end?
async fn ended(worker: &mut Worker, answers: &Mutex<Answers>) -> End {
    let status = timeout(LAST_BREATH, worker.group.child.wait()).await;
    End::Died(Death::of(status.ok().and_then(Result::ok), lock(answers).crash))
}

/// No code of ours panics while it holds the lock.
fn lock(answers: &Mutex<Answers>) -> MutexGuard<'_, Answers> {
    answers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a worker in peace.
async fn stop(mut worker: Worker) {
    let mut bytes = Vec::new();
    // A pipe that is full has no room for STOP; then the worker is killed like any other.
    if RequestFrame::Stop.encode(&mut bytes).is_ok() && worker.requests.try_write(&bytes).is_ok() {
        timeout(LAST_BREATH, worker.group.child.wait()).await.ok();
    }
    kill_and_reap(worker).await;
}

/// Ends a worker and what it left behind, and waits until it is gone.
async fn kill_and_reap(mut worker: Worker) {
    // The whole group, even if the worker itself is gone: the library may have left processes behind.
    worker.group.signal(Signal::KILL);
    if timeout(BURIAL, worker.group.child.wait()).await.is_err() {
        tracing::warn!("a killed worker does not end");
    }
}
