//! The bytes of REST: the body is the arguments, the answer is the value, and every error has one shape.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolmux_core::arguments::{Arguments, ArgumentsError};
use toolmux_core::call::Request;
use toolmux_core::message::Message;
use toolmux_core::millis::millis;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Content, Outcome, Retry, ToolError};
use toolmux_core::refusal::{ParameterError, Refusal};
use toolmux_http::serve::json as answer;

/// A tool ran and says that it failed.
const TOOL_FAILED: &str = "tool_failed";
/// A tool is not there, or not for this caller.
const UNKNOWN_TOOL: &str = "unknown_tool";

/// The body of every answer that is not a value.
#[derive(Serialize)]
struct ErrorBody<'a> {
    error: ErrorMembers<'a>,
}

/// Members that say nothing are left out, but the first three.
#[derive(Serialize)]
struct ErrorMembers<'a> {
    code: &'static str,
    message: &'a str,
    can_retry: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameter_errors: Vec<InvalidParameter<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization: Vec<NeededToken<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    secrets: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    user_id: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_prompt_content: Option<&'a str>,
    #[serde(skip_serializing_if = "<[Content]>::is_empty")]
    content: &'a [Content],
}

#[derive(Serialize)]
struct InvalidParameter<'a> {
    parameter: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct NeededToken<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check_url: Option<&'a str>,
}

/// A call as it came. No body is no arguments.
pub(super) fn decode(tool: &str, body: &[u8]) -> Result<Request, Refusal> {
    let malformed = |text: String| Refusal::Malformed(Message::public(text));
    let text: Option<&RawValue> = match body.trim_ascii() {
        [] => None,
        body => Some(
            serde_json::from_slice(body)
                .map_err(|error| malformed(format!("The body is not JSON: {error}")))?,
        ),
    };
    // The body is the call: what is not an object names no arguments at all, and is not a call with bad ones.
    let not_an_object = |kind: &str| malformed(format!("The body must be an object, got {kind}"));
    // No arguments are an empty object or no body; `null` fits no schema of the document.
    if text.is_some_and(|text| text.get() == "null") {
        return Err(not_an_object("null"));
    }
    let arguments = Arguments::read(text).map_err(|error| match error {
        ArgumentsError::NotRead(_) => malformed(format!("The {error}")),
        ArgumentsError::NotAnObject(kind) => not_an_object(kind),
    })?;
    Ok(Request { protocol: "rest".into(), ..Request::new(ToolRef::either(tool), arguments) })
}

/// The answer to a call whose tool ran: its value as it is, or why it failed.
pub(super) fn encode(outcome: &Outcome) -> Response {
    match outcome {
        Outcome::Returned(output) => answer(StatusCode::OK, output.plain_value().get().to_owned()),
        Outcome::Failed(error) => failed(error),
    }
}

