//! Calls whose callers can be asked, for questions on a stream that do not say which call they belong to.

use std::collections::HashMap;
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
pub(super) struct Askable(Mutex<HashMap<u64, mpsc::Sender<Question>>>);

/// A call that can be asked, until this is dropped.
pub(super) struct Joined<'a> {
    askable: &'a Askable,
    id: u64,
    pub(super) questions: mpsc::Receiver<Question>,
}

impl Askable {
    pub(super) fn join(&self, id: u64) -> Joined<'_> {
        let (sender, questions) = mpsc::channel(QUEUE);
        self.calls(|calls| calls.insert(id, sender));
        Joined { askable: self, id, questions }
    }

    /// Hands a question to the only call there is; with several nobody is asked what may be meant for another.
    pub(super) fn hand(&self, question: Question) -> Result<(), Question> {
        self.calls(|calls| match (calls.values().next(), calls.len()) {
            (Some(only), 1) => only.try_send(question).map_err(mpsc::error::TrySendError::into_inner),
            _ => Err(question),
        })
    }

    fn calls<T>(&self, read: impl FnOnce(&mut HashMap<u64, mpsc::Sender<Question>>) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        self.askable.calls(|calls| calls.remove(&self.id));
    }
}
