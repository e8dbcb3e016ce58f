//! Calls whose callers can be asked, for questions on a stream that do not say which call they belong to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc;
use toolmux_core::json_text::RawJson;

/// How many questions wait for one caller.
const QUEUE: usize = 16;

#[derive(Debug)]
pub(super) struct Question {
    pub(super) id: RawJson,
    pub(super) method: String,
    pub(super) params: Option<RawJson>,
}

#[derive(Debug, Default)]
pub(super) struct Askable {
    /// Requests of callers that wait for an answer, whether or not they can be asked.
    in_flight: AtomicUsize,
    calls: Mutex<HashMap<u64, mpsc::Sender<Question>>>,
}

/// A request of a caller that waits for its answer, until this is dropped.
pub(super) struct InFlight<'a>(&'a AtomicUsize);

/// A call that can be asked, until this is dropped.
pub(super) struct Joined<'a> {
    askable: &'a Askable,
    id: u64,
    pub(super) questions: mpsc::Receiver<Question>,
}

impl Askable {
    pub(super) fn enter(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(&self.in_flight)
    }

    pub(super) fn join(&self, id: u64) -> Joined<'_> {
        let (sender, questions) = mpsc::channel(QUEUE);
        self.calls(|calls| calls.insert(id, sender));
        Joined { askable: self, id, questions }
    }

    /// Hands a question to the only request in flight, if its caller can be asked. With several nobody is asked: the
    /// question may belong to a caller that cannot be, and an answer of another would be taken for its own.
    pub(super) fn hand(&self, question: Question) -> Result<(), Question> {
        if self.in_flight.load(Ordering::Relaxed) != 1 {
            return Err(question);
        }
        self.calls(|calls| match (calls.values().next(), calls.len()) {
            (Some(only), 1) => only.try_send(question).map_err(mpsc::error::TrySendError::into_inner),
            _ => Err(question),
        })
    }

    fn calls<T>(&self, read: impl FnOnce(&mut HashMap<u64, mpsc::Sender<Question>>) -> T) -> T {
        read(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        self.askable.calls(|calls| calls.remove(&self.id));
    }
}

#[cfg(test)]
mod tests {
    use toolmux_core::json_text::raw_of;

    use super::*;

    #[test]
    fn a_question_of_a_call_that_cannot_be_asked_does_not_reach_another_caller() {
        let question =
            || Question { id: raw_of(&1.into()), method: "elicitation/create".into(), params: None };
        let askable = Askable::default();
        let _able = askable.enter();
        let mut joined = askable.join(1);
        assert!(askable.hand(question()).is_ok() && joined.questions.try_recv().is_ok());
        let unable = askable.enter();
        assert!(askable.hand(question()).is_err() && joined.questions.try_recv().is_err());
        drop(unable);
        assert!(askable.hand(question()).is_ok());
    }
}
