//! OpenAI's Chat Completions: `tool_calls` whose arguments are text, one `tool` message per result.

use serde_json::{Value, json};

use super::adapt::{is_strict, object_on_top};
use super::bridge::{Read, ToolResult, ToolUse, Vendor, as_is, bare, text_object, word};

pub(super) const OPENAI: Vendor = Vendor { name: "openai", rename: as_is, tool, list: bare, read, results };

fn tool(name: &str, description: &str, schema: &Value) -> Value {
    let parameters = object_on_top(schema);
    let mut function = json!({ "name": name, "description": description, "parameters": parameters });
    if is_strict(&parameters) {
        function["strict"] = json!(true);
    }
    json!({ "type": "function", "function": function })
}

/// A whole completion, or the message of its first choice.
fn read(answer: &Value) -> Option<Read> {
    let message = answer.pointer("/choices/0/message").unwrap_or(answer);
    if message.get("content").is_none() && message.get("tool_calls").is_none() {
        return None;
    }
    let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let uses = calls.map(tool_use).collect::<Option<Vec<_>>>()?;
    let mut kept = json!({ "role": "assistant", "content": message.get("content") });
    if !uses.is_empty() {
        kept["tool_calls"] = message["tool_calls"].clone();
    }
    Some(Read { messages: vec![kept], text: word(message, "content").into_iter().collect(), uses })
}

fn tool_use(call: &Value) -> Option<ToolUse> {
    let function = call.get("function")?;
    Some(ToolUse {
        id: word(call, "id"),
        name: word(function, "name")?,
        input: text_object(function.get("arguments")),
    })
}

fn results(results: &[ToolResult]) -> Vec<Value> {
    let result = |result: &ToolResult| {
        let text = if result.is_error { format!("Error: {}", result.text()) } else { result.text() };
        json!({ "role": "tool", "tool_call_id": result.asked.id, "content": text })
    };
    results.iter().map(result).collect()
}
