//! What all vendors share: tools out, a model's answer in, its calls run side by side, messages back.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::iter;
use serde_json::{Map, Value, json};
use toolmux_core::arguments::Arguments;
use toolmux_core::call::{Caller, Request};
use toolmux_core::catalog::Catalog;
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::read_strict;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Content, Outcome, Retry};
use toolmux_core::progress::Progress;

use super::VENDORS;
use super::shown::Shown;
use crate::documents::inlined_schema::InlineBudget;

/// How many calls of one answer run at a time.
const AT_ONCE: usize = 16;
/// How many calls one answer may ask for.
const MOST_CALLS: usize = 128;

/// How one vendor writes tools, answers and results.
pub struct Vendor {
    /// The word for it.
    pub name: &'static str,
    /// The name of a tool as the vendor allows it.
    pub(super) rename: fn(&str) -> Cow<'_, str>,
    /// What its schemas may hold.
    pub(super) schemas: SchemaForm,
    /// One tool: name, description, schema.
    pub(super) tool: fn(&str, &str, &Value) -> Value,
    /// The list of tools as the vendor wraps it.
    pub(super) list: fn(Vec<Value>) -> Value,
    /// The parts of an answer.
    pub(super) read: fn(&Value) -> Option<Read>,
    /// The messages that carry results.
    pub(super) results: fn(&[ToolResult]) -> Vec<Value>,
}

/// Whether schemas may hold references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaForm {
    AsWritten,
    WithoutReferences,
}

/// The parts of a model's answer.
pub(super) struct Read {
    /// The answer as messages of the next request.
    pub(super) messages: Vec<Value>,
    pub(super) text: Vec<String>,
    /// What it asks to be called.
    pub(super) uses: Vec<ToolUse>,
}

/// A call a model asks for.
#[derive(Clone, Debug)]
pub struct ToolUse {
    /// The vendor's id of it, where there is one.
    pub id: Option<String>,
    /// The tool, as the model wrote it.
    pub name: String,
    /// The arguments; `Err` says why they cannot be read.
    pub input: Result<Map<String, Value>, String>,
    /// How the vendor wrote it, and so how it wants the answer.
    pub form: CallForm,
}

/// The forms in which one vendor writes calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallForm {
    /// A function with JSON arguments.
    #[default]
    Function,
    /// OpenAI's `function_call` from before there were `tool_calls`.
    LegacyFunction,
    /// A tool of OpenAI's that takes free text. None is listed by us, but a model may still be offered one.
    Custom,
}

impl ToolUse {
    /// A call of a custom tool, which is answered but never run.
    pub(super) fn custom(id: Option<String>, name: String) -> Self {
        let input = format!(
            "There is no custom tool `{name}` here; the tools here are functions with JSON arguments"
        );
        ToolUse { id, name, input: Err(input), form: CallForm::Custom }
    }
}

/// What came of one.
#[derive(Clone, Debug)]
pub struct ToolResult {
    /// What the model asked for.
    pub asked: ToolUse,
    /// Content blocks as MCP writes them.
    pub content: Vec<Content>,
    /// The value, when the tool returned one.
    pub value: Option<Value>,
    /// The tool failed or did not run.
    pub is_error: bool,
}

impl ToolResult {
    /// What of it a model is shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = Shown> {
        self.content.iter().map(Shown::of)
    }

    /// All of it as one text.
    pub(super) fn text(&self) -> String {
        self.shown().map(Shown::into_text).collect::<Vec<_>>().join("\n")
    }

    /// All of it as one text that says whether it is an error.
    pub(super) fn marked_text(&self) -> String {
        if self.is_error { format!("Error: {}", self.text()) } else { self.text() }
    }
}

/// One turn of a conversation.
#[derive(Clone, Debug)]
pub struct Turn {
    /// What to append to the messages: the model's answer, then the results.
    pub messages: Vec<Value>,
    /// The text of the answer, for the user.
    pub text: String,
    /// The calls that were made.
    pub results: Vec<ToolResult>,
}

impl Turn {
    /// True when the model asks for nothing more.
    pub fn is_last(&self) -> bool {
        self.results.is_empty()
    }
}

/// The body is no answer of the vendor's.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotAnAnswer(String);

/// The vendor of a name.
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

/// The `tools` member of a request to a model.
pub fn tools(vendor: &Vendor, catalog: &Catalog, caller: &Caller) -> Value {
    let mut budget = InlineBudget::default();
    let tool = |entry: &Arc<toolmux_core::catalog::Entry>| {
        let schema = entry.tool.input.value();
        let schema = match vendor.schemas {
            SchemaForm::AsWritten => Cow::Borrowed(schema),
            SchemaForm::WithoutReferences => Cow::Owned(budget.inlined(&entry.id.toolkit, schema)),
        };
        (vendor.tool)(&(vendor.rename)(&entry.flat), &entry.tool.description, &schema)
    };
    (vendor.list)(catalog.newest(caller).map(tool).collect())
}

