//! A call under way whose caller follows it: updates leave as notifications, questions reach the client.

use tokio::sync::mpsc;
use toolmux_core::BoxFuture;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::{Question, Update};
use toolmux_core::refusal::Refusal;

use super::asking::{Binding, put};
use super::encode::{self, Structure};
use super::exchange::Exchange;
use super::suspended::Suspended;
use super::teller::Teller;
use crate::mcp::wire::Reply;

/// A call under way.
pub(super) struct Running {
    pub(super) call: BoxFuture<'static, Result<Outcome, Refusal>>,
    pub(super) updates: mpsc::Receiver<Update>,
    pub(super) questions: Option<mpsc::Receiver<Question>>,
    pub(super) structure: Structure,
    /// As the client names it.
    pub(super) tool: String,
}

impl Running {
    /// Follows the call to its end, or to a question that ends the exchange. Dropping the future cancels
    /// the call.
    pub(super) async fn drive(mut self, exchange: &Exchange) -> Reply {
        let mut teller = Teller::new(exchange);
        loop {
            tokio::select! {
                biased;
                Some(update) = self.updates.recv() => teller.tell(update).await,
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
                answer = &mut self.call => {
                    while let Ok(update) = self.updates.try_recv() {
                        teller.tell(update).await;
                    }
                    let peer = &exchange.peer;
                    return encode::answer(answer, self.structure, peer.revision, &peer.capabilities);
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
