//! The way to one worker: callers write their requests to the pipe themselves, in the order in which they
//! wait for answers. Whoever minds the worker reads the answers and restarts it.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use toolmux_dylib_host::frame::{FrameError, RequestFrame};
use toolmux_dylib_host::hello::Ready;

use super::answers::Answers;
use super::death::Death;
use super::job::{Answered, Job, Rejected};
use super::worker::Worker;

type Answering = oneshot::Sender<Answered>;
type Greeting = Result<Arc<Ready>, Arc<str>>;

pub(super) struct WorkerQueue {
    /// One lock for the queue and the pipe. With two, callers could write A before B and queue B before A; `answer`,
    /// which takes answers in the order of the queue, would take the worker for a liar.
    state: Mutex<State>,
    /// Tells the supervisor to look at the state.
    pub(super) wake: Notify,
    /// The generation of the worker, 0 while there is none.
    generation: AtomicU32,
    most_waiting: usize,
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    waiting: VecDeque<Waiting>,
    asking: Vec<oneshot::Sender<Greeting>>,
    last_id: u32,
    /// Calls that were answered.
    answered: u64,
    /// Since when the oldest job has been running, or nothing has.
    oldest_since: Option<Instant>,
    /// Whether the supervisor's clock is running.
    watched: bool,
    rest: Option<(Instant, Arc<str>)>,
    closed: bool,
}

struct Connection {
    requests: Arc<pipe::Sender>,
    answers: Arc<Mutex<Answers>>,
    ready: Arc<Ready>,
    /// What did not fit into the pipe.
    unsent: Vec<u8>,
}

struct Waiting {
    id: u32,
    job: Job,
    answer: Answering,
}

/// What the supervisor's clock finds.
pub(super) enum Clock {
    /// The oldest job has run too long.
    Expired(Duration),
    Running,
    /// Nothing has been asked for some time.
    Idle {
        since: Instant,
    },
}

impl WorkerQueue {
    pub(super) fn new(most_waiting: usize) -> Self {
        WorkerQueue {
            state: Mutex::default(),
            wake: Notify::new(),
            generation: AtomicU32::new(0),
            most_waiting,
        }
    }

    /// No code of ours panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// How many calls were answered.
    pub(super) fn answered(&self) -> u64 {
        self.lock().answered
    }

    /// What the worker answers, for a caller that waits alone.
    pub(super) fn answers_to_one(&self) -> Option<Arc<Mutex<Answers>>> {
        // Handed out, not locked here: whoever reads answers holds their lock and takes ours for each of them. The other
        // way round, two threads could wait for each other.
        let state = self.lock();
        let alone = state.connection.as_ref().filter(|_| state.waiting.len() <= 1);
        alone.map(|connection| Arc::clone(&connection.answers))
    }

    /// Puts a job in line. Dropping the receiver does not take it out: C cannot be told to stop.
    pub(super) fn submit(&self, job: Job) -> Result<oneshot::Receiver<Answered>, Rejected> {
        let (answer, answered) = oneshot::channel();
        let mut state = self.lock();
        state.admit(self.most_waiting)?;
        state.last_id = state.last_id.wrapping_add(1);
        let id = state.last_id;
        // Written before it is queued: what is too large for a frame is refused without having taken a place.
        if let Some(connection) = &mut state.connection {
            connection.send(id, &job).map_err(Rejected::TooLarge)?;
        }
        let blocked = state.connection.as_ref().is_none_or(|connection| !connection.unsent.is_empty());
        if state.waiting.is_empty() {
            state.oldest_since = Some(Instant::now());
        }
        state.waiting.push_back(Waiting { id, job, answer });
        // The supervisor has to start a worker, to wait until the pipe takes more, or to start its clock, without which a
        // call that hangs would never expire. It is not woken otherwise: that costs as much as a short call.
        let wake = blocked || !state.watched;
        state.watched = true;
        // Woken with the lock held, it would only wait for it.
        drop(state);
        if wake {
            self.wake.notify_one();
        }
        Ok(answered)
    }

