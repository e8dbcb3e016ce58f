//! Gemini: `functionCall` parts in, one content of `functionResponse` parts back.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::adapt::gemini;
use super::bridge::{CallForm, Read, SchemaForm, ToolResult, ToolUse, Vendor, object, word};
use super::shown::Shown;

/// The longest name there.
const LONGEST_NAME: usize = 63;

pub(super) const GEMINI: Vendor =
    Vendor { name: "gemini", rename, schemas: SchemaForm::WithoutReferences, tool, list, read, results };

/// Names begin with a letter or `_`, and are a letter shorter than elsewhere.
fn rename(flat: &str) -> Cow<'_, str> {
    let mut name = Cow::Borrowed(flat);
    if !flat.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        name = Cow::Owned(format!("_{flat}"));
    }
    if name.len() > LONGEST_NAME {
        // The end of a long name is a hash, and so the part that must stay.
        name = Cow::Owned(format!("{}{}", &name[..LONGEST_NAME - 9], &name[name.len() - 9..]));
    }
    name
}

fn tool(name: &str, description: &str, schema: &Value) -> Value {
    let parameters = gemini(schema);
    let mut function = json!({ "name": name, "description": description });
    // An object without properties is refused there.
    if parameters["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        function["parameters"] = parameters;
    }
    function
}

/// A group of no functions is refused there, an empty list of groups is not.
fn list(tools: Vec<Value>) -> Value {
    if tools.is_empty() { json!([]) } else { json!([{ "functionDeclarations": tools }]) }
}

/// A whole answer, or the content of its first candidate, which has no parts when the model said nothing.
fn read(answer: &Value) -> Option<Read> {
    let content = match answer.pointer("/candidates/0") {
        Some(candidate) => candidate.get("content").unwrap_or(&Value::Null),
        None => answer.get("parts").map(|_| answer)?,
    };
    let parts: Vec<Value> =
        content.get("parts").and_then(Value::as_array).into_iter().flatten().map(without_nulls).collect();
    let (mut text, mut uses) = (Vec::new(), Vec::new());
    for part in &parts {
        text.extend(word(part, "text").filter(|_| part["thought"] != json!(true)));
        // Google's Python SDK writes names of its own when it is not asked for the aliases.
        if let Some(call) = part.get("functionCall").or_else(|| part.get("function_call")) {
            uses.push(ToolUse {
                id: word(call, "id"),
                name: word(call, "name")?,
                input: object(call.get("args")),
                form: CallForm::Function,
            });
        }
    }
    let said = |parts: Vec<Value>| json!({ "role": "model", "parts": parts });
    let messages = if parts.is_empty() { Vec::new() } else { vec![said(parts)] };
    Some(Read { messages, text, uses })
}

/// SDKs write every member that they know; one that is null is absent. Arguments are left as they are.
fn without_nulls(part: &Value) -> Value {
    let Value::Object(members) = part else { return part.clone() };
    let kept = members.iter().filter(|(_, value)| !value.is_null());
    kept.map(|(name, value)| {
        let whole = name == "args" || name == "response";
        (name.clone(), if whole { value.clone() } else { without_nulls(value) })
    })
    .collect()
}

fn results(results: &[ToolResult]) -> Vec<Value> {
    if results.is_empty() {
        return Vec::new();
    }
    let parts: Vec<Value> = results.iter().map(result).collect();
    vec![json!({ "role": "user", "parts": parts })]
}

fn result(result: &ToolResult) -> Value {
    let mut part = json!({ "name": result.asked.name, "response": response(result) });
    let images: Vec<Value> = result.shown().filter_map(image).collect();
    if !images.is_empty() {
        part["parts"] = json!(images);
    }
    if let Some(id) = &result.asked.id {
        part["id"] = json!(id);
    }
    json!({ "functionResponse": part })
}

/// The value, unless it may hold the bytes of an image or a sound: then the texts around them.
fn response(result: &ToolResult) -> Value {
    let only_text = result.content.iter().all(|block| block.as_text().is_some());
    match &result.value {
        _ if result.is_error => json!({ "error": result.text() }),
        Some(Value::Object(object)) if only_text => json!(object),
        Some(value) if only_text => json!({ "result": value }),
        _ => {
            let texts = result.shown().filter_map(|shown| match shown {
                Shown::Text(text) => Some(text),
                Shown::Image { .. } => None,
            });
            json!({ "result": texts.collect::<Vec<_>>().join("\n") })
        }
    }
}

fn image(shown: Shown) -> Option<Value> {
    match shown {
        Shown::Text(_) => None,
        Shown::Image { kind, data } => Some(json!({ "inlineData": { "mimeType": kind, "data": data } })),
    }
}
