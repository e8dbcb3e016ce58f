//! The bytes of OpenTool's answers and of the calls it takes: requests as five public SDKs send them,
//! answers that all of them read.

use std::borrow::Cow;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolmux_core::arguments::{Arguments, ArgumentsError};
use toolmux_core::call::Request;
use toolmux_core::json_text::{RawJson, read_object, to_raw};
use toolmux_core::message::Message;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::progress::Update;
use toolmux_core::refusal::{ParameterError, Refusal};
use toolmux_http::serve::json;
use toolmux_http::sse;

use super::PROTOCOL;
use super::error_data::ErrorData;
use crate::jsonrpc::{self, Error};

const NOT_A_CALL: i64 = -32700;

/// A call as it came: what is asked, under which name, and the id to echo.
pub(super) struct DecodedCall<'a> {
    pub(super) request: Request,
    pub(super) method: Cow<'a, str>,
    pub(super) id: &'a RawValue,
}

/// A body that is refused before there is a call, with its id where that can be read.
pub(super) struct NotCalled<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) refusal: Refusal,
}

pub(super) fn decode(body: &[u8]) -> Result<DecodedCall<'_>, NotCalled<'_>> {
    let malformed = |id, text: String| NotCalled { id, refusal: Refusal::Malformed(Message::public(text)) };
    let call: jsonrpc::RequestEnvelope<'_> = read_object(body)
        .map_err(|error| malformed(only_id(body), format!("The body is not a JSON-RPC request: {error}")))?;
    let id = call.id.ok_or_else(|| malformed(None, "The request has no `id`".to_owned()))?;
    if !is_id(id) {
        return Err(malformed(None, "`id` must be a string or a number".to_owned()));
    }
    let arguments =
        Arguments::read(call.params).map_err(|error| NotCalled { id: Some(id), refusal: invalid(&error) })?;
    let request = Request::new(ToolRef::flat(&call.method), arguments);
    let request = Request { protocol: "opentool".into(), ..request };
    Ok(DecodedCall { request, method: call.method, id })
}

fn is_id(id: &RawValue) -> bool {
    id.get().starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
}

/// The id of what is JSON but no request: clients match answers by it.
fn only_id(body: &[u8]) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct OnlyId<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    read_object::<OnlyId<'_>>(body).ok().map(|only| only.id).filter(|id| is_id(id))
}

/// A request with a method and an id is a call; what is wrong with its `params` is a fault of its arguments.
fn invalid(error: &ArgumentsError) -> Refusal {
    let message = match error {
        ArgumentsError::NotRead(error) => format!("cannot be read: {error}"),
        ArgumentsError::NotAnObject(kind) => format!("must be an object, got {kind}"),
    };
    Refusal::Invalid { parameters: vec![ParameterError { parameter: "params".to_owned(), message }] }
}

/// The answer to a call.
pub(super) fn encode(id: Option<&RawValue>, answer: Result<Outcome, Refusal>) -> Response {
    let status = answer.as_ref().map_or_else(|refusal| code(refusal).0, |_| StatusCode::OK);
    json(status, envelope(id, answer))
}

/// The answer to who asks for the version.
pub(super) fn version(version: &str) -> String {
    #[derive(Serialize)]
    struct Version<'a> {
        version: &'a str,
    }
    to_json(&Version { version }).get().to_owned()
}

/// The first event of a stream.
pub(super) fn start_event(method: &str) -> Bytes {
    #[derive(Serialize)]
    struct Start<'a> {
        start: &'a str,
    }
    sse::encode_json(Some("start"), None, to_json(&Start { start: method }).get())
}

/// The last event of a stream that went well.
pub(super) fn done_event(method: &str) -> Bytes {
    #[derive(Serialize)]
    struct Done<'a> {
        done: &'a str,
    }
    sse::encode_json(Some("done"), None, to_json(&Done { done: method }).get())
}

/// Something a tool tells before it ends.
pub(super) fn update_event(id: &RawValue, update: Update) -> Bytes {
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum StreamEvent {
        Progress { done: f64, total: Option<f64>, message: Option<String> },
        Log { level: String, data: RawJson },
    }
    match update {
        Update::Data(part) => data_event(id, &part),
        Update::Progress { done, total, message } => {
            data_event(id, &to_json(&StreamEvent::Progress { done, total, message }))
        }
        Update::Log { level, data } => data_event(id, &to_json(&StreamEvent::Log { level, data })),
    }
}

/// What the parts of a stream are together.
#[derive(Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Parts {
    pub(super) parts: Vec<RawJson>,
}

/// Whether a caller was told something while the tool ran.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    Something,
    Nothing,
}

