//! The bytes of other people's OXP servers: calls as we write them, lists and answers as we read them, in
//! both body forms and in the spellings of older pages of the specification.

use std::time::Duration;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::message::Message;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Outcome, Output, Retry, ToolError};
use toolmux_core::refusal::{Challenge, ParameterError, Refusal};
use toolmux_core::requirements::{AskedBy, Authorization, Grants, Requirements};
use toolmux_core::schema::Schema;
use toolmux_core::tool::Returns;
use toolmux_core::version::Version;
use toolmux_http::client::StatusAnswer;

use super::version::SCHEMA;
use super::wire::Form;

/// A call to be written.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// Of the form `Toolkit.Tool[@version]`.
    pub tool_id: String,
    /// The same again is the same call; made when absent.
    pub call_id: Option<String>,
    /// For whoever follows the call.
    pub trace_id: Option<String>,
    /// The arguments, a JSON object.
    pub input: RawJson,
    /// Credentials for the tool.
    pub grants: Grants,
}

impl ToolCall {
    /// A call without anything special.
    pub fn new(tool_id: impl Into<String>, input: &Value) -> Self {
        let tool_id = tool_id.into();
        ToolCall { tool_id, call_id: None, trace_id: None, input: raw_of(input), grants: Grants::default() }
    }
}

/// What came of a call whose tool ran.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The id of the call.
    pub call_id: String,
    /// How long the tool took, if the server says so.
    pub duration: Option<Duration>,
    /// How it ended.
    pub outcome: Outcome,
}

#[derive(Serialize)]
struct Envelope<T> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    request: T,
}

#[derive(Serialize)]
struct CallToolRequest<'a> {
    call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<&'a str>,
    tool_id: &'a str,
    input: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Context<'a>>,
}

#[derive(Serialize)]
struct Context<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization: Vec<Token<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<NamedSecret<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Token<'a> {
    id: &'a str,
    token: &'a str,
}

#[derive(Serialize)]
struct NamedSecret<'a> {
    id: &'a str,
    value: &'a str,
}

/// The bytes of a call.
pub(super) fn encode(form: Form, call_id: &str, call: &ToolCall) -> Vec<u8> {
    let request = CallToolRequest {
        call_id,
        trace_id: call.trace_id.as_deref(),
        tool_id: &call.tool_id,
        input: &call.input,
        context: context(&call.grants),
    };
    let bytes = match form {
        Form::Bare => serde_json::to_vec(&request),
        Form::Enveloped => serde_json::to_vec(&Envelope { schema: SCHEMA, request }),
    };
    bytes.expect("raw JSON and text are always writable")
}

fn context(grants: &Grants) -> Option<Context<'_>> {
    let Grants { authorization, secrets, user_id, supplied: _ } = grants;
    if authorization.is_empty() && secrets.is_empty() && user_id.is_none() {
        return None;
    }
    Some(Context {
        authorization: authorization.iter().map(|(id, token)| Token { id, token: token.expose() }).collect(),
        secrets: secrets.iter().map(|(id, value)| NamedSecret { id, value: value.expose() }).collect(),
        user_id: user_id.as_deref(),
    })
}

#[derive(Deserialize)]
struct Enveloped {
    result: Option<RawJson>,
}

#[derive(Deserialize)]
struct CallToolResponse {
    call_id: Option<String>,
    duration: Option<f64>,
    success: Option<bool>,
    value: Option<RawJson>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
    developer_message: Option<String>,
    #[serde(default)]
    can_retry: bool,
    additional_prompt_content: Option<String>,
    retry_after_ms: Option<f64>,
}