    /// What the worker said when it was ready; starts one if there is none.
    pub(super) fn ask(&self) -> Result<oneshot::Receiver<Greeting>, Rejected> {
        let (tell, told) = oneshot::channel();
        let mut state = self.lock();
        state.admit(usize::MAX)?;
        // `connect` answers those who ask under the same lock: nobody asks between it and this, and waits for ever.
        match &state.connection {
            Some(connection) => drop(tell.send(Ok(Arc::clone(&connection.ready)))),
            None => state.asking.push(tell),
        }
        drop(state);
        self.wake.notify_one();
        Ok(told)
    }

    pub(super) fn is_wanted(&self) -> bool {
        let state = self.lock();
        !state.waiting.is_empty() || !state.asking.is_empty()
    }

    /// A worker is there: what waits goes to it.
    pub(super) fn connect(&self, worker: &Worker, answers: &Arc<Mutex<Answers>>) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let mut connection = Connection {
            requests: Arc::clone(&worker.requests),
            answers: Arc::clone(answers),
            ready: Arc::clone(&worker.ready),
            unsent: Vec::new(),
        };
        // Still under the lock: what is submitted meanwhile comes behind these.
        for waiting in &state.waiting {
            // It was encoded before, or will be refused by the worker's limits.
            connection.send(waiting.id, &waiting.job).ok();
        }
        for tell in state.asking.drain(..) {
            tell.send(Ok(Arc::clone(&worker.ready))).ok();
        }
        state.oldest_since = Some(Instant::now());
        state.rest = None;
        state.connection = Some(connection);
        self.generation.store(worker.generation, Ordering::Release);
    }

    pub(super) fn disconnect(&self) {
        self.lock().disconnect(&self.generation);
    }

    /// Lets the worker go if nothing has been asked of it for so long; true when it is let go.
    pub(super) fn disconnect_if_idle(&self, idle: Duration) -> bool {
        let mut state = self.lock();
        // Looked at and let go under one lock. A job submitted in between would be written to a worker that is told to
        // stop, run there, and be sent once more to the next one.
        let is_idle =
            state.waiting.is_empty() && state.oldest_since.is_none_or(|since| since.elapsed() >= idle);
        if is_idle {
            state.disconnect(&self.generation);
        }
        is_idle
    }

    /// Writes what did not fit before.
    pub(super) fn flush(&self) {
        if let Some(connection) = &mut self.lock().connection {
            connection.flush();
        }
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.lock().connection.as_ref().is_some_and(|connection| !connection.unsent.is_empty())
    }

    /// Gives the oldest job its answer by the worker of this generation. Nothing when the answer is for another:
    /// the worker lies.
    pub(super) fn answer(&self, id: u32, answered: Answered, generation: u32) -> Option<()> {
        let mut state = self.lock();
        let oldest = state.waiting.pop_front_if(|oldest| oldest.id == id)?;
        state.oldest_since = Some(Instant::now());
        state.answered += 1;
        drop(state);
        // Before it is sent: the caller may use a handle in the answer at once.
        let answered = oldest.job.settle(answered, generation);
        // Whoever asked may have lost patience.
        oldest.answer.send(answered).ok();
        Some(())
    }

    /// Gives the oldest job the blame. A worker answers each call before it begins the next: only the oldest can have
    /// run, and those behind it go to the next worker. Whether there was one.
    pub(super) fn blame(&self, death: Death) -> bool {
        let oldest = self.lock().waiting.pop_front();
        let is_blamed = oldest.is_some();
        if let Some(oldest) = oldest {
            oldest.answer.send(Answered::Died(death)).ok();
        }
        is_blamed
    }

    pub(super) fn clock(&self) -> Clock {
        let mut state = self.lock();
        let Some(oldest) = state.waiting.front() else {
            // In one step with seeing that nobody waits: who submits right after finds it so, and wakes the supervisor.
            state.watched = false;
            return Clock::Idle { since: state.oldest_since.unwrap_or_else(Instant::now) };
        };
        let limit = oldest.job.limit;
        match state.oldest_since {
            Some(since) if since.elapsed() >= limit => Clock::Expired(limit),
            Some(_) | None => Clock::Running,
        }
    }

    /// Refuses everything for a while.
    pub(super) fn rest(&self, reason: &Arc<str>, rest: Duration) {
        let mut state = self.lock();
        state.rest = Some((Instant::now() + rest, Arc::clone(reason)));
        state.dismiss(reason);
    }

    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        // What was written to a worker may be running, or run before the worker reads that it is to stop.
        if state.connection.is_some() {
            for waiting in state.waiting.drain(..) {
                let death = Death::Broken("was ended because the library is being closed; it may have run");
                waiting.answer.send(Answered::Died(death)).ok();
            }
        }
        state.dismiss(&Arc::from("The library is being closed"));
        drop(state);
        self.wake.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }
}

