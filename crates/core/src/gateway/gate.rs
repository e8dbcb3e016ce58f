//! How many calls of one tool run at a time, and how many wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use crate::message::Message;
use crate::refusal::Refusal;

/// When a refused caller should try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A bounded number of turns and a bounded queue before them.
#[derive(Debug)]
pub struct Gate {
    turns: Semaphore,
    waiting: AtomicUsize,
    concurrency: usize,
    queue: usize,
}

impl Gate {
    pub(crate) fn new(concurrency: usize, queue: usize) -> Self {
        let turns = Semaphore::new(concurrency.clamp(1, Semaphore::MAX_PERMITS));
        Gate { turns, waiting: AtomicUsize::new(0), concurrency, queue }
    }

    pub(crate) fn is_of(&self, concurrency: usize, queue: usize) -> bool {
        (self.concurrency, self.queue) == (concurrency, queue)
    }

    /// A turn, at once or after waiting. Dropping the future leaves the queue.
    pub(super) async fn enter(&self, deadline: Instant) -> Result<SemaphorePermit<'_>, Refusal> {
        if let Ok(turn) = self.turns.try_acquire() {
            return Ok(turn);
        }
        let place = Place::take(self).ok_or_else(|| self.busy("too many calls of this tool wait already"))?;
        let turn = timeout_at(deadline, self.turns.acquire()).await;
        drop(place);
        match turn {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(self.busy("no turn came within the time limit of the call")),
        }
    }

    fn busy(&self, why: &str) -> Refusal {
        let developer = format!("concurrency = {}, queue = {}", self.concurrency, self.queue);
        Refusal::Busy {
            message: Message::public(format!("The tool is busy: {why}")).developer(developer),
            retry_after: RETRY_AFTER,
        }
    }
}

/// A place in the queue, given back when dropped.
struct Place<'a>(&'a Gate);

impl<'a> Place<'a> {
    fn take(gate: &'a Gate) -> Option<Self> {
        let taken = gate.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Place(gate);
        (taken < gate.queue).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
