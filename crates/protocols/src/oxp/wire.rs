//! The bytes of OXP's calls, in both published forms: bare, and in `request`/`result` envelopes.

use std::borrow::Cow;
use std::time::Duration;

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolmux_core::arguments::{Arguments, ArgumentsError};
use toolmux_core::call::Request;
use toolmux_core::json_text::{optional_text, read_object};
use toolmux_core::message::Message;
use toolmux_core::millis::millis;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Outcome, ToolError};
use toolmux_core::redact::redacted;
use toolmux_core::refusal::{Challenge, ParameterError, Refusal};
use toolmux_core::requirements::Grants;
use toolmux_core::secret::Secret;
use toolmux_http::serve::{LONGEST_CALL_ID, json};

use super::version::{SCHEMA, check_schema, stamp};

/// The longest call id, trace id and user id.
const LONGEST_ID: usize = LONGEST_CALL_ID;

/// The form of a body; an answer has the form of what it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The body is the request.
    Bare,
    /// The body holds the request, as the public SDKs send it.
    Enveloped,
}

/// A call as it came.
pub(super) struct Decoded {
    pub(super) form: Form,
    pub(super) request: Result<Request, Refusal>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
#[serde(deny_unknown_fields)]
struct CallToolRequest<'a> {
    #[serde(borrow, default, deserialize_with = "optional_text")]
    tool_id: Option<Cow<'a, str>>,
    #[serde(default)]
    call_id: Option<Box<str>>,
    #[serde(default)]
    trace_id: Option<Box<str>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    /// The name that an older page of the specification gives `input`.
    #[serde(borrow, default)]
    inputs: Option<&'a RawValue>,
    #[serde(borrow, default)]
    context: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "optional_text", rename = "$schema")]
    schema: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    request: Option<&'a RawValue>,
}

/// The older form read on its own, for bodies with members besides the request that we do not know.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "optional_text", rename = "$schema")]
    schema: Option<Cow<'a, str>>,
    #[serde(borrow)]
    request: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
#[serde(default)]
struct Context {
    authorization: Option<Vec<Token>>,
    secrets: Option<Vec<NamedSecret>>,
    user_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Token {
    id: String,
    token: String,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct NamedSecret {
    id: String,
    value: String,
}

/// Reads a body. The form is told apart by `request`, which a bare request never has.
pub(super) fn decode(body: &[u8]) -> Decoded {
    match read_object::<CallToolRequest<'_>>(body) {
        Ok(CallToolRequest { request: Some(inner), schema, .. }) => enveloped(schema.as_deref(), inner),
        Ok(bare) => Decoded { form: Form::Bare, request: request(bare) },
        Err(error) => match read_object::<Envelope<'_>>(body) {
            Ok(Envelope { schema, request: inner }) => enveloped(schema.as_deref(), inner),
            Err(_) => Decoded { form: Form::Bare, request: Err(not_a_call(&error)) },
        },
    }
}

fn enveloped(schema: Option<&str>, inner: &RawValue) -> Decoded {
    let read = || {
        schema.map_or(Ok(()), check_schema)?;
        request(read_object(inner.get().as_bytes()).map_err(|error| not_a_call(&error))?)
    };
    Decoded { form: Form::Enveloped, request: read() }
}

fn request(call: CallToolRequest<'_>) -> Result<Request, Refusal> {
    if let Some(schema) = &call.schema {
        check_schema(schema)?;
    }
    let tool = call.tool_id.ok_or_else(|| malformed("The request has no `tool_id`"))?;
    let tool = ToolRef::id(&tool).map_err(|error| malformed(error.to_string()))?;
    let mut request = Request::new(tool, arguments(call.input.or(call.inputs))?);
    request.protocol = "oxp".into();
    request.id = short("call_id", call.call_id)?.map(Into::into);
    request.trace = short("trace_id", call.trace_id)?;
    if let Some(context) = call.context {
        request.grants = grants(context)?;
    }
    Ok(request)
}

fn arguments(input: Option<&RawValue>) -> Result<Arguments, Refusal> {
    Arguments::read(input).map_err(|error| match error {
        ArgumentsError::NotRead(_) => malformed(format!("The {error}")),
        ArgumentsError::NotAnObject(kind) => Refusal::Invalid {
            parameters: vec![ParameterError {
                parameter: String::new(),
                message: format!("must be an object, got {kind}"),
            }],
        },
    })
}

/// Credentials. What is wrong with them is told without quoting them.
fn grants(context: &RawValue) -> Result<Grants, Refusal> {
    let context: Option<Context> = read_object(context.get().as_bytes()).map_err(|_| {
        malformed(
            "`context` must be an object with `authorization` [{id, token}], `secrets` [{id, value}] and `user_id`",
        )
    })?;
    let context = context.unwrap_or_default();
    let tokens = context.authorization.into_iter().flatten();
    let secrets = context.secrets.into_iter().flatten();
    Ok(Grants {
        authorization: tokens.map(|token| (token.id, Secret::new(token.token))).collect(),
        secrets: secrets.map(|secret| (secret.id, Secret::new(secret.value))).collect(),
        user_id: short("user_id", context.user_id.map(Into::into))?.map(Into::into),
        supplied: Vec::new(),
    })
}

/// An id of bearable length; an empty one is none.
fn short(name: &str, id: Option<Box<str>>) -> Result<Option<Box<str>>, Refusal> {
    match id {
        Some(id) if id.len() > LONGEST_ID => {
            Err(malformed(format!("`{name}` is longer than {LONGEST_ID} bytes")))
        }
        id => Ok(id.filter(|id| !id.is_empty())),
    }
}

