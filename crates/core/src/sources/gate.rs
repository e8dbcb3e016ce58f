//! How many calls of one tool run at a time, how many wait, and whose turn is next.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::fair_queue::{FairQueue, Joined};
use crate::message::Message;
use crate::refusal::Refusal;

/// When a refused caller should try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Set in [`Gate::state`] while somebody waits.
const WAITING: usize = 1;
/// One free turn in [`Gate::state`].
const TURN: usize = 2;

/// A bounded number of turns and a bounded queue before them, which is fair between callers.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Free turns, and whether somebody waits, in one word: whoever gives a turn back must not miss somebody
    /// who begins to wait at that moment. While `WAITING` is set no turn is free: turns are handed over. The
    /// bit changes only under the lock of `queue`.
    state: AtomicUsize,
    queue: Mutex<FairQueue<oneshot::Sender<Granted>>>,
    guarded: &'static str,
    concurrency: usize,
    most_waiting: usize,
}

/// How many calls run, and how many wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GateLoad {
    pub(crate) running: usize,
    pub(crate) waiting: usize,
}

/// What somebody who waits is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Granted {
    /// The turn is theirs to give back.
    YourTurn,
    /// Another caller has their place.
    Displaced,
}

impl Gate {
    /// `guarded` is what callers are told is busy: `tool` or `source`.
    pub(crate) fn new(guarded: &'static str, concurrency: usize, queue: usize) -> Self {
        let turns = concurrency.clamp(1, usize::MAX / TURN);
        Gate {
            state: AtomicUsize::new(turns * TURN),
            queue: Mutex::default(),
            guarded,
            concurrency,
            most_waiting: queue,
        }
    }

    /// How many run at a time, and how many wait.
    pub(crate) fn limits(&self) -> (usize, usize) {
        (self.concurrency, self.most_waiting)
    }

    pub(crate) fn is_of(&self, concurrency: usize, queue: usize) -> bool {
        (self.concurrency, self.most_waiting) == (concurrency, queue)
    }

    /// How many run and how many wait now.
    pub(crate) fn load(&self) -> GateLoad {
        let state = self.state.load(Ordering::Relaxed);
        match state & WAITING {
            0 => GateLoad { running: self.concurrency.saturating_sub(state / TURN), waiting: 0 },
            _ => GateLoad { running: self.concurrency, waiting: self.lock().len() },
        }
    }

    /// A turn, at once or after waiting; while several callers wait, they get turns one after the other.
    /// Dropping the future leaves the queue.
    pub(crate) async fn enter<'a>(
        &'a self,
        caller: &Arc<str>,
        deadline: Instant,
    ) -> Result<Turn<'a>, Refusal> {
        match self.free_turn() {
            Some(turn) => Ok(turn),
            // Rare, so it is kept out of the future of every call.
            None => Box::pin(self.wait(caller, deadline)).await,
        }
    }

    fn free_turn(&self) -> Option<Turn<'_>> {
        // A state of one turn and more has no `WAITING`.
        let take = |state: usize| state.checked_sub(TURN);
        let taken = self.state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, take);
        taken.is_ok().then(|| Turn(self))
    }

    async fn wait<'a>(&'a self, caller: &Arc<str>, deadline: Instant) -> Result<Turn<'a>, Refusal> {
        let mut place = match self.join(caller) {
            Ok(place) => place,
            Err(Some(turn)) => return Ok(turn),
            Err(None) => {
                return Err(self.busy(&format!("the queue of this {} is full", self.guarded)));
            }
        };
        match timeout_at(deadline, &mut place.told).await {
            Ok(Ok(Granted::YourTurn)) => Ok(Turn(self)),
            Ok(Ok(Granted::Displaced)) => {
                let guarded = self.guarded;
                Err(self.busy(&format!("your share of the queue of this {guarded} is used up")))
            }
            // The gate outlives its queue, so that nobody is forgotten: this is the time limit.
            Ok(Err(_)) | Err(_) => {
                Err(self.busy("the timeout of the call passed while it waited in the queue"))
            }
        }
    }

    /// A place in the queue; or a turn that was given back meanwhile, or nothing when the queue is full.
    fn join<'a>(&'a self, caller: &Arc<str>) -> Result<QueueEntry<'a>, Option<Turn<'a>>> {
        let (tell, told) = oneshot::channel();
        let mut queue = self.lock();
        // From here on turns are handed over under the lock, which we hold: either this takes a turn that was
        // given back before, or whoever gives one back later finds us in the queue.
        let wait = |state: usize| if state >= TURN { state.checked_sub(TURN) } else { Some(WAITING) };
        let before = self.state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, wait);
        if before.is_ok_and(|state| state >= TURN) {
            return Err(Some(Turn(self)));
        }
        let id = match queue.join(caller, tell, self.most_waiting) {
            Joined::Waits(id) => id,
            Joined::Displaced(id, other) => {
                other.send(Granted::Displaced).ok();
                id
            }
            Joined::Full => {
                self.unmark(&queue);
                return Err(None);
            }
        };
        Ok(QueueEntry { gate: self, caller: Arc::clone(caller), id, told })
    }

    /// Gives a turn back: to whoever is next, else to whoever comes.
    fn release(&self) {
        let free = |state: usize| (state & WAITING == 0).then_some(state + TURN);
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, free).is_ok() {
            return;
        }
        let mut queue = self.lock();
        while let Some(next) = queue.next() {
            // Fails for nobody who still has a place; whoever has none is passed over.
            if next.send(Granted::YourTurn).is_ok() {
                self.unmark(&queue);
                return;
            }
        }
        // Whoever waited has left before we had the lock. Nobody can begin to wait until it is given back, so
        // that the turn is free as soon as it is added.
        self.unmark(&queue);
        self.state.fetch_add(TURN, Ordering::AcqRel);
    }

    /// Takes the mark away once nobody waits. The guard proves that the lock is held.
    fn unmark(&self, queue: &MutexGuard<'_, FairQueue<oneshot::Sender<Granted>>>) {
        if queue.is_empty() {
            self.state.fetch_and(!WAITING, Ordering::AcqRel);
        }
    }

    fn lock(&self) -> MutexGuard<'_, FairQueue<oneshot::Sender<Granted>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn busy(&self, why: &str) -> Refusal {
        let developer = format!("concurrency = {}, queue = {}", self.concurrency, self.most_waiting);
        Refusal::Busy {
            message: Message::public(format!("The {} is busy: {why}", self.guarded)).developer(developer),
            retry_after: RETRY_AFTER,
        }
    }
}

