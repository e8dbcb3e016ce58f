//! Gemini: `functionCall` parts in, one content of `functionResponse` parts back.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::adapt::for_gemini;
use super::bridge::{Read, ToolResult, ToolUse, Vendor, object, word};

/// The longest name there.
const LONGEST_NAME: usize = 63;

pub(super) const GEMINI: Vendor = Vendor { name: "gemini", rename, tool, list, read, results };

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
    let parameters = for_gemini(schema);
    let mut function = json!({ "name": name, "description": description });
    // An object without properties is refused there.
    if parameters["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        function["parameters"] = parameters;
    }
    function
}

fn list(tools: Vec<Value>) -> Value {
    json!([{ "functionDeclarations": tools }])
}

/// A whole answer, or the content of its first candidate.
fn read(answer: &Value) -> Option<Read> {
    let content = answer.pointer("/candidates/0/content").unwrap_or(answer);
    let parts = content.get("parts")?.as_array()?;
    let (mut text, mut uses) = (Vec::new(), Vec::new());
    for part in parts {
        text.extend(word(part, "text").filter(|_| part["thought"] != json!(true)));
        if let Some(call) = part.get("functionCall") {
            uses.push(ToolUse {
                id: word(call, "id"),
                name: word(call, "name")?,
                input: object(call.get("args")),
            });
        }
    }
    Some(Read { messages: vec![json!({ "role": "model", "parts": parts })], text, uses })
}

fn results(results: &[ToolResult]) -> Vec<Value> {
    if results.is_empty() {
        return Vec::new();
    }
    let parts: Vec<Value> = results.iter().map(result).collect();
    vec![json!({ "role": "user", "parts": parts })]
}

fn result(result: &ToolResult) -> Value {
    let response = match &result.value {
        _ if result.is_error => json!({ "error": result.text() }),
        Some(Value::Object(object)) => json!(object),
        Some(value) => json!({ "result": value }),
        None => json!({ "result": result.text() }),
    };
    let mut part = json!({ "name": result.asked.name, "response": response });
    if let Some(id) = &result.asked.id {
        part["id"] = json!(id);
    }
    json!({ "functionResponse": part })
}
