//! OpenAI's Responses: `function_call` items in, `function_call_output` items back.

use serde_json::{Value, json};

use super::adapt::{is_strict, object_on_top};
use super::bridge::{
    CallForm, Read, SchemaForm, ToolResult, ToolUse, Vendor, as_is, bare, cut, text_object, word,
};
use super::openai::LONGEST_DESCRIPTION;
use super::shown::Shown;

pub(super) const RESPONSES: Vendor = Vendor {
    name: "openai-responses",
    rename: as_is,
    schemas: SchemaForm::AsWritten,
    tool,
    list: bare,
    read,
    results,
};

/// Strict is the default there, so that it has to be denied.
fn tool(name: &str, description: &str, schema: &Value) -> Value {
    let parameters = object_on_top(schema);
    let strict = is_strict(&parameters);
    let description = cut(description, LONGEST_DESCRIPTION);
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
                form: CallForm::Function,
            }),
            Some("custom_tool_call") => {
                uses.push(ToolUse::custom(word(item, "call_id"), word(item, "name").unwrap_or_default()));
            }
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
    results.iter().map(result).collect()
}

fn result(result: &ToolResult) -> Value {
    let kind = match result.asked.form {
        CallForm::Function | CallForm::LegacyFunction => "function_call_output",
        CallForm::Custom => "custom_tool_call_output",
    };
    json!({ "type": kind, "call_id": result.asked.id, "output": output(result) })
}

/// One text, or a list of parts as soon as there is an image.
fn output(result: &ToolResult) -> Value {
    let has_image = result.shown().any(|shown| matches!(shown, Shown::Image { .. }));
    if result.is_error || !has_image {
        return json!(result.marked_text());
    }
    result.shown().map(part).collect()
}

fn part(shown: Shown) -> Value {
    match shown {
        Shown::Text(text) => json!({ "type": "input_text", "text": text }),
        Shown::Image { kind, data } => {
            json!({ "type": "input_image", "image_url": format!("data:{kind};base64,{data}") })
        }
    }
}
