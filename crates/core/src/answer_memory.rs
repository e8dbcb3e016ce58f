//! What the answer of a running call takes of the memory for all requests while its source reads it.
//!
//! Answers are read several layers below a call, by code that knows neither the call nor the gateway. So the count
//! belongs to the task that runs the call.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::memory_budget::{COUNTED, MemoryBudget, Reservation};

tokio::task_local! {
    static ANSWER: AnswerMemory;
}

/// There is no memory for an answer.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("requests and answers in flight take all the memory they may (`limits.memory`)")]
pub struct NoMemory;

struct AnswerMemory {
    budget: Arc<MemoryBudget>,
    held: RefCell<Option<Reservation>>,
    refused: Cell<bool>,
}

/// Runs a call whose answer counts against the budget until the call has ended.
pub(crate) fn counted<F: Future>(budget: &Arc<MemoryBudget>, call: F) -> impl Future<Output = F::Output> {
    let budget = Arc::clone(budget);
    ANSWER.scope(AnswerMemory { budget, held: RefCell::new(None), refused: Cell::new(false) }, call)
}

/// Says how much of an answer has been read so far. When there is no memory for it, whoever reads drops it and
/// fails; the caller is told why. A small answer and one that belongs to no call are not counted.
pub fn answer_takes(bytes: usize) -> Result<(), NoMemory> {
    if bytes < COUNTED {
        return Ok(());
    }
    ANSWER.try_with(|answer| answer.takes(bytes)).unwrap_or(Ok(()))
}

/// What counts the answer of the call that this task runs, for a task that reads the answers of many.
pub fn budget() -> Option<Arc<MemoryBudget>> {
    ANSWER.try_with(|answer| Arc::clone(&answer.budget)).ok()
}

/// Takes over what another task counted while it read the answer of this call; or that it had no memory for it.
pub fn answer_took(held: Result<Option<Reservation>, NoMemory>) {
    let take = |answer: &AnswerMemory| match held {
        Ok(Some(held)) => *answer.held.borrow_mut() = Some(held),
        Ok(None) => {}
        Err(NoMemory) => answer.refused.set(true),
    };
    ANSWER.try_with(take).ok();
}

/// True when there was no memory for the answer of the call that this task runs.
pub(crate) fn was_dropped() -> bool {
    ANSWER.try_with(|answer| answer.refused.get()).unwrap_or(false)
}

impl AnswerMemory {
    fn takes(&self, bytes: usize) -> Result<(), NoMemory> {
        let mut held = self.held.borrow_mut();
        let held = held.get_or_insert_with(|| self.budget.hold(0));
        held.grow(bytes.saturating_sub(held.bytes())).map_err(|_| {
            self.refused.set(true);
            NoMemory
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_counts_until_its_call_has_ended() {
        let budget = MemoryBudget::new(Some(4 * COUNTED));
        let call = async {
            answer_takes(COUNTED - 1).expect("small");
            assert_eq!(budget.used(), 0);
            answer_takes(COUNTED).expect("it fits");
            answer_takes(3 * COUNTED).expect("it fits");
            assert_eq!(budget.used(), 3 * COUNTED);
            assert!(!was_dropped());
            assert!(answer_takes(5 * COUNTED).is_err());
            assert!(was_dropped());
        };
        counted(&budget, call).await;
        assert_eq!(budget.used(), 0);
        answer_takes(5 * COUNTED).expect("it belongs to no call");
    }
}