impl State {
    /// A caller that read the generation just before may still queue a job for it, which then goes to the next worker.
    /// That one refuses the objects: a handle carries the generation of the worker that made it.
    fn disconnect(&mut self, generation: &AtomicU32) {
        generation.store(0, Ordering::Release);
        self.connection = None;
    }

    fn admit(&self, most_waiting: usize) -> Result<(), Rejected> {
        if self.closed {
            return Err(Rejected::Closed);
        }
        if let Some((until, reason)) = &self.rest {
            let rest = until.saturating_duration_since(Instant::now());
            if !rest.is_zero() {
                return Err(Rejected::Resting { reason: Arc::clone(reason), rest });
            }
        }
        if self.waiting.len() >= most_waiting { Err(Rejected::Full) } else { Ok(()) }
    }

    fn dismiss(&mut self, reason: &Arc<str>) {
        for waiting in self.waiting.drain(..) {
            waiting.answer.send(Answered::NotRun(Arc::clone(reason))).ok();
        }
        for tell in self.asking.drain(..) {
            tell.send(Err(Arc::clone(reason))).ok();
        }
    }
}

impl Connection {
    fn send(&mut self, id: u32, job: &Job) -> Result<(), FrameError> {
        // Behind what did not fit before, even if there is room by now: half a frame must not have another inside it.
        let idle = self.unsent.is_empty();
        RequestFrame::Call { id, function: job.function, values: &job.values }.encode(&mut self.unsent)?;
        if idle {
            self.flush();
        }
        Ok(())
    }

    /// A worker that is gone is left to the supervisor, who sees it end: what waits goes to the next one.
    fn flush(&mut self) {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match self.requests.try_write(&self.unsent[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => sent = self.unsent.len(),
            }
        }
        self.unsent.drain(..sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job { function: 0, values: Vec::new(), limit: Duration::from_secs(1), ticket: None }
    }

    #[test]
    fn a_worker_is_not_let_go_while_a_job_waits_for_it() {
        let queue = WorkerQueue::new(1);
        queue.generation.store(7, Ordering::Release);
        let _answered = queue.submit(job()).expect("there is room");
        assert!(!queue.disconnect_if_idle(Duration::ZERO));
        assert_eq!(queue.generation(), 7);
        assert!(queue.answer(1, Answered::NotRun(Arc::from("over")), 7).is_some());
        assert!(queue.disconnect_if_idle(Duration::ZERO));
        assert_eq!(queue.generation(), 0);
    }

    #[test]
    fn a_worker_that_answered_just_now_is_not_idle() {
        let queue = WorkerQueue::new(1);
        let _answered = queue.submit(job()).expect("there is room");
        assert!(queue.answer(1, Answered::NotRun(Arc::from("over")), 7).is_some());
        assert!(!queue.disconnect_if_idle(Duration::from_mins(5)));
    }
}
