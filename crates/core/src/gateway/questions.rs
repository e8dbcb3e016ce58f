//! What tools of tasks that run here ask of whoever follows the task. A question lives as long as the run
//! that asks it: nothing of it is stored, and other servers do not see it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{mpsc, watch};

use super::Gateway;
use crate::json_text::RawJson;
use crate::progress::Question;
use crate::task::{Task, TaskId};

/// How many questions of one task wait at a time; more are refused.
const MOST_OPEN: usize = 64;

/// A question that waits for its answer.
#[derive(Clone, Debug)]
pub struct TaskQuestion {
    /// No other question has it.
    pub number: u64,
    /// Whose words it is in.
    pub protocol: &'static str,
    /// The question.
    pub asked: RawJson,
}

impl Gateway {
    /// What a task asks now, in the order in which it asked.
    pub fn task_questions(&self, task: &Task) -> Vec<TaskQuestion> {
        self.runner.questions.read(|open| {
            let open = open.get(&task.id).into_iter().flatten();
            open.map(|(number, question)| TaskQuestion {
                number: *number,
                protocol: question.protocol,
                asked: question.asked.clone(),
            })
            .collect()
        })
    }

    /// Answers a question of a task, or refuses to with `None`. One that is not open is left alone.
    pub fn task_answer(&self, task: &Task, number: u64, said: Option<RawJson>) {
        let questions = &self.runner.questions;
        let question = questions.read(|open| {
            let open = open.get_mut(&task.id)?;
            let place = open.iter().position(|(known, _)| *known == number)?;
            Some(open.remove(place).1)
        });
        if let (Some(question), Some(said)) = (question, said) {
            question.answer(said);
        }
        questions.tell();
    }

    /// Changes whenever a task that runs here asks something or is answered.
    pub fn task_asked(&self) -> watch::Receiver<u64> {
        self.runner.questions.changes.subscribe()
    }
}

/// Open questions, by task.
#[derive(Default)]
pub(super) struct TaskQuestions {
    open: Mutex<HashMap<TaskId, Vec<(u64, Question)>>>,
    changes: watch::Sender<u64>,
}

impl TaskQuestions {
    /// Keeps what a run asks until the run is over. Dropping the future refuses what is open.
    pub(super) async fn keep(&self, id: &TaskId, questions: Option<mpsc::Receiver<Question>>) {
        let Some(mut questions) = questions else { return };
        let run = Run { all: self, id };
        while let Some(question) = questions.recv().await {
            // Random, because a task that runs again must not ask under an old number.
            let number = uuid::Uuid::new_v4().as_u64_pair().0;
            self.read(|open| {
                let open = open.entry(run.id.clone()).or_default();
                if open.len() < MOST_OPEN {
                    open.push((number, question));
                }
            });
            self.tell();
        }
    }

    fn tell(&self) {
        self.changes.send_modify(|change| *change += 1);
    }

    fn read<T>(&self, read: impl FnOnce(&mut HashMap<TaskId, Vec<(u64, Question)>>) -> T) -> T {
        read(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Run<'a> {
    all: &'a TaskQuestions,
    id: &'a TaskId,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if self.all.read(|open| open.remove(self.id)).is_some() {
            self.all.tell();
        }
    }
}
