//! The bytes of OpenTool's calls: requests as five public SDKs send them, answers all of them read.

use std::borrow::Cow;

use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::message::Message;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::refusal::Refusal;

use crate::jsonrpc::{self, Error};
use crate::web::json;

const NOT_A_CALL: i64 = -32700;

/// A call as it came: what is asked, and the id to echo.
pub(super) fn decode(body: &[u8]) -> Result<(Request, &RawValue), Refusal> {
    let malformed = |text: String| Refusal::Malformed(Message::public(text));
    let call: jsonrpc::Request<'_> = serde_json::from_slice(body)
        .map_err(|error| malformed(format!("The body is not a JSON-RPC request: {error}")))?;
    let id = call.id.ok_or_else(|| malformed("The request has no `id`".to_owned()))?;
    let arguments = Arguments::read(call.params).map_err(|error| malformed(error.to_string()))?;
    Ok((Request::new(ToolRef::flat(&call.method), arguments), id))
}

/// The answer to a call.
pub(super) fn encode(id: Option<&RawValue>, answer: Result<Outcome, Refusal>) -> Response {
    match answer {
        Ok(Outcome::Returned(output)) => {
            let wrapped = object(&output.value);
            let result = jsonrpc::Response::result(id, &wrapped).with_both_members(empty());
            json(StatusCode::OK, result.to_bytes())
        }
        Ok(Outcome::Failed(error)) => failure(StatusCode::OK, id, 500, &error.message.public),
        Err(refusal) => {
            let (status, code) = code(&refusal);
            failure(status, id, code, &refusal.message().public)
        }
    }
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

fn failure(status: StatusCode, id: Option<&RawValue>, code: i64, message: &str) -> Response {
    let error = Error { code, message: Cow::Borrowed(message), data: None };
    json(status, jsonrpc::Response::error(id, error).with_both_members(empty()).to_bytes())
}

/// A result is always an object: anything else is wrapped.
fn object(value: &RawValue) -> Cow<'_, RawValue> {
    #[derive(Serialize)]
    struct Wrapped<'a> {
        result: &'a RawValue,
    }
    if value.get().starts_with('{') {
        return Cow::Borrowed(value);
    }
    if value.get() == "null" {
        return Cow::Borrowed(empty());
    }
    Cow::Owned(
        toolmux_core::json_text::to_raw(&Wrapped { result: value }).expect("raw JSON is always writable"),
    )
}

fn empty() -> &'static RawValue {
    serde_json::from_str("{}").expect("an empty object is JSON")
}
