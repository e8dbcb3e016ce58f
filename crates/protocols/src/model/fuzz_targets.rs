//! Invariants of what models answer, whole and streamed, and of schemas as vendors want them.

use serde_json::{Value, json};

use super::VENDORS;
use super::bridge::Read;
use super::stream::{Assemble, Blocks, Chunks};
use crate::fuzz_targets::{Target, examples};

pub(crate) const TARGETS: &[Target] = &[
    ("model_answer", answer_examples, answer),
    ("model_stream", stream_examples, stream),
    ("model_tool", tool_examples, tool),
];

fn answer_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"content":[{"type":"text","text":"hello"},{"type":"tool_use","id":"t1","name":"add","input":{"a":1}}]}"#,
        r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}],"function_call":{"name":"f","arguments":""}}}]}"#,
        r#"{"output":[{"type":"function_call","call_id":"c","name":"add","arguments":"[1]"},{"type":"message","content":[{"type":"output_text","text":"x"}]},{"type":"custom_tool_call","call_id":"d"}]}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"x","thought":true},{"functionCall":{"id":null,"name":"add","args":{"a":null}}}]}}]}"#,
        r#"[{"type":"tool_use","name":"add","input":null}]"#,
    ])
}

/// What a model asks for is what stands in its answer: no call, text or id is made up, and reading costs no more than
/// the answer is long.
fn answer(data: &[u8]) {
    let Ok(answer) = serde_json::from_slice::<Value>(data) else { return };
    let whole = texts(&answer);
    for vendor in VENDORS {
        let Some(Read { messages, text, uses }) = (vendor.read)(&answer) else { continue };
        for word in text
            .iter()
            .chain(uses.iter().map(|call| &call.name))
            .chain(uses.iter().filter_map(|call| call.id.as_ref()))
        {
            assert!(word.is_empty() || whole.contains(word), "{}: `{word}` was not said", vendor.name);
        }
        let size: usize = messages.iter().map(|message| message.to_string().len()).sum();
        assert!(size <= 4 * data.len() + 256, "{}: {size} bytes of messages", vendor.name);
    }
}

/// Every text in a value.
fn texts(value: &Value) -> std::collections::HashSet<String> {
    match value {
        Value::String(text) => [text.clone()].into(),
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => [].into(),
    }
}

fn stream_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"[{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hel"}},{"type":"content_block_delta","index":0,"delta":{"text":"lo"}},{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"add","input":{}}},{"type":"content_block_delta","index":1,"delta":{"partial_json":"{\"a\":"}},{"type":"content_block_delta","index":1,"delta":{"partial_json":"1}"}}]"#,
        r#"[{"choices":[{"delta":{"content":"hel","reasoning_content":"r"}}]},{"choices":[{"delta":{"content":"lo","tool_calls":[{"index":0,"id":"c1","function":{"name":"add","arguments":"{\"a\""}}]}}]},{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"id":"c2","function":{"name":"sub"}}]}}]}]"#,
    ])
}

/// What is shown while an answer comes is what stands in the whole of it, which is no longer than all that came.
fn stream(data: &[u8]) {
    let Ok(Value::Array(events)) = serde_json::from_slice::<Value>(data) else { return };
    let assemblers: [Box<dyn Assemble>; 2] = [Box::new(Blocks::default()), Box::new(Chunks::default())];
    for mut assembler in assemblers {
        let shown: String = events.iter().filter_map(|event| assembler.take(event)).collect();
        let whole = assembler.whole();
        assert_eq!(whole["role"], "assistant");
        assert!(whole.to_string().len() <= 8 * data.len() + 1_024, "{} bytes", whole.to_string().len());
        if let Some(content) = whole["content"].as_str() {
            assert_eq!(content, shown);
        }
    }
}

fn tool_examples() -> Vec<Vec<u8>> {
    let schema = json!({ "type": ["object", "null"], "properties": {
        "a": { "type": "integer", "minimum": 1, "format": "int32" }, "b": { "enum": ["x", 1, null] },
        "c": { "anyOf": [{ "type": "string" }, { "type": "null" }] }, "d": { "type": "array" }, "e": { "$ref": "#/$defs/e" } },
        "$defs": { "e": { "type": "object", "properties": { "e": { "$ref": "#/$defs/e" } } } },
        "required": ["a"], "additionalProperties": false, "oneOf": [{}] });
    let choice = json!({ "properties": { "x": { "const": 5, "oneOf": [{ "const": "a" }, { "const": "b" }] }, "y": { "allOf": [{ "type": "number" }] } } });
    [schema, choice].map(|schema| schema.to_string().into_bytes()).to_vec()
}

/// Every schema becomes a tool for every vendor, with a name that the vendor takes.
fn tool(data: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(data) else { return };
    for vendor in VENDORS {
        let name = (vendor.rename)("Kit_add");
        let tool = (vendor.tool)(&name, &"long ".repeat(300), &schema);
        assert_eq!(tool, (vendor.tool)(&name, &"long ".repeat(300), &schema));
        assert!(texts(&tool).contains(&*name), "{tool}");
        let size = (vendor.list)(vec![tool]).to_string().len();
        assert!(size <= 60_000 * (data.len() + 64), "{}: {size} bytes", vendor.name);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
