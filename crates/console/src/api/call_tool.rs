//! A tool called from the console: by whoever is signed in, on the same path as every call. As one answer, or as a stream of
//! what the tool tells and asks until it ends.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream::unfold;
use http::{HeaderMap, StatusCode, header};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolmux_core::arguments::Arguments;
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::call::{Caller, Request};
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::RawJson;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::{Progress, Question, Update};
use toolmux_core::refusal::Refusal;
use toolmux_http::serve::PathPart;
use toolmux_http::sse::{EVENT_STREAM, encode, response};

use crate::answer::{message, value};
use crate::change::Change;
use crate::console::Console;
use crate::pages::result_html;

/// By which protocol receipts say that a call came.
const PROTOCOL: &str = "console";
/// How many receipts one call can have: its own, which is the oldest, and those of the calls that it made.
const MOST_NESTED: usize = 1_000;

/// What came of a call, and the id of its receipt.
pub(crate) struct Tried {
    pub(crate) answer: Result<Outcome, Refusal>,
    pub(crate) receipt: Option<String>,
}

/// The arguments of a text; words for what is wrong with it.
pub(crate) fn arguments_of(text: &str) -> Result<Arguments, String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))?;
    Arguments::read(Some(raw)).map_err(|error| error.to_string())
}

/// The request of an operator for a call.
pub(crate) fn request_of(tool: &str, arguments: Arguments) -> Request {
    Request {
        protocol: PROTOCOL.into(),
        trace: Some(trace().into()),
        ..Request::new(ToolRef::either(tool), arguments)
    }
}

/// Calls a tool for an operator.
pub(crate) async fn try_call(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    request: Request,
    progress: &Progress,
) -> Tried {
    let trace = request.trace.clone();
    gateway.audit(AuditRecord::now(caller.name(), AuditAction::ConsoleCall, request.tool.to_string()));
    let answer = gateway.call(caller, request, progress).await;
    let receipt = gateway.receipts().list(|receipt| receipt.trace == trace, MOST_NESTED).pop();
    Tried { answer, receipt: receipt.map(|receipt| receipt.id.to_string()) }
}

/// A trace of our own, by which the receipt is found, not sampled.
fn trace() -> String {
    let (one, other) = (uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
    format!("00-{}-{:016x}-00", one.simple(), other.as_u64_pair().0 | 1)
}

pub(crate) async fn call_tool(PathPart(tool): PathPart, change: Change) -> Response {
    let arguments = std::str::from_utf8(&change.body).map_err(|error| error.to_string());
    let arguments = match arguments.and_then(arguments_of) {
        Ok(arguments) => arguments,
        Err(what) => return message(StatusCode::BAD_REQUEST, &what),
    };
    let operator = &change.operator;
    if wants_stream(&operator.headers) {
        return stream(change, request_of(&tool, arguments));
    }
    let gateway = &operator.web.gateway;
    let tried = try_call(gateway, &operator.caller, request_of(&tool, arguments), &Progress::unheard()).await;
    value(StatusCode::OK, &tried_json(&tried))
}

fn wants_stream(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).is_some_and(|accept| accept.as_bytes() == EVENT_STREAM.as_bytes())
}

/// What came of a call, for programs.
fn tried_json(tried: &Tried) -> Value {
    let mut body = match &tried.answer {
        Ok(outcome) => outcome_json(outcome),
        Err(refusal) => {
            let parameters: Vec<Value> = match refusal {
                Refusal::Invalid { parameters } => parameters
                    .iter()
                    .map(|p| json!({ "parameter": p.parameter, "message": p.message }))
                    .collect(),
                _ => Vec::new(),
            };
            let message = refusal.message();
            json!({ "status": "refused", "reason": refusal.name(), "error": message.public,
                "detail": message.developer, "parameters": parameters })
        }
    };
    body["receipt"] = json!(tried.receipt);
    body
}

pub(crate) fn outcome_json(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Returned(output) => {
            json!({ "status": "returned", "value": output.value, "content": output.content })
        }
        Outcome::Failed(error) => json!({ "status": "failed", "error": error.message.public,
            "detail": error.message.developer, "prompt": error.prompt, "content": error.content }),
    }
}

/// A call that runs while its stream is read.
struct RunningTry {
    console: Arc<Console>,
    call: Pin<Box<dyn Future<Output = Tried> + Send>>,
    updates: mpsc::Receiver<Update>,
    questions: mpsc::Receiver<Question>,
    asked: Vec<String>,
    has_ended: bool,
}

/// Whoever leaves cancels the call, as over every protocol.
fn stream(change: Change, mut request: Request) -> Response {
    request.extra = change.operator.console.program.answering();
    let (progress, updates, questions) = Progress::dialogue();
    let (gateway, caller) = (Arc::clone(&change.operator.web.gateway), change.operator.caller.clone());
    let call = Box::pin(async move { try_call(&gateway, &caller, request, &progress).await });
    let console = Arc::clone(&change.operator.console);
    let running = RunningTry { console, call, updates, questions, asked: Vec::new(), has_ended: false };
    let events = unfold(running, |mut running| async {
        let event = running.next().await?;
        Some((Ok::<_, Infallible>(event), running))
    });
    response(Body::from_stream(events), EVENT_STREAM, "no-store")
}

impl RunningTry {
    async fn next(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        tokio::select! {
            // What was told before the end is shown before it.
            biased;
            Some(update) = self.updates.recv() => Some(told(&update)),
            Some(question) = self.questions.recv() => Some(self.ask(question)),
            tried = &mut self.call => {
                self.has_ended = true;
                let mut body = tried_json(&tried);
                body["html"] = json!(result_html(&tried));
                Some(encode(Some("ended"), None, &body.to_string()))
            }
        }
    }

    fn ask(&mut self, question: Question) -> Bytes {
        let body = json!({ "protocol": question.protocol, "asked": question.asked });
        match self.console.conversations.open(question) {
            Some(id) => {
                let body = json!({ "id": id, "protocol": body["protocol"], "asked": body["asked"] });
                self.asked.push(id);
                encode(Some("question"), None, &body.to_string())
            }
            None => encode(Some("refused_question"), None, &body.to_string()),
        }
    }
}

impl Drop for RunningTry {
    fn drop(&mut self) {
        self.console.conversations.forget(&self.asked);
    }
}

fn told(update: &Update) -> Bytes {
    let (event, body) = match update {
        Update::Progress { done, total, message } => {
            ("progress", json!({ "done": done, "total": total, "message": message }))
        }
        Update::Data(data) => ("data", json!({ "data": data })),
        Update::Log { level, data } => ("log", json!({ "level": level, "data": data })),
    };
    encode(Some(event), None, &body.to_string())
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    answer: Option<RawJson>,
}

/// Answers a question of a tool that is tried, or refuses to without an `answer`.
pub(crate) async fn answer_question(PathPart(question): PathPart, change: Change) -> Response {
    let Ok(Answered { answer }) = serde_json::from_slice(&change.body) else {
        return message(StatusCode::BAD_REQUEST, "the body must be {\"answer\"}");
    };
    if change.operator.console.conversations.answer(&question, answer) {
        value(StatusCode::OK, &json!({ "answered": true }))
    } else {
        message(StatusCode::NOT_FOUND, "this question is not open any more")
    }
}
