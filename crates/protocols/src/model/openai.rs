//! OpenAI's Chat Completions: `tool_calls` whose arguments are text, one `tool` message per result, of text only.

use serde_json::{Value, json};

use super::adapt::{is_strict, object_on_top};
use super::bridge::{
    CallForm, Read, SchemaForm, ToolResult, ToolUse, Vendor, as_is, bare, cut, text_object, word,
};

/// The longest description of a function; a request with a longer one is refused whole.
pub(super) const LONGEST_DESCRIPTION: usize = 1_024;

pub(super) const OPENAI: Vendor =
    Vendor { name: "openai", rename: as_is, schemas: SchemaForm::AsWritten, tool, list: bare, read, results };

fn tool(name: &str, description: &str, schema: &Value) -> Value {
    let parameters = object_on_top(schema);
    let description = cut(description, LONGEST_DESCRIPTION);
    let mut function = json!({ "name": name, "description": description, "parameters": parameters });
    if is_strict(&parameters) {
        function["strict"] = json!(true);
    }
    json!({ "type": "function", "function": function })
}

/// A whole completion, or the message of its first choice.
fn read(answer: &Value) -> Option<Read> {
    let message = answer.pointer("/choices/0/message").unwrap_or(answer);
    if ["content", "tool_calls", "function_call"].iter().all(|member| message.get(member).is_none()) {
        return None;
    }
    let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let legacy = message.get("function_call").filter(|call| call.is_object());
    let uses = calls.map(tool_use).chain(legacy.map(legacy_use)).collect();
    let mut kept = json!({ "role": "assistant", "content": message.get("content") });
    // Some models of other makers want their reasoning back with the results.
    for member in ["tool_calls", "function_call", "reasoning_content"] {
        if let Some(value) = message.get(member).filter(|value| !value.is_null() && **value != json!([])) {
            kept[member] = value.clone();
        }
    }
    Some(Read { messages: vec![kept], text: texts(&message["content"]), uses })
}

/// Content is one text or a list of parts.
fn texts(content: &Value) -> Vec<String> {
    let parts = content.as_array().into_iter().flatten().filter_map(|part| word(part, "text"));
    content.as_str().map(str::to_owned).into_iter().chain(parts).collect()
}

fn tool_use(call: &Value) -> ToolUse {
    let id = word(call, "id");
    if let Some(custom) = call.get("custom").filter(|custom| custom.is_object()) {
        return ToolUse::custom(id, word(custom, "name").unwrap_or_default());
    }
    function_use(id, &call["function"], CallForm::Function)
}

fn legacy_use(call: &Value) -> ToolUse {
    function_use(None, call, CallForm::LegacyFunction)
}

fn function_use(id: Option<String>, function: &Value, form: CallForm) -> ToolUse {
    let name = word(function, "name").unwrap_or_default();
    ToolUse { id, name, input: text_object(function.get("arguments")), form }
}

fn results(results: &[ToolResult]) -> Vec<Value> {
    results.iter().map(result).collect()
}

fn result(result: &ToolResult) -> Value {
    let text = result.marked_text();
    match result.asked.form {
        CallForm::Function | CallForm::Custom => {
            json!({ "role": "tool", "tool_call_id": result.asked.id, "content": text })
        }
        CallForm::LegacyFunction => {
            json!({ "role": "function", "name": result.asked.name, "content": text })
        }
    }
}
