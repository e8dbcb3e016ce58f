//! A call under way whose caller follows it: updates leave as notifications, questions reach the client.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use toolmux_core::BoxFuture;
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::{Question, Update};
use toolmux_core::refusal::Refusal;

use super::encode::{self, Structure};
use super::exchange::Exchange;
use super::suspended::Suspended;
use crate::jsonrpc;
use crate::mcp::MCP;
use crate::mcp::wire::Reply;

/// From the least to the most severe.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

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
                        if let Some(question) = put(question, exchange).await {
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

/// Puts a question to a legacy client; gives back one that has to wait for a modern client's next request.
/// What the client cannot answer is dropped, which the tool hears as a refusal.
async fn put(question: Question, exchange: &Exchange) -> Option<Question> {
    #[derive(Deserialize)]
    struct Asked<'a> {
        method: String,
        #[serde(borrow, default)]
        params: Option<&'a RawValue>,
    }
    let asked = question.asked.clone();
    let asked: Asked<'_> = serde_json::from_str(asked.get()).ok().filter(|_| question.protocol == MCP)?;
    if !exchange.peer.capabilities.answers(&asked.method) {
        return None;
    }
    if exchange.peer.revision.is_modern() {
        return Some(question);
    }
    let session = exchange.peer.session.as_ref().filter(|_| exchange.out.is_open())?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    exchange.desk.asked(session, &id, question);
    let id = to_raw(&id).expect("a text is writable");
    exchange.out.send(jsonrpc::ask(Some(&id), &asked.method, asked.params)).await;
    None
}

/// Writes updates as notifications, as far as the client asked for them.
struct Teller<'a> {
    exchange: &'a Exchange,
    token: Option<RawJson>,
    least: Option<usize>,
    done: f64,
}

impl<'a> Teller<'a> {
    fn new(exchange: &'a Exchange) -> Self {
        let params = exchange.params().unwrap_or_default();
        let meta = params.meta();
        let level = if exchange.peer.revision.is_modern() {
            meta.log_level.as_deref().map(str::to_owned)
        } else {
            Some(exchange.level())
        };
        Teller {
            exchange,
            token: meta.progress_token.map(ToOwned::to_owned),
            least: level.map(|level| severity(&level)),
            done: f64::NEG_INFINITY,
        }
    }

    async fn tell(&mut self, update: Update) {
        match update {
            Update::Progress { done, total, message } => self.progress(done, total, message).await,
            Update::Log { level, data } => self.log(&level, &data).await,
            // MCP has no partial results.
            Update::Data(_) => {}
        }
    }

    async fn progress(&mut self, done: f64, total: Option<f64>, message: Option<String>) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Told<'a> {
            progress_token: &'a RawValue,
            progress: RawJson,
            #[serde(skip_serializing_if = "Option::is_none")]
            total: Option<RawJson>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<String>,
        }
        let Some(token) = &self.token else { return };
        // Progress must grow with every notification.
        if done <= self.done {
            return;
        }
        self.done = done;
        let told = Told { progress_token: token, progress: number(done), total: total.map(number), message };
        let params = to_raw(&told).expect("progress is writable");
        self.exchange.out.notify("notifications/progress", &params).await;
    }

    async fn log(&self, level: &str, data: &RawValue) {
        #[derive(Serialize)]
        struct Told<'a> {
            level: &'a str,
            data: &'a RawValue,
        }
        if self.least.is_some_and(|least| severity(level) >= least) {
            let params = to_raw(&Told { level, data }).expect("a log line is writable");
            self.exchange.out.notify("notifications/message", &params).await;
        }
    }
}

/// Whole numbers are written as such.
fn number(value: f64) -> RawJson {
    let whole = value.fract() == 0.0 && value.abs() < 9e15;
    if whole { to_raw(&(value as i64)) } else { to_raw(&value) }.expect("a number is writable")
}

fn severity(level: &str) -> usize {
    LEVELS.iter().position(|known| *known == level).unwrap_or(1)
}
