//! Questions of running tools, put to clients.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::progress::Question;
use toolmux_core::task::TaskId;

use crate::jsonrpc;
use crate::mcp::MCP;
use crate::mcp::members::Members;
use crate::mcp::serve::request::Exchange;
use crate::mcp::wire::{ASKED_FOR, RELATED_TASK};

/// A question in the form of MCP.
#[derive(Deserialize)]
pub(in crate::mcp) struct RequestedInput<'a> {
    pub(in crate::mcp) method: String,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

impl<'a> RequestedInput<'a> {
    pub(in crate::mcp) fn read(protocol: &str, text: &'a RawValue) -> Option<Self> {
        serde_json::from_str(text.get()).ok().filter(|_| protocol == MCP)
    }
}

/// What a question belongs to.
#[derive(Clone, Copy)]
pub(in crate::mcp) enum Binding<'a> {
    /// The request that is being answered.
    Call,
    Task(&'a TaskId),
}

/// Puts a question to a legacy client; gives back one that has to wait for a modern client's next request.
/// What the client cannot answer is dropped, which the tool takes as a refusal. A client that leaves ends its call, so
/// that nobody waits for a question that stays unanswered; it is forgotten when room is needed.
pub(in crate::mcp) async fn put(
    question: Question,
    exchange: &Exchange,
    binding: Binding<'_>,
) -> Option<Question> {
    let text = question.asked.clone();
    let input = RequestedInput::read(question.protocol, &text)?;
    if !exchange.peer.capabilities.answers(&input.method) {
        return None;
    }
    if exchange.peer.revision.is_modern() {
        return Some(question);
    }
    let session = exchange.peer.session.as_ref().filter(|_| exchange.out.is_open())?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    // Kept before it is sent: its answer may come before `send` returns.
    exchange.session_state.asked(session, &id, question);
    let id = to_raw(&id).expect("a text is writable");
    let params = bound(input.params, exchange, binding);
    let params = params.as_deref().or(input.params);
    exchange.out.send(jsonrpc::ask(Some(id.get()), &input.method, params.map(RawValue::get))).await;
    None
}

/// The parameters with what the question belongs to, where nothing else says it: over HTTP a question stands
/// on the stream of its request, but on a pair of streams all requests share one.
fn bound(params: Option<&RawValue>, exchange: &Exchange, binding: Binding<'_>) -> Option<RawJson> {
    let mut params = Members::read_or_empty(params);
    let meta = params.get("_meta").map(ToOwned::to_owned);
    let mut meta = Members::read_or_empty(meta.as_deref());
    match binding {
        Binding::Task(id) => meta.put(RELATED_TASK, &json!({ "taskId": id.as_str() })),
        Binding::Call if exchange.out.is_shared() => {
            meta.put_raw(ASKED_FOR, exchange.request.id.clone());
        }
        Binding::Call => return None,
    }
    params.put_raw("_meta", meta.write());
    Some(params.write())
}