/// What a tool gave, or why it gave nothing; the second ends a stream. Nothing is sent of what a source that
/// streams has sent already, unless this is a recorded answer: then it is sent again.
pub(super) fn end_events(
    id: &RawValue,
    method: &str,
    heard: Heard,
    answer: Result<Outcome, Refusal>,
) -> Vec<Bytes> {
    match answer {
        Ok(Outcome::Returned(output)) => {
            let mut events = match streamed(&output) {
                Some(_) if heard == Heard::Something => Vec::new(),
                Some(parts) => parts.iter().map(|part| data_event(id, part)).collect(),
                None => vec![data_event(id, blocks(&output).as_deref().unwrap_or(&output.value))],
            };
            events.push(done_event(method));
            events
        }
        failed => {
            let bytes = envelope(Some(id), failed);
            vec![sse::encode_json(Some("error"), None, &String::from_utf8_lossy(&bytes))]
        }
    }
}

/// The parts of what came as a stream.
fn streamed(output: &Output) -> Option<Vec<RawJson>> {
    let count: usize = serde_json::from_str(output.extra.of_protocol(PROTOCOL)?.get()).ok()?;
    match count {
        0 => Some(Vec::new()),
        1 => Some(vec![output.value.clone()]),
        _ => serde_json::from_str(output.value.get()).ok().map(|Parts { parts }| parts),
    }
}

fn data_event(id: &RawValue, value: &RawValue) -> Bytes {
    let bytes = jsonrpc::Response::result_in_parts(Some(id), object(value)).to_bytes();
    sse::encode_json(Some("data"), None, &String::from_utf8_lossy(&bytes))
}

/// The one shape of every answer: `error` is null next to a result, `result` is empty next to an error.
fn envelope(id: Option<&RawValue>, answer: Result<Outcome, Refusal>) -> Vec<u8> {
    let bytes = |error: Error<'_>| jsonrpc::Response::error(id, error).with_both_members().to_bytes();
    match answer {
        Ok(Outcome::Returned(output)) => {
            let blocks = blocks(&output);
            let parts = object(blocks.as_deref().unwrap_or(&output.value));
            jsonrpc::Response::result_in_parts(id, parts).with_both_members().to_bytes()
        }
        Ok(Outcome::Failed(error)) => {
            // An error that came by OpenTool goes on as it came.
            let own =
                error.extra.of_protocol(PROTOCOL).and_then(|said| serde_json::from_str(said.get()).ok());
            bytes(own.unwrap_or_else(|| Error {
                code: 500,
                message: Cow::Borrowed(told(&error.message.public)),
                data: ErrorData::of_tool(&error).into_raw(),
            }))
        }
        Err(refusal) => bytes(Error {
            code: code(&refusal).1,
            message: Cow::Owned(refusal.message().public),
            data: ErrorData::of_refusal(&refusal).into_raw(),
        }),
    }
}

/// Public clients take an error without words for none.
fn told(message: &str) -> &str {
    if message.is_empty() { "The tool failed" } else { message }
}

/// Status and error code of a refusal. Everything that is a call at all travels with 200: other statuses
/// make public clients claim that the server is not running.
fn code(refusal: &Refusal) -> (StatusCode, i64) {
    match refusal {
        Refusal::Malformed(_) => (StatusCode::BAD_REQUEST, NOT_A_CALL),
        Refusal::Unauthenticated(_) => (StatusCode::UNAUTHORIZED, 401),
        Refusal::UnknownTool { .. } | Refusal::NotPermitted { .. } => (StatusCode::OK, 405),
        Refusal::Challenged { .. } => (StatusCode::OK, 401),
        Refusal::Invalid { .. } => (StatusCode::OK, 400),
        Refusal::Conflict { .. } => (StatusCode::OK, 409),
        Refusal::Busy { .. } => (StatusCode::OK, 429),
        Refusal::Unavailable { .. } => (StatusCode::OK, 503),
        Refusal::Internal(_) => (StatusCode::OK, 500),
    }
}

/// The blocks of content of a tool that gave nothing else.
fn blocks(output: &Output) -> Option<RawJson> {
    #[derive(Serialize)]
    struct Blocks<'a> {
        content: Vec<&'a RawValue>,
    }
    (output.value.get() == "null" && !output.content.is_empty()).then(|| {
        let content = output.content.iter().map(toolmux_core::outcome::Content::json).collect();
        to_json(&Blocks { content })
    })
}

/// A result is always an object: anything else is wrapped.
fn object(value: &RawValue) -> [&str; 3] {
    match value.get() {
        text if text.starts_with('{') => ["", text, ""],
        "null" => ["", "{}", ""],
        text => [r#"{"result":"#, text, "}"],
    }
}

fn to_json<T: Serialize>(value: &T) -> RawJson {
    to_raw(value).expect("structs around raw JSON are always writable")
}