/// The answer to a request whose tool did not run.
pub(super) fn refuse(refusal: &Refusal) -> Response {
    let message = refusal.message();
    let mut members = ErrorMembers::new(code(refusal), &message.public, refusal.retry());
    match refusal {
        Refusal::Invalid { parameters } => {
            members.parameter_errors = parameters.iter().map(InvalidParameter::of).collect();
        }
        Refusal::Challenged { authorization, secrets, user_id } => {
            members.authorization = authorization
                .iter()
                .map(|needed| NeededToken {
                    id: &needed.id,
                    url: needed.url.as_deref(),
                    check_url: needed.check_url.as_deref(),
                })
                .collect();
            (members.secrets, members.user_id) = (secrets, *user_id);
        }
        Refusal::Malformed(_)
        | Refusal::Unauthenticated(_)
        | Refusal::UnknownTool { .. }
        | Refusal::NotPermitted { .. }
        | Refusal::Conflict { .. }
        | Refusal::Busy { .. }
        | Refusal::Unavailable { .. }
        | Refusal::Internal(_) => {}
    }
    let mut response = written(status(refusal), members, refusal.retry());
    if matches!(refusal, Refusal::Unauthenticated(_)) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The shape of every error, for the document.
pub(super) fn error_schema() -> Value {
    let text = || json!({ "type": "string" });
    json!({
        "type": "object",
        "required": ["error"],
        "properties": { "error": {
            "type": "object",
            "required": ["code", "message", "can_retry"],
            "properties": {
                "code": { "type": "string", "description": "What kind of error it is.", "enum": CODES },
                "message": { "type": "string", "description": "What happened, for models and people." },
                "can_retry": { "type": "boolean", "description": "The same request may succeed another time." },
                "retry_after_ms": { "type": "integer", "description": "Not before so many milliseconds." },
                "parameter_errors": { "type": "array", "description": "What is wrong with which argument.",
                    "items": { "type": "object", "required": ["parameter", "message"],
                        "properties": { "parameter": text(), "message": text() } } },
                "authorization": { "type": "array", "description": "Access that a user has to allow first, at `url`.",
                    "items": { "type": "object", "required": ["id"],
                        "properties": { "id": text(), "url": text(), "check_url": text() } } },
                "secrets": { "type": "array", "items": text(), "description": "Secrets that the tool needs." },
                "user_id": { "type": "boolean", "description": "The tool needs the id of a user." },
                "additional_prompt_content": { "type": "string",
                    "description": "What a model should read before it tries again." },
                "content": { "type": "array", "description": "Content blocks of a tool that failed.",
                    "items": { "type": "object" } }
            }
        } }
    })
}

/// Every code that an error may have.
const CODES: [&str; 10] = [
    "malformed",
    "unauthenticated",
    UNKNOWN_TOOL,
    "challenged",
    "invalid",
    "conflict",
    "busy",
    "unavailable",
    "internal",
    TOOL_FAILED,
];

impl<'a> ErrorMembers<'a> {
    fn new(code: &'static str, message: &'a str, retry: Retry) -> Self {
        ErrorMembers {
            code,
            message,
            can_retry: retry.may_help(),
            retry_after_ms: retry.after().map(millis),
            parameter_errors: Vec::new(),
            authorization: Vec::new(),
            secrets: &[],
            user_id: false,
            additional_prompt_content: None,
            content: &[],
        }
    }
}

impl<'a> InvalidParameter<'a> {
    fn of(fault: &'a ParameterError) -> Self {
        InvalidParameter { parameter: &fault.parameter, message: &fault.message }
    }
}

fn failed(error: &ToolError) -> Response {
    let members = ErrorMembers {
        additional_prompt_content: error.prompt.as_deref(),
        content: &error.content,
        ..ErrorMembers::new(TOOL_FAILED, &error.message.public, error.retry)
    };
    written(StatusCode::BAD_GATEWAY, members, error.retry)
}

fn written(status: StatusCode, error: ErrorMembers<'_>, retry: Retry) -> Response {
    let bytes = serde_json::to_vec(&ErrorBody { error }).expect("text and raw JSON are always writable");
    let mut response = answer(status, bytes);
    if let Some(pause) = retry.after() {
        let seconds = pause.as_secs() + u64::from(pause.subsec_nanos() > 0);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
        Refusal::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Refusal::Challenged { .. } => StatusCode::FORBIDDEN,
        Refusal::UnknownTool { .. } | Refusal::NotPermitted { .. } => StatusCode::NOT_FOUND,
        Refusal::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::Conflict { .. } => StatusCode::CONFLICT,
        Refusal::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        Refusal::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A tool that a caller may not use cannot be told from one that does not exist.
fn code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::UnknownTool { .. } | Refusal::NotPermitted { .. } => UNKNOWN_TOOL,
        Refusal::Malformed(_)
        | Refusal::Unauthenticated(_)
        | Refusal::Challenged { .. }
        | Refusal::Invalid { .. }
        | Refusal::Conflict { .. }
        | Refusal::Busy { .. }
        | Refusal::Unavailable { .. }
        | Refusal::Internal(_) => refusal.name(),
    }
}
