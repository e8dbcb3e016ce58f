//! A call under way whose caller follows it: updates leave as notifications, questions reach the client.

use tokio::sync::mpsc;
use toolmux_core::BoxFuture;
use toolmux_core::progress::{Progress, Question, Update};

use super::exchange::Exchange;
use super::questions::{Binding, put};
use super::suspended::Suspended;
use super::update_notifier::UpdateNotifier;
use crate::mcp::wire::Reply;

/// A call under way, or what else a source is asked.
pub(super) struct RunningExchange {
    work: BoxFuture<'static, Reply>,
    updates: mpsc::Receiver<Update>,
    questions: Option<mpsc::Receiver<Question>>,
    /// What the client calls: a tool, a prompt or a resource, by its name.
    pub(super) target: String,
}

impl RunningExchange {
    /// Begins work that tells and asks by the progress it is given.
    pub(super) fn begin(
        exchange: &Exchange,
        target: &str,
        work: impl FnOnce(Progress) -> BoxFuture<'static, Reply>,
    ) -> Self {
        let (progress, updates, questions) = if exchange.peer.capabilities.can_be_asked() {
            let (progress, updates, questions) = Progress::dialogue();
            (progress, updates, Some(questions))
        } else {
            let (progress, updates) = Progress::channel();
            (progress, updates, None)
        };
        RunningExchange { work: work(progress), updates, questions, target: target.to_owned() }
    }

    /// Follows the call to its end, or to a question that ends the exchange. Dropping the future cancels
    /// the call.
    pub(super) async fn drive(mut self, exchange: &Exchange) -> Reply {
        let mut notifier = UpdateNotifier::new(exchange);
        loop {
            tokio::select! {
                biased;
                Some(update) = self.updates.recv() => notifier.tell(update).await,
                Some(question) = next(&mut self.questions) => {
                    let mut open = Vec::new();
                    let mut next = Some(question);
                    while let Some(question) = next {
                        if let Some(question) = put(question, exchange, Binding::Call).await {
                            open.push((format!("q{}", open.len() + 1), question));
                        }
                        next = self.questions.as_mut().and_then(|questions| questions.try_recv().ok());
                    }
                    if !open.is_empty() {
                        return Ok(Suspended::put(self, open, exchange));
                    }
                }
                reply = &mut self.work => {
                    while let Ok(update) = self.updates.try_recv() {
                        notifier.tell(update).await;
                    }
                    return reply;
                }
            }
        }
    }
}

async fn next(questions: &mut Option<mpsc::Receiver<Question>>) -> Option<Question> {
    match questions {
        Some(questions) => questions.recv().await,
        None => None,
    }
}
