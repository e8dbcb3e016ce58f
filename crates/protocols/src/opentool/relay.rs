//! What an OpenTool server answers, in the words of the gateway: values and streams as they come, errors by
//! the table of the design.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolmux_core::call::Call;
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::message::Message;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::ports::source::SourceError;
use toolmux_core::progress::{Progress, Update};
use toolmux_core::refusal::{ParameterError, Refusal};
use toolmux_core::tool::Passthrough;
use toolmux_http::client::{HttpError, StatusAnswer};

use super::PROTOCOL;
use super::client::RawEvents;
use super::client_wire::ServerEvent;
use super::document::Function;
use super::error_data::ErrorData;
use super::exception::ClientError;
use super::source::unavailable;
use super::wire::Parts;
use crate::jsonrpc::Error;

/// How long a caller waits before it asks a busy server again that did not say.
const PAUSE: Duration = Duration::from_secs(1);
/// Statuses by which OpenTool says that a call was not executed: its section 6 has a client report 401 as a key that is
/// not valid and 404 as a server that is not there. The client has errors of their own for both.
const NOT_EXECUTED: [StatusCode; 2] = [StatusCode::UNAUTHORIZED, StatusCode::NOT_FOUND];
/// How much of a stream is kept to be told again as one value.
const MOST_KEPT: usize = 64 << 20;

/// True when the server says that the function streams, so that it must be followed to be heard at all.
pub(super) fn streams(call: &Call) -> bool {
    let said = call.entry().tool.extra.of_protocol(PROTOCOL);
    said.and_then(|said| Function::read(said.get())).is_some_and(|function| !function.stream.is_empty())
}

/// Passes a stream on, part by part. What it gives in the end is for callers who did not follow: the last
/// part, or all of them where the server says that each is one.
pub(super) async fn follow(
    mut events: RawEvents,
    call: &Call,
    progress: &Progress,
) -> Result<Outcome, SourceError> {
    let mut parts: Vec<RawJson> = Vec::new();
    let (gather, mut kept) = (streams(call), 0);
    loop {
        match events.next().await {
            Ok(Some(ServerEvent::Data(part))) => {
                progress.send(update(&part)).await;
                kept = if gather { kept + part.get().len() } else { 0 };
                if kept > MOST_KEPT {
                    let what = format!("The stream is longer than {MOST_KEPT} bytes");
                    return Err(SourceError::Lost(Message::public(what)));
                }
                if !gather {
                    parts.clear();
                }
                parts.push(part);
            }
            Ok(Some(ServerEvent::Start | ServerEvent::Other)) => {}
            // Servers that never say that they are done have given something before they close.
            Ok(None) if parts.is_empty() => {
                let what = "The OpenTool server closed the stream before it gave anything";
                return Err(SourceError::Lost(Message::public(what)));
            }
            Ok(Some(ServerEvent::Done) | None) => return Ok(Outcome::Returned(streamed(parts))),
            Err(error) => return failed(error, call),
        }
    }
}

/// Everything was passed on already, which the same protocol on the other side must know: it is told of how
/// many parts the value is made.
fn streamed(mut parts: Vec<RawJson>) -> Output {
    let count = parts.len();
    let value = match parts.len() {
        0 => raw_null(),
        1 => parts.remove(0),
        _ => to_raw(&Parts { parts }).unwrap_or_else(|_| raw_null()),
    };
    let extra = Passthrough::of(PROTOCOL, to_raw(&count).unwrap_or_else(|_| raw_null()));
    Output { extra, ..Output::value(value) }
}

fn raw_null() -> RawJson {
    RawValue::NULL.to_owned()
}

/// A part as the gateway knows it; what our own server tells of progress and logs is understood.
fn update(part: &RawValue) -> Update {
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase", deny_unknown_fields)]
    enum Known {
        Progress { done: f64, total: Option<f64>, message: Option<String> },
        Log { level: String, data: RawJson },
    }
    match serde_json::from_str(part.get()) {
        Ok(Known::Progress { done, total, message }) => Update::Progress { done, total, message },
        Ok(Known::Log { level, data }) => Update::Log { level, data },
        Err(_) => Update::Data(part.to_owned()),
    }
}

