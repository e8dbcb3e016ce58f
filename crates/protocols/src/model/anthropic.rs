//! Anthropic's Messages: `tool_use` blocks in, one message of `tool_result` blocks back.

use serde_json::{Value, json};

use super::adapt::object_on_top;
use super::bridge::{Read, ToolResult, ToolUse, Vendor, as_is, bare, message, object, word};

pub(super) const ANTHROPIC: Vendor =
    Vendor { name: "anthropic", rename: as_is, tool, list: bare, read, results };

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
    let content: Vec<Value> = result
        .content
        .iter()
        .map(|block| {
            let block: Value = serde_json::from_str(block.json().get()).unwrap_or_default();
            translate(&block)
        })
        .collect();
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.asked.id, "content": content });
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// A block of MCP's as one of Anthropic's; what has no counterpart is shown as text.
fn translate(block: &Value) -> Value {
    match (word(block, "type").as_deref(), word(block, "data"), word(block, "mimeType")) {
        (Some("text"), ..) => json!({ "type": "text", "text": block["text"] }),
        (Some("image"), Some(data), Some(kind)) => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": kind, "data": data } })
        }
        _ => json!({ "type": "text", "text": block.to_string() }),
    }
}
