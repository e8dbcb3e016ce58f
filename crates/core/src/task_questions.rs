//! What tools of tasks that run here ask of whoever follows the task. A question lives as long as the run
//! that asks it: nothing of it is stored, and other servers do not see it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{mpsc, watch};

use crate::json_text::RawJson;
use crate::progress::Question;
use crate::task::TaskId;

/// How many questions of one task wait at a time; more are refused.
const MOST_OPEN: usize = 64;

/// A question that waits for its answer.
#[derive(Clone, Debug)]
pub struct TaskQuestion {
    /// No other question has it.
    pub number: u64,
    /// Whose words it is in.
    pub protocol: &'static str,
    /// The question in the words of its protocol.
    pub asked: RawJson,
}

/// Open questions, by task.
#[derive(Default)]
pub(crate) struct TaskQuestions {
    open: Mutex<HashMap<TaskId, Vec<(u64, Question)>>>,
    changes: watch::Sender<u64>,
}

impl TaskQuestions {
    /// What a task asks now, in the order in which it asked.
    pub(crate) fn of(&self, id: &TaskId) -> Vec<TaskQuestion> {
        self.open(|open| {
            let open = open.get(id).into_iter().flatten();
            open.map(|(number, question)| TaskQuestion {
                number: *number,
                protocol: question.protocol,
                asked: question.asked.clone(),
            })
            .collect()
        })
    }

    /// Answers a question, or refuses to with `None`. One that is not open is left alone.
    pub(crate) fn answer(&self, id: &TaskId, number: u64, answer: Option<RawJson>) {
        // Removed under the lock: of two followers who answer at once, one is heard.
        let question = self.open(|open| {
            let open = open.get_mut(id)?;
            let place = open.iter().position(|(known, _)| *known == number)?;
            Some(open.remove(place).1)
        });
        // Dropping a question refuses it.
        if let (Some(question), Some(answer)) = (question, answer) {
            question.answer(answer);
        }
        self.notify();
    }

    /// Changes whenever a task asks something or is answered.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Keeps what a run asks until the run is over. Dropping the future refuses what is open.
    pub(crate) async fn keep(&self, id: &TaskId, questions: Option<mpsc::Receiver<Question>>) {
        let Some(mut questions) = questions else { return };
        let run = AskingRun { all: self, id };
        while let Some(question) = questions.recv().await {
            // Random, because a task that runs again must not ask under an old number.
            let number = uuid::Uuid::new_v4().as_u64_pair().0;
            self.open(|open| {
                let open = open.entry(run.id.clone()).or_default();
                if open.len() < MOST_OPEN {
                    open.push((number, question));
                }
            });
            self.notify();
        }
    }

    fn notify(&self) {
        self.changes.send_modify(|change| *change += 1);
    }

    fn open<T>(&self, read: impl FnOnce(&mut HashMap<TaskId, Vec<(u64, Question)>>) -> T) -> T {
        read(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A run whose tool may ask. Its questions go with it, also when it is cancelled: an answer to a run that is over would
/// reach nobody.
struct AskingRun<'a> {
    all: &'a TaskQuestions,
    id: &'a TaskId,
}

impl Drop for AskingRun<'_> {
    fn drop(&mut self) {
        if self.all.open(|open| open.remove(self.id)).is_some() {
            self.all.notify();
        }
    }
}
