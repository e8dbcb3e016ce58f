//! The results of tools that did not come by MCP, as MCP writes them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolmux_core::catalog::Entry;
use toolmux_core::json_text::{RawJson, raw_of, to_raw};
use toolmux_core::millis::millis;
use toolmux_core::outcome::{Output, Retry, ToolError};
use toolmux_core::tool::Returns;

use super::content;
use crate::mcp::revision::Revision;
use crate::mcp::wire::{OUR_META, our_meta};

/// The keys of `_meta` that tell whether trying again may help.
const CAN_RETRY: &str = "toolmux/can_retry";
const RETRY_AFTER: &str = "toolmux/retry_after_ms";
const PROMPT: &str = "toolmux/additional_prompt_content";

/// `structuredContent` for objects always, for other values where the tool says what it returns.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::mcp) enum Structure {
    Objects,
    Anything,
}

impl Structure {
    /// Before 2026-07-28 structured content was an object.
    pub(in crate::mcp) fn of(entry: Option<&Entry>, revision: Revision) -> Self {
        match entry.map(|entry| &entry.tool.returns) {
            Some(Returns::Matching(_)) if revision.is_modern() => Structure::Anything,
            _ => Structure::Objects,
        }
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
    fn write(mut self, revision: Revision, meta: Option<Value>) -> RawJson {
        self.meta = match meta {
            None => revision.is_modern().then_some(Cow::Borrowed(&**OUR_META)),
            Some(own) if revision.is_modern() => {
                let mut meta = our_meta();
                if let (Value::Object(more), Some(object)) = (own, meta.as_object_mut()) {
                    object.extend(more);
                }
                Some(Cow::Owned(raw_of(&meta)))
            }
            Some(own) => Some(Cow::Owned(raw_of(&own))),
        };
        self.result_type = revision.is_modern().then_some("complete");
        to_raw(&self).expect("a result is writable")
    }
}

/// What a tool returned.
pub(in crate::mcp) fn returned(output: &Output, structure: Structure, revision: Revision) -> RawJson {
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

/// Why a tool failed, or why it was not run, as far as a model should read it.
pub(in crate::mcp) fn failed(error: &ToolError, revision: Revision) -> RawJson {
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
            meta = json!({ CAN_RETRY: true, RETRY_AFTER: millis(pause) });
        }
    }
    if let Some(prompt) = &error.prompt {
        texts.push(prompt.clone());
        meta[PROMPT] = prompt.as_str().into();
    }
    let own = error.content.iter().map(|block| Block::Raw(content::block(block.json(), revision)));
    let texts = texts.into_iter().map(Block::text);
    let meta = meta.as_object().is_some_and(|meta| !meta.is_empty()).then_some(meta);
    let content = own.chain(texts).collect();
    CallToolResult { content, structured_content: None, is_error: Some(true), result_type: None, meta: None }
        .write(revision, meta)
}
