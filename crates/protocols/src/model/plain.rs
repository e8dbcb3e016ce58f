//! The form of the ATS page: blocks in, one `tool` message per result with the blocks as they are.

use serde_json::{Value, json};

use super::anthropic::{parts, tool};
use super::bridge::{Read, SchemaForm, ToolResult, Vendor, as_is, bare};

pub(super) const PLAIN: Vendor =
    Vendor { name: "plain", rename: as_is, schemas: SchemaForm::AsWritten, tool, list: bare, read, results };

/// A message, its list of blocks, or one block alone.
fn read(answer: &Value) -> Option<Read> {
    let content = match answer {
        Value::Array(_) => answer.clone(),
        Value::Object(message) => message.get("content").cloned().unwrap_or_else(|| json!([answer])),
        _ => return None,
    };
    let (text, uses) = parts(&content)?;
    let said = text.join("\n");
    let messages =
        if said.is_empty() { Vec::new() } else { vec![json!({ "role": "assistant", "content": said })] };
    Some(Read { messages, text, uses })
}

fn results(results: &[ToolResult]) -> Vec<Value> {
    let result = |result: &ToolResult| {
        let mut message = json!({ "role": "tool", "content": result.content });
        if result.is_error {
            message["is_error"] = json!(true);
        }
        message
    };
    results.iter().map(result).collect()
}
