//! Anthropic's Messages: `tool_use` blocks in, one message of `tool_result` blocks back.

use serde_json::{Value, json};

use super::adapt::object_on_top;
use super::bridge::{
    CallForm, Read, SchemaForm, ToolResult, ToolUse, Vendor, as_is, bare, message, object, word,
};
use super::shown::Shown;

pub(super) const ANTHROPIC: Vendor = Vendor {
    name: "anthropic",
    rename: as_is,
    schemas: SchemaForm::AsWritten,
    tool,
    list: bare,
    read,
    results,
};

pub(super) fn tool(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "description": description, "input_schema": object_on_top(schema) })
}

fn read(answer: &Value) -> Option<Read> {
    let content = answer.get("content")?;
    let (text, uses) = parts(content)?;
    Some(Read { messages: vec![message("assistant", content.clone())], text, uses })
}

/// The texts and the calls among content blocks.
pub(super) fn parts(content: &Value) -> Option<(Vec<String>, Vec<ToolUse>)> {
    if let Value::String(text) = content {
        return Some((vec![text.clone()], Vec::new()));
    }
    let (mut texts, mut uses) = (Vec::new(), Vec::new());
    for block in content.as_array()? {
        match word(block, "type")?.as_str() {
            "text" => texts.extend(word(block, "text")),
            "tool_use" => uses.push(ToolUse {
                id: word(block, "id"),
                name: word(block, "name")?,
                input: object(block.get("input")),
                form: CallForm::Function,
            }),
            _ => {}
        }
    }
    Some((texts, uses))
}

fn results(results: &[ToolResult]) -> Vec<Value> {
    if results.is_empty() {
        return Vec::new();
    }
    let blocks: Vec<Value> = results.iter().map(result).collect();
    vec![message("user", json!(blocks))]
}

fn result(result: &ToolResult) -> Value {
    let content: Vec<Value> = result.shown().map(block).collect();
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.asked.id, "content": content });
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

fn block(shown: Shown) -> Value {
    match shown {
        Shown::Text(text) => json!({ "type": "text", "text": text }),
        Shown::Image { kind, data } => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": kind, "data": data } })
        }
    }
}
