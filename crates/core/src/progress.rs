//! What a running tool tells before it ends.

use tokio::sync::{mpsc, oneshot};

use crate::json_text::RawJson;

/// What names and punctuation of an update take, in whatever form it is kept.
const OVERHEAD: usize = 32;
/// How many updates wait for a slow follower before the tool waits too.
const QUEUE: usize = 64;

/// One thing a tool tells while it runs.
#[derive(Clone, Debug)]
pub enum Update {
    /// How far it is.
    Progress {
        /// Done so far; grows.
        done: f64,
        /// Of how much, if known.
        total: Option<f64>,
        /// The progress in words.
        message: Option<String>,
    },
    /// A part of its result.
    Data(RawJson),
    /// A line for the log of whoever follows.
    Log {
        /// As in syslog: `debug`, `info`, `warning`, `error` …
        level: String,
        /// Any JSON value.
        data: RawJson,
    },
}

impl Update {
    /// How many bytes it takes to keep it, nearly.
    pub fn bytes(&self) -> usize {
        match self {
            Update::Progress { message, .. } => OVERHEAD + message.as_ref().map_or(0, String::len),
            Update::Data(data) => OVERHEAD + data.get().len(),
            Update::Log { level, data } => OVERHEAD + level.len() + data.get().len(),
        }
    }
}

/// What a running tool asks of whoever called it, in the words of a protocol that both may speak.
#[derive(Debug)]
pub struct Question {
    /// Whose words they are.
    pub protocol: &'static str,
    /// The question in the words of its protocol.
    pub asked: RawJson,
    answer: oneshot::Sender<RawJson>,
}

impl Question {
    /// Answers. A tool that no longer waits does not hear it; a question dropped is a question refused.
    pub fn answer(self, said: RawJson) {
        self.answer.send(said).ok();
    }
}

/// Where a source sends updates and asks questions. Sending to nobody costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    updates: Option<mpsc::Sender<Update>>,
    questions: Option<mpsc::Sender<Question>>,
}

impl Progress {
    /// Progress that nobody follows.
    pub fn unheard() -> Self {
        Progress::default()
    }

    /// A pair of ends. The receiver ends when every clone of the sender is gone.
    pub fn channel() -> (Self, mpsc::Receiver<Update>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Progress { updates: Some(sender), questions: None }, receiver)
    }

    /// The same for a caller who answers questions too.
    pub fn dialogue() -> (Self, mpsc::Receiver<Update>, mpsc::Receiver<Question>) {
        let (progress, updates) = Progress::channel();
        let (sender, questions) = mpsc::channel(QUEUE);
        (Progress { questions: Some(sender), ..progress }, updates, questions)
    }

    /// True when somebody follows, for tools whose updates are costly to make.
    pub fn is_heard(&self) -> bool {
        self.updates.is_some()
    }

    /// True when the caller can be asked.
    pub fn is_answered(&self) -> bool {
        self.questions.is_some()
    }

    /// Sends an update; waits when the follower is slow, returns at once when there is none.
    pub async fn send(&self, update: Update) {
        if let Some(sender) = &self.updates {
            // A follower that left does not concern the tool.
            sender.send(update).await.ok();
        }
    }

    /// Asks the caller and waits for the answer; `None` when nobody answers. Dropping the future takes
    /// the question back.
    pub async fn ask(&self, protocol: &'static str, asked: RawJson) -> Option<RawJson> {
        let (answer, answered) = oneshot::channel();
        self.questions.as_ref()?.send(Question { protocol, asked, answer }).await.ok()?;
        answered.await.ok()
    }
}