/// Why a server did not list its tools.
pub(super) fn not_listed(error: ClientError) -> SourceError {
    match error {
        ClientError::NoAccess { cause: Some(cause) } | ClientError::TimedOut(cause) => cause.into(),
        other => SourceError::NotReached(Message::public(words(&other)).caused_by(&other)),
    }
}

/// What came of a call that gave no result.
pub(super) fn failed(error: ClientError, call: &Call) -> Result<Outcome, SourceError> {
    match error {
        ClientError::Call { code: Some(code), message, data } => answered(code, message, data, call),
        ClientError::Status { status, retry_after, message } => {
            Err(StatusAnswer { status, retry_after }.error(&NOT_EXECUTED, Message::public(message)))
        }
        // A server that answers with neither a result nor an error has run the tool as likely as not.
        ClientError::Call { code: None, .. }
        | ClientError::ResponseNull { .. }
        | ClientError::ErrorNull { .. } => Err(SourceError::Lost(Message::public(words(&error)))),
        ClientError::NoAccess { cause: Some(cause) } | ClientError::TimedOut(cause) => Err(cause.into()),
        ClientError::Tls { cause, .. } => Err(HttpError::into(cause)),
        ClientError::NoAccess { cause: None } | ClientError::Unauthorized | ClientError::Unusable(_) => {
            Err(unavailable(words(&error)))
        }
    }
}

fn words(error: &ClientError) -> String {
    match error {
        ClientError::Unauthorized => "The OpenTool server does not accept our key".to_owned(),
        ClientError::NoAccess { .. } => "There is no OpenTool server at the address".to_owned(),
        ClientError::ResponseNull { .. } => "The OpenTool server answered with nothing".to_owned(),
        ClientError::ErrorNull { .. } => {
            "The OpenTool server answered with neither a result nor an error".to_owned()
        }
        ClientError::Call { .. }
        | ClientError::Status { .. }
        | ClientError::TimedOut(_)
        | ClientError::Tls { .. }
        | ClientError::Unusable(_) => error.message(),
    }
}

/// The table of the design, read from the right.
fn answered(code: i64, message: String, data: Option<RawJson>, call: &Call) -> Result<Outcome, SourceError> {
    let mut known: ErrorData =
        data.as_deref().and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default();
    let refusal = match code {
        400 => Some(Refusal::Invalid {
            parameters: known.parameters().unwrap_or_else(|| {
                let message = format!("were refused: {message}");
                vec![ParameterError { parameter: String::new(), message }]
            }),
        }),
        401 => known.challenge(),
        405 => Some(Refusal::UnknownTool {
            tool: call.entry().flat.to_string(),
            nearest: None,
            developer: Some(format!("its server says: {message}")),
        }),
        429 => Some(Refusal::Busy {
            message: Message::public(message.as_str()),
            retry_after: known.retry_after().unwrap_or(PAUSE),
        }),
        503 => Some(Refusal::Unavailable {
            message: Message::public(message.as_str()),
            retry_after: known.retry_after(),
        }),
        -32700 => Some(Refusal::Internal(
            Message::public("The OpenTool server could not read the call").developer(message.as_str()),
        )),
        _ => None,
    };
    match refusal {
        Some(refusal) => Err(SourceError::Refused(refusal)),
        None => Ok(Outcome::Failed(tool_error(code, message, data, &known))),
    }
}

/// The error goes along as it came, for whoever asks by OpenTool.
fn tool_error(code: i64, message: String, data: Option<RawJson>, known: &ErrorData) -> ToolError {
    let error = Error { code, message: message.as_str().into(), data };
    let extra =
        to_raw(&error).map_or_else(|_| Passthrough::default(), |said| Passthrough::of(PROTOCOL, said));
    ToolError {
        retry: known.retry(),
        prompt: known.additional_prompt_content.clone(),
        extra,
        ..ToolError::new(message)
    }
}
