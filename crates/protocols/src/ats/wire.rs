//! The bytes of ATS: the list, the task document of every event, refusals.

use std::borrow::Cow;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::catalog::Entry;
use toolmux_core::json_text::RawJson;
use toolmux_core::message::Message;
use toolmux_core::millis::millis;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Content, Outcome, ToolError};
use toolmux_core::progress::Update;
use toolmux_core::refusal::{ParameterError, Refusal};
use toolmux_core::sources::{SourceReport, SourceStatus};
use toolmux_core::task::{Task, TaskChange, TaskStatus};

use toolmux_http::serve::json;

use super::update::{read_update, write_update};

/// What a follower of an unknown task is told.
pub(super) const NO_SUCH_TASK: &str = "The task does not exist or has been cleared";

/// A tool as the list shows it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AtsTool<'a> {
    /// Its flat name.
    pub name: Cow<'a, str>,
    /// What it does.
    #[serde(default)]
    pub description: Cow<'a, str>,
    /// What it takes.
    pub input_schema: Cow<'a, Value>,
}

/// What every event and every look at a task says.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TaskDocument {
    /// `pending`, `running`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// Content blocks, once completed.
    pub result: Option<Vec<Content>>,
    /// Why it failed, which is a text on the wire.
    #[serde(serialize_with = "message_only")]
    pub error: Option<TaskError>,
    /// Why it failed, with what may help. The page has no such member; its clients pass over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_details: Option<TaskError>,
    /// The value itself, once completed: `result` shows it as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<RawJson>,
    /// What the tool told while it runs.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_update",
        deserialize_with = "read_update"
    )]
    pub update: Option<Update>,
}

/// Why a task failed, with what may help; a plain text where a server says no more.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(from = "ErrorForms")]
pub struct TaskError {
    /// The reason, in words that may be shown to a model.
    pub message: String,
    /// Trying again may help.
    pub can_retry: bool,
    /// Not before this has passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Something for the model to read before it tries again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_prompt_content: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorForms {
    Text(String),
    Object {
        message: String,
        #[serde(default)]
        can_retry: bool,
        #[serde(default)]
        retry_after_ms: Option<u64>,
        #[serde(default)]
        additional_prompt_content: Option<String>,
    },
    Other(Value),
}

impl From<ErrorForms> for TaskError {
    fn from(form: ErrorForms) -> Self {
        let plain = |message: String| TaskError {
            message,
            can_retry: false,
            retry_after_ms: None,
            additional_prompt_content: None,
        };
        match form {
            ErrorForms::Text(message) => plain(message),
            ErrorForms::Other(value) => plain(value.to_string()),
            ErrorForms::Object { message, can_retry, retry_after_ms, additional_prompt_content } => {
                TaskError { message, can_retry, retry_after_ms, additional_prompt_content }
            }
        }
    }
}

/// The body of a refusal as other servers write it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RefusalDocument {
    /// In words; some servers give a list of faults, each with its `loc` and `msg`.
    pub detail: Value,
    /// What is wrong with which argument.
    pub parameter_errors: Vec<ParameterFault>,
    /// Tokens that a user must first allow.
    pub authorization: Vec<MissingToken>,
}

/// What is wrong with one argument.
#[derive(Clone, Debug, Deserialize)]
pub struct ParameterFault {
    /// The name of the argument.
    pub parameter: String,
    /// What is wrong.
    pub message: String,
}

/// A token that a user must first allow.
#[derive(Clone, Debug, Deserialize)]
pub struct MissingToken {
    /// The id of the provider that gives the token.
    pub id: String,
    /// Where the user allows it.
    pub authorization_url: Option<String>,
}

impl RefusalDocument {
    /// What is wrong with the arguments, in whichever form it is told.
    pub(super) fn faults(&self) -> Vec<ParameterError> {
        let own = self.parameter_errors.iter();
        let own = own.map(|fault| (fault.parameter.clone(), fault.message.clone()));
        let listed = self.detail.as_array().into_iter().flatten().map(|fault| {
            let place = fault["loc"].as_array().into_iter().flatten().filter(|part| *part != "body");
            let place = place.map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned));
            let message = fault["msg"].as_str().map_or_else(|| fault.to_string(), str::to_owned);
            (place.collect::<Vec<_>>().join("."), message)
        });
        own.chain(listed).map(|(parameter, message)| ParameterError { parameter, message }).collect()
    }
}

#[derive(Serialize)]
struct Refused<'a> {
    detail: &'a str,
    error: TaskError,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameter_errors: Vec<Parameter<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization: Vec<Missing<'a>>,
}

#[derive(Serialize)]
struct Parameter<'a> {
    parameter: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Missing<'a> {
    id: &'a str,
    authorization_url: Option<&'a str>,
}

#[derive(Serialize)]
struct Reset<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    status: &'static str,
    sources: Vec<ResetSource<'a>>,
}

#[derive(Serialize)]
struct ResetSource<'a> {
    name: &'a str,
    status: &'static str,
    tools: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// The list of tools.
pub(super) fn list<'a>(tools: impl Iterator<Item = &'a Arc<Entry>>) -> Bytes {
    let tools: Vec<AtsTool<'_>> = tools
        .map(|entry| AtsTool {
            name: (&*entry.flat).into(),
            description: entry.tool.description.as_str().into(),
            input_schema: Cow::Borrowed(entry.tool.input.value()),
        })
        .collect();
    written(&tools).into()
}

