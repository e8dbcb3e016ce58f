//! How much memory bodies and answers in flight may take, all together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::message::Message;
use crate::refusal::Refusal;

/// When a refused caller should try again.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Bodies and answers from this size on are counted. How many smaller ones there are is bounded by the number of
/// connections and calls.
pub const COUNTED: usize = 64 << 10;

/// One counter for the process. It orders nothing else, so that every access is relaxed.
#[derive(Debug)]
pub struct MemoryBudget {
    used: AtomicUsize,
    most: AtomicUsize,
}

/// Bytes of the budget, given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl MemoryBudget {
    /// A budget of so many bytes; without a number it has no end.
    pub fn new(most: Option<usize>) -> Arc<Self> {
        let most = AtomicUsize::new(most.unwrap_or(usize::MAX));
        Arc::new(MemoryBudget { used: AtomicUsize::new(0), most })
    }

    /// Changes the budget; what is in flight stays.
    pub fn resize(&self, most: Option<usize>) {
        self.most.store(most.unwrap_or(usize::MAX), Ordering::Relaxed);
    }

    /// How many bytes there are in all.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// How many bytes are in flight.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Refuses while `more` bytes do not fit in addition to what is in flight.
    pub fn check(&self, more: usize) -> Result<(), Refusal> {
        if self.used().saturating_add(more) <= self.most() { Ok(()) } else { Err(self.busy()) }
    }

    /// Bytes for something that is going to be received; grown as it arrives.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Reservation, Refusal> {
        let mut reservation = self.hold(0);
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// Bytes of something that is there already, whether or not they fit: what comes next is refused instead.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Reservation {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Reservation { budget: Arc::clone(self), bytes }
    }

    fn busy(&self) -> Refusal {
        let developer = format!("{} of limits.memory = {} bytes are in flight", self.used(), self.most());
        let text = "The server is busy: requests and answers in flight take all the memory they may";
        Refusal::Busy { message: Message::public(text).developer(developer), retry_after: RETRY_AFTER }
    }
}

impl Reservation {
    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes more bytes, or none when they do not fit.
    pub fn grow(&mut self, more: usize) -> Result<(), Refusal> {
        let budget = &self.budget;
        // Added before it is compared: two that grow at once may both be refused where one would have fitted,
        // but both together never take more than there is.
        let before = budget.used.fetch_add(more, Ordering::Relaxed);
        if before.saturating_add(more) > budget.most() {
            budget.used.fetch_sub(more, Ordering::Relaxed);
            return Err(budget.busy());
        }
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_until_something_leaves() {
        let budget = MemoryBudget::new(Some(100));
        let mut first = budget.reserve(60).expect("it fits");
        assert_eq!(budget.reserve(50).expect_err("full").name(), "busy");
        assert!(first.grow(50).is_err());
        first.grow(40).expect("it fits");
        assert_eq!((budget.used(), first.bytes()), (100, 100));
        drop(first);
        assert_eq!(budget.used(), 0);
        assert!(budget.reserve(100).is_ok());
    }

    #[test]
    fn what_is_there_already_counts_over_the_limit() {
        let budget = MemoryBudget::new(Some(100));
        let held = budget.hold(150);
        assert!(budget.check(0).is_err());
        drop(held);
        assert!(budget.check(100).is_ok());
    }

    #[test]
    fn without_a_number_everything_fits() {
        let budget = MemoryBudget::new(None);
        assert!(budget.reserve(usize::MAX / 2).is_ok());
    }
}
