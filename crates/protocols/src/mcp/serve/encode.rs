//! Outcomes, refusals and tools in MCP's words. What an MCP source said is passed on as it was said.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolmux_core::catalog::Entry;
use toolmux_core::json_text::{RawJson, raw_of, to_raw};
use toolmux_core::outcome::{Outcome, Output, Retry, ToolError};
use toolmux_core::refusal::{Challenge, Refusal};
use toolmux_core::tool::{Hints, Returns, TaskSupport};

use super::content;
use super::exchange::Peer;
use super::upstream::{relayed, relayed_error};
use crate::mcp::members::Members;
use crate::mcp::revision::Revision;
use crate::mcp::wire::{
    Fault, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, OUR_META, Reply, our_meta, text_of,
};
use crate::mcp::{MCP, MCP_ERROR};

/// The keys of `_meta` that tell whether trying again may help.
const CAN_RETRY: &str = "toolmux/can_retry";
const RETRY_AFTER: &str = "toolmux/retry_after_ms";
const PROMPT: &str = "toolmux/additional_prompt_content";

/// `structuredContent` for objects always, for other values where the tool says what it returns.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Structure {
    Objects,
    Anything,
}

impl Structure {
    /// Before 2026-07-28 structured content was an object.
    pub(super) fn of(entry: Option<&Entry>, revision: Revision) -> Self {
        match entry.map(|entry| &entry.tool.returns) {
            Some(Returns::Matching(_)) if revision.is_modern() => Structure::Anything,
            _ => Structure::Objects,
        }
    }
}

/// The answer to `tools/call`.
pub(super) fn answer(answer: Result<Outcome, Refusal>, structure: Structure, peer: &Peer) -> Reply {
    match answer {
        Ok(Outcome::Returned(output)) => Ok(text_of(match output.extra.said_by(MCP) {
            Some(said) => relayed(said, peer)?,
            None => returned(&output, structure, peer.revision),
        })),
        Ok(Outcome::Failed(error)) => match (error.extra.said_by(MCP), error.extra.said_by(MCP_ERROR)) {
            (Some(said), _) => Ok(text_of(relayed(said, peer)?)),
            (None, Some(said)) => relayed_error(said, peer),
            (None, None) => Ok(text_of(failed(&error, peer.revision))),
        },
        Err(refusal) => refused(&refusal, peer),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallToolResult<'a> {
    content: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Cow<'a, RawValue>>,
}

/// One block of content: as the tool wrote it, or a text.
#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Raw(Cow<'a, RawValue>),
    Text { r#type: &'static str, text: Cow<'a, str> },
}

impl<'a> Block<'a> {
    fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Block::Text { r#type: "text", text: text.into() }
    }
}

impl CallToolResult<'_> {
    fn write(mut self, revision: Revision, told: Option<Value>) -> RawJson {
        self.meta = match told {
            None => revision.is_modern().then_some(Cow::Borrowed(&**OUR_META)),
            Some(told) if revision.is_modern() => {
                let mut meta = our_meta();
                if let (Value::Object(more), Some(object)) = (told, meta.as_object_mut()) {
                    object.extend(more);
                }
                Some(Cow::Owned(raw_of(&meta)))
            }
            Some(told) => Some(Cow::Owned(raw_of(&told))),
        };
        self.result_type = revision.is_modern().then_some("complete");
        to_raw(&self).expect("a result is writable")
    }
}

fn returned(output: &Output, structure: Structure, revision: Revision) -> RawJson {
    let value = output.value.get();
    let structured = value.starts_with('{') || (structure == Structure::Anything && value != "null");
    let content = if !output.content.is_empty() {
        output.content.iter().map(|block| Block::Raw(content::block(block.json(), revision))).collect()
    } else if value == "null" {
        Vec::new()
    } else if value.starts_with('"') {
        // A text is a text; any other value is its JSON.
        vec![Block::text(serde_json::from_str::<String>(value).unwrap_or_else(|_| value.to_owned()))]
    } else {
        vec![Block::text(value)]
    };
    let structured_content = structured.then_some(&*output.value);
    CallToolResult { content, structured_content, is_error: None, result_type: None, meta: None }
        .write(revision, None)
}

fn failed(error: &ToolError, revision: Revision) -> RawJson {
    let mut texts: Vec<String> = Vec::new();
    if error.content.is_empty() {
        texts.push(error.message.public.clone());
    }
    let mut meta = json!({});
    match error.retry {
        Retry::Never => {}
        Retry::Now => {
            texts.push("Trying again may help.".to_owned());
            meta = json!({ CAN_RETRY: true });
        }
        Retry::After(pause) => {
            texts
                .push(format!("Trying again may help, but not before {} ms have passed.", pause.as_millis()));
            meta = json!({ CAN_RETRY: true, RETRY_AFTER: pause.as_millis() as u64 });
        }
    }
    if let Some(prompt) = &error.prompt {
        texts.push(prompt.clone());
        meta[PROMPT] = prompt.as_str().into();
    }
    let own = error.content.iter().map(|block| Block::Raw(content::block(block.json(), revision)));
    let told = texts.into_iter().map(Block::text);
    let meta = meta.as_object().is_some_and(|meta| !meta.is_empty()).then_some(meta);
    let content = own.chain(told).collect();
    CallToolResult { content, structured_content: None, is_error: Some(true), result_type: None, meta: None }
        .write(revision, meta)
}