/// A call as it came: the body is the arguments.
pub(super) fn decode(tool: &str, body: &[u8]) -> Result<Request, Refusal> {
    let malformed = |error: &dyn std::error::Error| {
        Refusal::Malformed(Message::public(format!(
            "The body must be the arguments as a JSON object: {error}"
        )))
    };
    let text: Option<&RawValue> = match body.trim_ascii() {
        [] => None,
        body => Some(serde_json::from_slice(body).map_err(|error| malformed(&error))?),
    };
    let arguments = Arguments::read(text).map_err(|error| malformed(&error))?;
    Ok(Request { protocol: "ats".into(), ..Request::new(ToolRef::either(tool), arguments) })
}

/// The document of one event.
pub(super) fn event(change: &TaskChange) -> TaskDocument {
    match change {
        TaskChange::Status(status) => document(*status, None),
        TaskChange::Ended(status, outcome) => document(*status, outcome.as_ref()),
        TaskChange::Update(update) => {
            TaskDocument { update: Some(update.clone()), ..document(TaskStatus::Running, None) }
        }
    }
}

/// The document of a task as it is.
pub(super) fn task(task: &Task) -> TaskDocument {
    document(task.status, task.outcome.as_ref())
}

fn document(status: TaskStatus, outcome: Option<&Outcome>) -> TaskDocument {
    let (result, error, value) = match outcome {
        Some(Outcome::Returned(output)) => (Some(output.blocks()), None, Some(output.value.clone())),
        Some(Outcome::Failed(error)) => (None, Some(TaskError::from(error)), None),
        None => (None, None, None),
    };
    let error_details = error.clone();
    TaskDocument { status: status.as_str().to_owned(), result, error, error_details, value, update: None }
}

#[expect(clippy::ref_option, reason = "serde hands over the member as it is")]
fn message_only<S: Serializer>(error: &Option<TaskError>, serializer: S) -> Result<S::Ok, S::Error> {
    error.as_ref().map(|error| &error.message).serialize(serializer)
}

impl From<&ToolError> for TaskError {
    fn from(error: &ToolError) -> Self {
        TaskError {
            message: error.message.public.clone(),
            can_retry: error.retry.may_help(),
            retry_after_ms: error.retry.after().map(millis),
            additional_prompt_content: error.prompt.clone(),
        }
    }
}

/// The answer to a refused request.
pub(super) fn refuse(refusal: &Refusal) -> Response {
    let message = refusal.message();
    let retry = refusal.retry();
    let error = TaskError {
        message: message.public.clone(),
        can_retry: retry.may_help(),
        retry_after_ms: retry.after().map(millis),
        additional_prompt_content: None,
    };
    let body = Refused {
        detail: &message.public,
        error,
        parameter_errors: parameters(refusal),
        authorization: missing(refusal),
    };
    let mut response = json(status(refusal), written(&body));
    if let Some(pause) = retry.after() {
        let seconds = pause.as_millis().div_ceil(1000);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds as u64));
    }
    response
}

fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Malformed(_) | Refusal::Challenged { .. } => StatusCode::BAD_REQUEST,
        Refusal::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Refusal::UnknownTool { .. } | Refusal::NotPermitted { .. } => StatusCode::NOT_FOUND,
        Refusal::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::Conflict { .. } => StatusCode::CONFLICT,
        Refusal::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        Refusal::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn parameters(refusal: &Refusal) -> Vec<Parameter<'_>> {
    let Refusal::Invalid { parameters } = refusal else { return Vec::new() };
    parameters
        .iter()
        .map(|fault| Parameter { parameter: &fault.parameter, message: &fault.message })
        .collect()
}

fn missing(refusal: &Refusal) -> Vec<Missing<'_>> {
    let Refusal::Challenged { authorization, .. } = refusal else { return Vec::new() };
    authorization
        .iter()
        .map(|challenge| Missing { id: &challenge.id, authorization_url: challenge.url.as_deref() })
        .collect()
}

/// How reconnecting went: `ok` while any source is ready, as there are tools to call then. Each source is named
/// with its own state, so that none is left out silently.
pub(super) fn reset(reports: Result<Vec<SourceReport>, Message>) -> Bytes {
    let reports = match reports {
        Ok(reports) => reports,
        Err(unusable) => {
            let (sources, error) = (Vec::new(), Some(unusable.public));
            return written(&Reset { status: "error", error, sources }).into();
        }
    };
    let sources: Vec<ResetSource<'_>> = reports
        .iter()
        .map(|report| {
            let (status, error) = match &report.status {
                SourceStatus::Ready => ("ok", None),
                SourceStatus::Connecting => ("unready", None),
                SourceStatus::Failing(message) => ("error", Some(message.public.as_str())),
            };
            ResetSource { name: &report.name, status, tools: report.tools, error }
        })
        .collect();
    let best = ["ok", "unready", "error"].into_iter().find(|word| sources.iter().any(|s| s.status == *word));
    written(&Reset { status: best.unwrap_or("ok"), error: None, sources }).into()
}

/// The answer to a look at a task that is unknown.
pub(super) fn no_such_task() -> Response {
    refused(StatusCode::NOT_FOUND, NO_SUCH_TASK)
}

/// The answer to a request that is refused for another reason than a call is.
pub(super) fn refused(status: StatusCode, why: &str) -> Response {
    json(status, serde_json::json!({ "detail": why }).to_string())
}

pub(super) fn written<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("wire shapes are always writable")
}