/// The answer to a call whose tool ran, and the form it has.
pub(super) fn decode(body: &[u8], asked: &str) -> Result<(Form, Answered), serde_json::Error> {
    let enveloped: Enveloped = serde_json::from_slice(body)?;
    let (form, response): (Form, CallToolResponse) = match enveloped.result {
        Some(result) => (Form::Enveloped, serde_json::from_str(result.get())?),
        None => (Form::Bare, serde_json::from_slice(body)?),
    };
    if response.success.is_none() && response.value.is_none() && response.error.is_none() {
        return Err(serde::de::Error::missing_field("success"));
    }
    let outcome = match response.error {
        Some(error) if response.success != Some(true) => Outcome::Failed(failure(error)),
        Some(_) | None if response.success == Some(false) => {
            Outcome::Failed(ToolError::new("The tool failed and did not say why"))
        }
        Some(_) | None => {
            Outcome::Returned(Output::value(response.value.unwrap_or_else(|| raw_of(&Value::Null))))
        }
    };
    let duration = response.duration.and_then(|ms| Duration::try_from_secs_f64(ms / 1_000.0).ok());
    let call_id = response.call_id.unwrap_or_else(|| asked.to_owned());
    Ok((form, Answered { call_id, duration, outcome }))
}

fn failure(error: Failure) -> ToolError {
    let after = error.retry_after_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1_000.0).ok());
    let retry = if error.can_retry { Retry::allowed(after) } else { Retry::Never };
    let mut message = Message::public(error.message);
    message.developer = error.developer_message;
    let mut failed = ToolError::from(message).retry(retry);
    failed.prompt = error.additional_prompt_content;
    failed
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorResponse {
    message: Option<String>,
    developer_message: Option<String>,
    missing_requirements: Option<Missing>,
    parameter_errors: Option<serde_json::Map<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Missing {
    authorization: Vec<MissingAuthorization>,
    secrets: Vec<MissingSecret>,
    user_id: bool,
}

#[derive(Deserialize)]
struct MissingAuthorization {
    id: String,
    url: Option<String>,
    check_url: Option<String>,
}

#[derive(Deserialize)]
struct MissingSecret {
    id: String,
}

/// Statuses by which OXP says that a call was not executed.
pub(super) const NOT_EXECUTED: [StatusCode; 3] = [
    // Call Tool, "Server Errors": what happens before the tool is called is 400.
    StatusCode::BAD_REQUEST,
    // Security: the client is not authenticated.
    StatusCode::UNAUTHORIZED,
    // Call Tool, "Input Validation Errors": found before the tool is called.
    StatusCode::UNPROCESSABLE_ENTITY,
];

/// What an answer of 400, 401 or 422 says. Its class is told by status and members, never by words.
pub(super) fn decode_refusal(told: StatusAnswer, body: &[u8]) -> Refusal {
    let StatusAnswer { status, retry_after } = told;
    let error: ErrorResponse = serde_json::from_slice(body).unwrap_or_default();
    if let Some(missing) = error.missing_requirements {
        return Refusal::Challenged {
            authorization: missing.authorization.into_iter().map(challenge).collect(),
            secrets: missing.secrets.into_iter().map(|secret| secret.id).collect(),
            user_id: missing.user_id,
        };
    }
    let public = error.message.unwrap_or_else(|| format!("The server answered {status}"));
    let message = Message { public, developer: error.developer_message };
    match (status, error.parameter_errors) {
        (StatusCode::UNPROCESSABLE_ENTITY, parameters) => {
            Refusal::Invalid { parameters: parameter_errors(parameters.unwrap_or_default(), message) }
        }
        (StatusCode::UNAUTHORIZED, _) => Refusal::Unauthenticated(message),
        (_, _) => match retry_after {
            Some(retry_after) => Refusal::Busy { message, retry_after },
            None => Refusal::Unavailable { message, retry_after: None },
        },
    }
}

fn challenge(missing: MissingAuthorization) -> Challenge {
    let url = missing.url.filter(|url| !url.is_empty());
    Challenge { id: missing.id, url, check_url: missing.check_url }
}

fn parameter_errors(errors: serde_json::Map<String, Value>, message: Message) -> Vec<ParameterError> {
    if errors.is_empty() {
        return vec![ParameterError { parameter: String::new(), message: message.public }];
    }
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    errors.into_iter().map(|(parameter, value)| ParameterError { parameter, message: text(value) }).collect()
}

/// A tool as another server lists it.
#[derive(Clone, Debug)]
pub struct OxpTool {
    /// The toolkit over there.
    pub toolkit: String,
    /// The tool within it.
    pub tool: String,
    pub version: Version,
    /// What it does.
    pub description: String,
    /// What it takes.
    pub input: Schema,
    /// What it gives.
    pub returns: Returns,
    /// What it needs; the other server asks for what is missing.
    pub requires: Requirements,
}

impl OxpTool {
    /// What to call it by, over there.
    pub fn id(&self) -> String {
        format!("{}.{}@{}", self.toolkit, self.tool, self.version)
    }
}

/// Everything a server lists: tools, and names of those that cannot be used with the reason.
#[derive(Clone, Debug, Default)]
pub struct ToolList {
    /// Tools that can be called.
    pub tools: Vec<OxpTool>,
    /// Tools that cannot.
    pub unusable: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct List {
    #[serde(rename = "$schema")]
    schema: Option<String>,
    /// Older pages of the specification call it `tools`.
    #[serde(alias = "tools")]
    items: Vec<Value>,
}

#[derive(Deserialize)]
struct ToolDefinition {
    id: String,
    #[serde(default)]
    description: String,
    version: Option<String>,
    input_schema: Option<Value>,
    #[serde(default)]
    requirements: ListedRequirements,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ListedRequirements {
    authorization: Vec<ListedAuthorization>,
    secrets: Vec<MissingSecret>,
    user_id: bool,
}

#[derive(Deserialize)]
struct ListedAuthorization {
    id: String,
    #[serde(default)]
    oauth2: Scopes,
}

#[derive(Default, Deserialize)]
struct Scopes {
    #[serde(default)]
    scopes: Vec<String>,
}

/// A list, and whether it shows the marks of the older form.
pub(super) fn decode_list(body: &[u8]) -> Result<(ToolList, bool), serde_json::Error> {
    let list: List = serde_json::from_slice(body)?;
    let mut read = ToolList::default();
    for item in list.items {
        match listed(&item) {
            Ok(tool) => read.tools.push(tool),
            Err(reason) => {
                let name = item.get("id").and_then(Value::as_str).unwrap_or("?").to_owned();
                read.unusable.push((name, reason));
            }
        }
    }
    Ok((read, list.schema.is_some()))
}

fn listed(item: &Value) -> Result<OxpTool, String> {
    let definition = ToolDefinition::deserialize(item).map_err(|error| error.to_string())?;
    let id = ToolRef::id(&definition.id).map_err(|error| error.to_string())?;
    let named = definition.version.map(|version| version.parse::<Version>()).transpose();
    let version = named.map_err(|error| error.to_string())?.or(id.version).unwrap_or(Version::FIRST);
    let scopes = |needed: ListedAuthorization| Authorization::new(needed.id, needed.oauth2.scopes);
    Ok(OxpTool {
        toolkit: id.toolkit.unwrap_or_default().into(),
        tool: id.tool.into(),
        version,
        description: definition.description,
        input: Schema::new(unwrapped(definition.input_schema)),
        returns: match item.get("output_schema") {
            None => Returns::Anything,
            Some(Value::Null) => Returns::Nothing,
            Some(schema) => Returns::Matching(Schema::new(schema.clone())),
        },
        requires: Requirements {
            authorization: definition.requirements.authorization.into_iter().map(scopes).collect(),
            secrets: definition.requirements.secrets.into_iter().map(|secret| secret.id).collect(),
            user_id: definition.requirements.user_id,
            asked_by: AskedBy::Source,
            ..Requirements::default()
        },
    })
}

/// Older pages of the specification wrap the schema in `parameters`.
fn unwrapped(schema: Option<Value>) -> Value {
    match schema {
        Some(Value::Object(mut map))
            if map.len() == 1 && map.get("parameters").is_some_and(Value::is_object) =>
        {
            map.remove("parameters").unwrap_or_default()
        }
        Some(schema @ Value::Object(_)) => schema,
        _ => Value::Object(serde_json::Map::new()),
    }
}
