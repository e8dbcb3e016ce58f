//! The bytes of the client's side: what we send, in the order of the specification, and what five public
//! servers answer, with all their liberties.

use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolmux_core::json_text::RawJson;
use toolmux_http::client::StatusAnswer;
use toolmux_http::sse;

use super::exception::ClientError;

/// The code of answers that are not there, as the public client that tells them apart has it.
const NULL_CODE: i64 = 500;
/// How much of an answer that is no envelope is told.
const MOST_QUOTED: usize = 200;

/// A call to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// Comes back with the answer.
    pub id: String,
    /// The name of the function.
    pub name: String,
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolReturn {
    /// The id of the call.
    pub id: String,
    /// What it gave.
    pub result: Map<String, Value>,
}

impl FunctionCall {
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        FunctionCall { id: id.into(), name: name.into(), arguments }
    }

    /// Reads `{"id", "name", "arguments"}`.
    pub fn from_json(json: &Value) -> Result<Self, serde_json::Error> {
        FunctionCall::deserialize(json)
    }

    /// Writes the same.
    pub fn to_json(&self) -> Value {
        serde_json::json!({ "id": self.id, "name": self.name, "arguments": self.arguments })
    }
}

impl ToolReturn {
    /// What a call gave.
    pub fn new(id: impl Into<String>, result: Map<String, Value>) -> Self {
        ToolReturn { id: id.into(), result }
    }

    /// Reads `{"id", "result"}`.
    pub fn from_json(json: &Value) -> Result<Self, serde_json::Error> {
        ToolReturn::deserialize(json)
    }

    /// Writes the same.
    pub fn to_json(&self) -> Value {
        serde_json::json!({ "id": self.id, "result": self.result })
    }
}

/// A call with JSON as it is.
pub(super) struct RawCall<'a> {
    pub(super) id: &'a str,
    pub(super) method: &'a str,
    pub(super) params: &'a RawValue,
    /// Headers for this call alone.
    pub(super) headers: HeaderMap,
}

impl RawCall<'_> {
    /// The request body.
    pub(super) fn body(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Body<'a> {
            jsonrpc: &'static str,
            method: &'a str,
            params: &'a RawValue,
            id: &'a str,
        }
        let body = Body { jsonrpc: "2.0", method: self.method, params: self.params, id: self.id };
        serde_json::to_vec(&body).expect("an envelope around raw JSON is always writable")
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// An error with as little as public servers put in one.
#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    code: Option<i64>,
    message: Value,
    #[serde(default)]
    data: Option<RawJson>,
}

impl From<ErrorBody> for ClientError {
    fn from(error: ErrorBody) -> Self {
        let message = error.message.as_str().map_or_else(|| error.message.to_string(), str::to_owned);
        ClientError::Call { code: error.code, message, data: error.data }
    }
}

impl Envelope<'_> {
    /// The id, when it is that of another call. Public servers leave it out or empty, or write a number for a text.
    fn foreign(&self, call: &str) -> Option<String> {
        let id = self.id.map(|id| id.get().trim_matches('"')).filter(|id| !id.is_empty())?;
        let ours = serde_json::to_string(call).is_ok_and(|written| written.trim_matches('"') == id);
        (!ours).then(|| quoted(id.as_bytes()))
    }
}

/// The result of an answer to this call, as the server wrote it. Statuses other than 200 may still bring an envelope.
pub(super) fn answer(told: StatusAnswer, call: &str, body: &[u8]) -> Result<RawJson, ClientError> {
    let good = told.status.is_success();
    match serde_json::from_slice::<Envelope<'_>>(body) {
        Ok(envelope) if envelope.foreign(call).is_some() => Err(not_ours(&envelope, call)),
        Ok(Envelope { error: Some(error), .. }) => Err(read_error(error.get())),
        Ok(Envelope { result: Some(result), .. }) if good => object(result),
        Ok(_) if good => Err(ClientError::ErrorNull { code: NULL_CODE }),
        _ if !good => Err(status_error(told, body)),
        _ if body.trim_ascii().is_empty() => Err(ClientError::ResponseNull { code: NULL_CODE }),
        _ => Err(ClientError::call(None, format!("The answer cannot be read: {}", quoted(body)))),
    }
}

/// Whoever answers another call may have run ours too.
fn not_ours(envelope: &Envelope<'_>, call: &str) -> ClientError {
    let id = envelope.foreign(call).unwrap_or_default();
    ClientError::call(None, format!("The answer is to call `{id}`, which is not the one that was sent"))
}

/// An answer that is not an OpenTool server's.
pub(super) fn status_error(told: StatusAnswer, body: &[u8]) -> ClientError {
    let StatusAnswer { status, retry_after } = told;
    let (number, quoted) = (status.as_u16(), quoted(body));
    let message =
        if quoted.is_empty() { format!("HTTP {number}") } else { format!("HTTP {number}: {quoted}") };
    ClientError::Status { status, retry_after, message }
}

fn object(result: &RawValue) -> Result<RawJson, ClientError> {
    if result.get().starts_with('{') {
        Ok(result.to_owned())
    } else {
        Err(ClientError::call(
            None,
            format!("The result is not an object: {}", quoted(result.get().as_bytes())),
        ))
    }
}

fn read_error(text: &str) -> ClientError {
    let body: Result<ErrorBody, _> = serde_json::from_str(text);
    body.map_or_else(|_| ClientError::call(None, quoted(text.as_bytes())), ClientError::from)
}

fn quoted(body: &[u8]) -> String {
    String::from_utf8_lossy(body).trim().chars().take(MOST_QUOTED).collect()
}

/// The server's version; one public server has another name for it.
pub(super) fn version(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Version {
        #[serde(alias = "versionNumber")]
        version: String,
    }
    serde_json::from_slice(body).ok().map(|Version { version }| version)
}

/// One event of a stream, as the server wrote it.
#[derive(Debug)]
pub(super) enum ServerEvent {
    Start,
    Data(RawJson),
    Done,
    /// An event of a name that nobody specified.
    Other,
}

/// Reads an event of this call. Errors come in an envelope when a tool tells them, bare when it broke.
pub(super) fn event(event: &sse::Event, call: &str) -> Result<ServerEvent, ClientError> {
    match event.event.as_str() {
        "start" => Ok(ServerEvent::Start),
        "done" => Ok(ServerEvent::Done),
        "data" => {
            let told = StatusAnswer { status: StatusCode::OK, retry_after: None };
            answer(told, call, event.data.as_bytes()).map(ServerEvent::Data)
        }
        "error" => match serde_json::from_str::<Envelope<'_>>(&event.data) {
            Ok(envelope) if envelope.foreign(call).is_some() => Err(not_ours(&envelope, call)),
            Ok(Envelope { error: Some(error), .. }) => Err(read_error(error.get())),
            _ => Err(read_error(&event.data)),
        },
        _ => Ok(ServerEvent::Other),
    }
}
