//! OpenAI's Responses: `function_call` items in, `function_call_output` items back.

use serde_json::{Value, json};

use super::adapt::{is_strict, object_on_top};
use super::bridge::{Read, ToolResult, ToolUse, Vendor, as_is, bare, text_object, word};

pub(super) const RESPONSES: Vendor =
    Vendor { name: "openai-responses", rename: as_is, tool, list: bare, read, results };

/// Strict is the default there, so that it has to be denied.
fn tool(name: &str, description: &str, schema: &Value) -> Value {
    let parameters = object_on_top(schema);
    let strict = is_strict(&parameters);
    json!({ "type": "function", "name": name, "description": description, "parameters": parameters, "strict": strict })
}

/// A whole response, or its list of output items.
fn read(answer: &Value) -> Option<Read> {
    let items = answer.get("output").unwrap_or(answer).as_array()?;
    let (mut text, mut uses) = (Vec::new(), Vec::new());
    for item in items {
        match word(item, "type").as_deref() {
            Some("function_call") => uses.push(ToolUse {
                id: word(item, "call_id"),
                name: word(item, "name")?,
                input: text_object(item.get("arguments")),
            }),
            Some("message") => {
                let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
                text.extend(parts.filter_map(|part| word(part, "text")));
            }
            _ => {}
        }
    }
    Some(Read { messages: items.clone(), text, uses })
}

fn results(results: &[ToolResult]) -> Vec<Value> {
    let result = |result: &ToolResult| {
        let text = if result.is_error { format!("Error: {}", result.text()) } else { result.text() };
        json!({ "type": "function_call_output", "call_id": result.asked.id, "output": text })
    };
    results.iter().map(result).collect()
}
