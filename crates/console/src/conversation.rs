//! Questions of tools that somebody tries in the console, until they are answered there.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::progress::Question;

/// How many questions are open at a time, of all who try tools.
const MOST_OPEN: usize = 256;

/// An answer in the form in which a question takes it: as the result of what was asked.
pub(crate) fn as_result(answer: &RawValue) -> RawJson {
    raw_of(&serde_json::json!({ "result": answer }))
}

/// The open questions, by random ids.
#[derive(Debug, Default)]
pub(crate) struct Conversations(Mutex<HashMap<String, Question>>);

impl Conversations {
    /// Opens a question; its id. One too many is refused, as dropping it does.
    pub(crate) fn open(&self, question: Question) -> Option<String> {
        let id = uuid::Uuid::new_v4().to_string();
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST_OPEN {
            return None;
        }
        open.insert(id.clone(), question);
        Some(id)
    }

    /// Answers a question, or refuses to with `None`; false when it is not open.
    pub(crate) fn answer(&self, id: &str, answer: Option<RawJson>) -> bool {
        let question = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        match (question, answer) {
            (None, _) => false,
            (Some(question), Some(answer)) => {
                question.answer(as_result(&answer));
                true
            }
            (Some(_), None) => true,
        }
    }

    /// Takes questions back whose tool is no longer tried.
    pub(crate) fn forget(&self, ids: &[String]) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            open.remove(id);
        }
    }
}