/// A turn, given back when dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Gate);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A place in the queue, left when dropped.
struct QueueEntry<'a> {
    gate: &'a Gate,
    caller: Arc<str>,
    id: u64,
    told: oneshot::Receiver<Granted>,
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        let mut queue = self.gate.lock();
        if queue.leave(&self.caller, self.id).is_some() {
            self.gate.unmark(&queue);
            return;
        }
        drop(queue);
        // Out of the queue already. A turn that was handed over and never taken, because the future was dropped
        // or the time was over at that moment, goes on to the next. Whoever took it has emptied the channel.
        if self.told.try_recv() == Ok(Granted::YourTurn) {
            self.gate.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> Arc<str> {
        Arc::from(name)
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_mins(1)
    }

    #[tokio::test]
    async fn a_waiting_call_that_is_dropped_or_late_loses_no_turn() {
        let (gate, a) = (Gate::new("tool", 1, 8), caller("a"));
        let turn = gate.enter(&a, later()).await.expect("a turn");
        assert!(gate.enter(&a, Instant::now()).await.is_err(), "the time limit");
        let mut dropped = Box::pin(gate.enter(&a, later()));
        assert!(futures_util::poll!(&mut dropped).is_pending());
        // Handed over, and never taken.
        drop(turn);
        drop(dropped);
        drop(gate.enter(&a, later()).await.expect("a turn"));
        assert_eq!(gate.state.load(Ordering::Relaxed), TURN);
    }

    #[tokio::test]
    async fn a_full_queue_without_waiting_leaves_no_mark() {
        let (gate, a) = (Gate::new("tool", 1, 0), caller("a"));
        let turn = gate.enter(&a, later()).await.expect("a turn");
        assert!(gate.enter(&a, later()).await.is_err());
        drop(turn);
        assert_eq!(gate.state.load(Ordering::Relaxed), TURN);
    }

    /// Half of the callers wait as long as it takes, the others give up at any moment: whoever waits must get
    /// every turn, which one lost wake-up would end.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn callers_that_give_up_cost_nobody_a_turn() {
        const ROUNDS: u64 = 200;
        let gate = Arc::new(Gate::new("tool", 3, 64));
        let callers = (0..64u64).map(|number| {
            let gate = Arc::clone(&gate);
            async move {
                let caller = caller(&format!("caller {}", number % 5));
                let mut missed = 0;
                for round in 0..ROUNDS {
                    let hasty = Instant::now() + Duration::from_micros((number * 7 + round * 13) % 90);
                    let deadline = if number % 2 == 0 { later() } else { hasty };
                    match gate.enter(&caller, deadline).await {
                        Ok(_turn) => tokio::task::yield_now().await,
                        Err(_) => missed += 1,
                    }
                }
                if number % 2 == 0 { missed } else { 0 }
            }
        });
        let all: Vec<_> = callers.map(tokio::spawn).collect();
        let missed: Vec<u32> = futures_util::future::join_all(all).await.into_iter().flatten().collect();
        assert_eq!(missed, [0; 64]);
        assert_eq!(gate.state.load(Ordering::Relaxed), 3 * TURN);
        assert!(gate.lock().is_empty());
    }
}