fn not_a_call(error: &serde_json::Error) -> Refusal {
    malformed(format!("The body is not a call: {error}"))
}

fn malformed(text: impl Into<String>) -> Refusal {
    Refusal::Malformed(Message::public(text))
}

#[derive(Serialize)]
struct Enveloped<T> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    result: T,
}

#[derive(Serialize)]
struct CallToolResponse<'a> {
    call_id: &'a str,
    duration: f64,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure<'a>>,
}

#[derive(Serialize)]
struct Failure<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    developer_message: Option<Cow<'a, str>>,
    can_retry: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_prompt_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

/// What every refusal is written as: both error responses of OXP are objects of such members.
#[derive(Serialize)]
struct ErrorResponse<'a> {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    schema: Option<&'static str>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    developer_message: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_requirements: Option<MissingRequirements<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter_errors: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Serialize)]
struct MissingRequirements<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization: Vec<AuthorizationChallenge<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<MissingSecret<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    user_id: bool,
}

#[derive(Serialize)]
struct AuthorizationChallenge<'a> {
    id: &'a str,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    check_url: Option<&'a str>,
}

#[derive(Serialize)]
struct MissingSecret<'a> {
    id: &'a str,
}

/// What becomes of the developer half of messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DeveloperHalf {
    /// The caller may know it.
    Shown,
    /// The log alone has it.
    Withheld,
}

impl DeveloperHalf {
    /// It, for those who may know it, without secrets.
    fn of(self, message: &Message) -> Option<Cow<'_, str>> {
        message.developer.as_deref().filter(|_| self == DeveloperHalf::Shown).map(redacted)
    }
}

/// The answer to a call whose tool ran.
pub(super) fn encode(
    form: Form,
    half: DeveloperHalf,
    call_id: &str,
    took: Duration,
    outcome: &Outcome,
) -> Response {
    let duration = (took.as_secs_f64() * 1_000_000.0).round() / 1_000.0;
    let text;
    let response = match outcome {
        Outcome::Returned(output) => {
            text = output.plain_value();
            CallToolResponse { call_id, duration, success: true, value: Some(&text), error: None }
        }
        Outcome::Failed(error) => CallToolResponse {
            call_id,
            duration,
            success: false,
            value: None,
            error: Some(failure(error, half)),
        },
    };
    let bytes = match form {
        Form::Bare => serde_json::to_vec(&response),
        Form::Enveloped => serde_json::to_vec(&Enveloped { schema: SCHEMA, result: response }),
    };
    stamp(json(StatusCode::OK, bytes.expect("raw JSON and text are always writable")))
}

fn failure(error: &ToolError, half: DeveloperHalf) -> Failure<'_> {
    let after = error.retry.after();
    Failure {
        message: &error.message.public,
        developer_message: half.of(&error.message),
        can_retry: error.retry.may_help(),
        additional_prompt_content: error.prompt.as_deref(),
        retry_after_ms: after.map(millis),
    }
}

/// The answer to a request whose tool did not run.
pub(super) fn refuse(form: Form, half: DeveloperHalf, refusal: &Refusal) -> Response {
    let mut message = refusal.message();
    let after = refusal.retry().after();
    if let Some(after) = after {
        message.public = format!("{}; try again after {} ms", message.public, after.as_millis());
    }
    let body = ErrorResponse {
        schema: (form == Form::Enveloped).then_some(SCHEMA),
        message: &message.public,
        developer_message: half.of(&message),
        missing_requirements: missing(refusal),
        parameter_errors: parameter_errors(refusal),
    };
    let bytes = serde_json::to_vec(&body).expect("text is always writable");
    let mut response = json(status(refusal), bytes);
    if let Some(after) = after {
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if matches!(refusal, Refusal::Unauthenticated(_)) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    stamp(response)
}

fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Refusal::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::Malformed(_)
        | Refusal::UnknownTool { .. }
        | Refusal::NotPermitted { .. }
        | Refusal::Challenged { .. }
        | Refusal::Conflict { .. }
        | Refusal::Busy { .. }
        | Refusal::Unavailable { .. }
        | Refusal::Internal(_) => StatusCode::BAD_REQUEST,
    }
}

fn missing(refusal: &Refusal) -> Option<MissingRequirements<'_>> {
    let Refusal::Challenged { authorization, secrets, user_id } = refusal else { return None };
    Some(MissingRequirements {
        authorization: authorization.iter().map(challenge).collect(),
        secrets: secrets.iter().map(|id| MissingSecret { id }).collect(),
        user_id: *user_id,
    })
}

/// The schema wants a `url`; an empty one says that the client must bring the token itself.
fn challenge(challenge: &Challenge) -> AuthorizationChallenge<'_> {
    let Challenge { id, url, check_url } = challenge;
    AuthorizationChallenge { id, url: url.as_deref().unwrap_or_default(), check_url: check_url.as_deref() }
}

fn parameter_errors(refusal: &Refusal) -> Option<serde_json::Map<String, serde_json::Value>> {
    let Refusal::Invalid { parameters } = refusal else { return None };
    let member = |fault: &ParameterError| {
        // A fault of the arguments as a whole belongs to the member that carries them.
        let name = if fault.parameter.is_empty() { "input" } else { &fault.parameter };
        (name.to_owned(), fault.message.clone().into())
    };
    Some(parameters.iter().map(member).collect())
}
