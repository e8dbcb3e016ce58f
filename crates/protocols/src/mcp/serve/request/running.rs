//! A request whose work has begun: what it tells and asks until it is answered. It knows nothing of the request that
//! began it, because the answer may go to a later one.

use tokio::sync::mpsc;
use toolmux_core::BoxFuture;
use toolmux_core::progress::{Progress, Question, Update};

use crate::mcp::wire::{Capabilities, Reply};

/// A call under way, or what else a source is asked. Dropping it cancels the work.
pub(in crate::mcp) struct RunningCall {
    work: BoxFuture<'static, Reply>,
    updates: mpsc::Receiver<Update>,
    questions: Option<mpsc::Receiver<Question>>,
    /// What the client calls: a tool, a prompt or a resource, by its name.
    pub(in crate::mcp) target: Box<str>,
}

/// What comes next of a call.
pub(in crate::mcp) enum Step {
    Update(Update),
    Question(Question),
    Ended(Reply),
}

impl RunningCall {
    /// Begins work that tells and asks by the progress it is given. Nobody is asked who declared no way to answer.
    pub(in crate::mcp) fn begin(
        capabilities: &Capabilities,
        target: &str,
        work: impl FnOnce(Progress) -> BoxFuture<'static, Reply>,
    ) -> Self {
        let (progress, updates, questions) = if capabilities.can_be_asked() {
            let (progress, updates, questions) = Progress::dialogue();
            (progress, updates, Some(questions))
        } else {
            let (progress, updates) = Progress::channel();
            (progress, updates, None)
        };
        RunningCall { work: work(progress), updates, questions, target: target.into() }
    }

    /// Waits for what comes next. Updates come first, so that none is told after a question or an answer that it
    /// preceded. Dropping the future loses nothing. Must not be called again after the end.
    pub(in crate::mcp) async fn next(&mut self) -> Step {
        tokio::select! {
            biased;
            Some(update) = self.updates.recv() => Step::Update(update),
            Some(question) = next(&mut self.questions) => Step::Question(question),
            reply = &mut self.work => Step::Ended(reply),
        }
    }

    /// An update that is there already.
    pub(in crate::mcp) fn try_update(&mut self) -> Option<Update> {
        self.updates.try_recv().ok()
    }

    /// A question that is there already.
    pub(in crate::mcp) fn try_question(&mut self) -> Option<Question> {
        self.questions.as_mut().and_then(|questions| questions.try_recv().ok())
    }
}

async fn next(questions: &mut Option<mpsc::Receiver<Question>>) -> Option<Question> {
    match questions {
        Some(questions) => questions.recv().await,
        None => None,
    }
}

/// A call that waits for its client's answers, with its open questions by the keys given to the client.
pub(in crate::mcp) struct SuspendedCall {
    pub(in crate::mcp) running: RunningCall,
    pub(in crate::mcp) questions: Vec<(String, Question)>,
    /// What the call holds while it waits, nearly.
    pub(in crate::mcp) bytes: usize,
}