/// A refusal of what is passed on to a source, whose result is none of a tool: a challenge that cannot be asked by
/// the result is an error.
pub(super) fn relay_refused(refusal: &Refusal, peer: &Peer) -> Reply {
    let Refusal::Challenged { authorization, .. } = refusal else { return refused(refusal, peer) };
    let text = refusal.message().public;
    let may_ask = peer.revision.is_modern() && peer.capabilities.opens_urls();
    let asked = if may_ask { input_required(authorization, &text) } else { None };
    asked.map(text_of).ok_or_else(|| Fault::new(INVALID_REQUEST, text))
}

/// A refusal of `tools/call`.
pub(super) fn refused(refusal: &Refusal, peer: &Peer) -> Reply {
    let (text, revision) = (refusal.message().public, peer.revision);
    match refusal {
        Refusal::Malformed(_) | Refusal::Unauthenticated(_) => Err(Fault::new(INVALID_REQUEST, text)),
        Refusal::UnknownTool { .. } | Refusal::NotPermitted { .. } | Refusal::Conflict { .. } => {
            Err(Fault::new(INVALID_PARAMS, text))
        }
        Refusal::Challenged { authorization, secrets, user_id } => {
            let by_url = secrets.is_empty() && !user_id;
            let asked = if revision.is_modern() && peer.capabilities.opens_urls() && by_url {
                input_required(authorization, &text)
            } else {
                None
            };
            Ok(text_of(asked.unwrap_or_else(|| failed(&ToolError::new(text), revision))))
        }
        Refusal::Invalid { .. } => Ok(text_of(failed(&ToolError::new(text), revision))),
        Refusal::Busy { retry_after, .. } => Err(unavailable(text, Some(*retry_after))),
        Refusal::Unavailable { retry_after, .. } => Err(unavailable(text, *retry_after)),
        Refusal::Internal(_) => Err(unavailable(text, None)),
    }
}

fn unavailable(text: String, retry_after: Option<std::time::Duration>) -> Fault {
    match retry_after {
        Some(pause) => {
            Fault::with_data(INTERNAL_ERROR, text, &json!({ "retryAfterMs": pause.as_millis() as u64 }))
        }
        None => Fault::new(INTERNAL_ERROR, text),
    }
}

/// Asks the user to open every address; the client calls again when that is done.
fn input_required(authorization: &[Challenge], text: &str) -> Option<RawJson> {
    let mut requests = serde_json::Map::new();
    for challenge in authorization {
        let params = json!({ "mode": "url", "message": text, "url": challenge.url.as_ref()?, "elicitationId": challenge.id });
        requests.insert(challenge.id.clone(), json!({ "method": "elicitation/create", "params": params }));
    }
    Some(raw_of(&json!({ "resultType": "input_required", "inputRequests": requests, "_meta": our_meta() })))
}

/// A tool as `tools/list` shows it.
pub(super) fn tool(entry: &Entry, revision: Revision) -> RawJson {
    let Some(said) = entry.tool.extra.said_by(MCP) else { return native_tool(entry, revision) };
    let Some(mut members) = Members::read(said) else { return native_tool(entry, revision) };
    members.put("name", &*entry.flat);
    if entry.reshaped {
        members.put("inputSchema", &*as_object(entry.tool.input.value()));
    }
    if entry.hints != entry.tool.hints {
        let annotations = annotations(entry.hints, members.get("annotations"));
        members.put_raw("annotations", annotations);
    }
    if !revision.is_modern() && !members.get("outputSchema").is_none_or(describes_object) {
        members.remove("outputSchema");
    }
    members.write()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NativeTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<Value>,
}

fn native_tool(entry: &Entry, revision: Revision) -> RawJson {
    let output_schema = match &entry.tool.returns {
        Returns::Matching(schema) => Some(schema.value()),
        Returns::Nothing | Returns::Anything => None,
    };
    let allowed = |schema: &&Value| revision.is_modern() || schema["type"] == "object";
    let said = Hints { tasks: None, ..entry.hints } != Hints::default();
    to_raw(&NativeTool {
        name: &entry.flat,
        description: &entry.tool.description,
        input_schema: as_object(entry.tool.input.value()),
        output_schema: output_schema.filter(allowed),
        annotations: said.then(|| annotations(entry.hints, None)),
        execution: revision.has_tasks().then(|| json!({ "taskSupport": task_support(entry.hints) })),
    })
    .expect("a tool is writable")
}

fn task_support(hints: Hints) -> &'static str {
    match hints.tasks {
        Some(TaskSupport::Forbidden) => "forbidden",
        None | Some(TaskSupport::Optional) => "optional",
        Some(TaskSupport::Required) => "required",
    }
}

/// MCP wants the root to say that it is an object.
fn as_object(schema: &Value) -> Cow<'_, Value> {
    match schema {
        Value::Object(members) if members.contains_key("type") => Cow::Borrowed(schema),
        Value::Object(members) => {
            let mut whole = serde_json::Map::from_iter([("type".to_owned(), Value::from("object"))]);
            whole.extend(members.clone());
            Cow::Owned(Value::Object(whole))
        }
        _ => Cow::Owned(json!({ "type": "object" })),
    }
}

fn annotations(hints: Hints, said: Option<&RawValue>) -> RawJson {
    let mut members = Members::read_or_empty(said);
    for (key, hint) in [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
    ] {
        if let Some(hint) = hint {
            members.put(key, &hint);
        }
    }
    members.write()
}

fn describes_object(schema: &RawValue) -> bool {
    serde_json::from_str(schema.get()).is_ok_and(|schema: Value| schema["type"] == "object")
}