/// Runs what a model's answer asks for, side by side; whatever goes wrong with a call is its result.
/// `key` makes the same answer again the same calls.
pub async fn run(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    vendor: &Vendor,
    answer: &Value,
    key: Option<&str>,
) -> Result<Turn, NotAnAnswer> {
    let read = (vendor.read)(answer);
    let read = read.ok_or_else(|| NotAnAnswer(format!("The body is not a response of `{}`", vendor.name)))?;
    if read.uses.len() > MOST_CALLS {
        return Err(NotAnAnswer(format!("The answer asks for more than {MOST_CALLS} calls")));
    }
    let calls = read.uses.into_iter().enumerate().map(|(index, asked)| {
        let id = key.map(|key| format!("{key}:{}", asked.id.clone().unwrap_or_else(|| index.to_string())));
        one(gateway, caller, vendor, asked, id)
    });
    let results: Vec<ToolResult> = iter(calls).buffered(AT_ONCE).collect().await;
    let mut messages = read.messages;
    messages.extend((vendor.results)(&results));
    Ok(Turn { messages, text: read.text.join("\n"), results })
}

async fn one(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    vendor: &Vendor,
    asked: ToolUse,
    id: Option<String>,
) -> ToolResult {
    let input = match &asked.input {
        Ok(input) => Arguments::from_map(input.clone()),
        Err(why) => return failed(asked.clone(), vec![Content::text(why)]),
    };
    gateway.wait_for_tool(caller, &ToolRef::flat(&asked.name)).await;
    let mut request = Request::new(find(&gateway.catalog(), caller, vendor, &asked.name), input);
    request.id = id.map(Into::into);
    request.protocol = "model".into();
    match gateway.call(caller, request, &Progress::unheard()).await {
        Ok(Outcome::Returned(output)) => {
            let value = serde_json::from_str(output.value.get()).ok();
            ToolResult { asked, content: output.blocks(), value, is_error: false }
        }
        Ok(Outcome::Failed(error)) => {
            let words = [Some(error.message.public.clone()), error.prompt.clone(), retry_words(error.retry)];
            let words = words.into_iter().flatten().collect::<Vec<_>>().join("\n");
            let content = if error.content.is_empty() { vec![Content::text(&words)] } else { error.content };
            failed(asked, content)
        }
        Err(refusal) => {
            let words: Vec<String> = [Some(refusal.message().public), retry_words(refusal.retry())]
                .into_iter()
                .flatten()
                .collect();
            failed(asked, vec![Content::text(&words.join("\n"))])
        }
    }
}

fn failed(asked: ToolUse, content: Vec<Content>) -> ToolResult {
    ToolResult { asked, content, value: None, is_error: true }
}

fn retry_words(retry: Retry) -> Option<String> {
    match retry {
        Retry::Never => None,
        Retry::Now => Some("Trying again may help.".to_owned()),
        Retry::After(pause) => Some(format!("Trying again after {pause:?} may help.")),
    }
}

/// The tool a model means by a name that the vendor may have made us change.
fn find(catalog: &Catalog, caller: &Caller, vendor: &Vendor, name: &str) -> ToolRef {
    let same = |flat: &str| (vendor.rename)(flat) == name;
    let known = catalog.newest(caller).find(|entry| same(&entry.flat));
    known.map_or_else(|| ToolRef::flat(name), |entry| ToolRef::flat(&entry.flat))
}

/// Names that need no change.
pub(super) fn as_is(flat: &str) -> Cow<'_, str> {
    Cow::Borrowed(flat)
}

/// A list that needs no wrapping.
pub(super) fn bare(tools: Vec<Value>) -> Value {
    Value::Array(tools)
}

/// Arguments that a vendor writes as an object.
pub(super) fn object(input: Option<&Value>) -> Result<Map<String, Value>, String> {
    match input {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(other) => Err(format!("The arguments must be a JSON object, not {other}")),
    }
}

/// Arguments that a vendor writes as text.
pub(super) fn text_object(input: Option<&Value>) -> Result<Map<String, Value>, String> {
    match input {
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => {
            let read = read_strict(text).map_err(|error| format!("The arguments are not JSON: {error}"))?;
            object(Some(&read))
        }
        other => object(other),
    }
}

/// The text of a member.
pub(super) fn word(value: &Value, member: &str) -> Option<String> {
    value.get(member).and_then(Value::as_str).map(str::to_owned)
}

/// A description of at most so many characters.
pub(super) fn cut(description: &str, most: usize) -> Cow<'_, str> {
    if description.chars().nth(most).is_none() {
        return Cow::Borrowed(description);
    }
    Cow::Owned(description.chars().take(most - 1).chain(['…']).collect())
}

/// A message without what only answers have.
pub(super) fn message(role: &str, content: Value) -> Value {
    json!({ "role": role, "content": content })
}
