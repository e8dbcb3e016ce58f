//! Streamed answers of models, put together into what they would have been in one piece.

use serde_json::{Value, json};

use super::bridge::word;

/// What a streamed answer is put together from.
pub(super) trait Assemble: Send {
    /// Takes the data of one event; gives the text to show at once.
    fn take(&mut self, data: &Value) -> Option<String>;

    /// The whole answer.
    fn whole(self: Box<Self>) -> Value;
}

/// Anthropic's events: blocks begin, grow and end.
#[derive(Default)]
pub(super) struct Blocks(Vec<(Value, String)>);

impl Assemble for Blocks {
    fn take(&mut self, data: &Value) -> Option<String> {
        let place = usize::try_from(data["index"].as_u64().unwrap_or_default()).unwrap_or_default();
        match data["type"].as_str()? {
            "content_block_start" if place == self.0.len() && data["content_block"].is_object() => {
                self.0.push((data["content_block"].clone(), String::new()));
                word(&data["content_block"], "text").filter(|text| !text.is_empty())
            }
            "content_block_delta" => {
                let (block, json) = self.0.get_mut(place)?;
                let delta = &data["delta"];
                if let Some(part) = word(delta, "partial_json") {
                    json.push_str(&part);
                    return None;
                }
                for member in ["text", "thinking", "signature"] {
                    if let (Some(part), Some(block)) = (word(delta, member), block.as_object_mut()) {
                        extend(block.entry(member).or_insert(Value::Null), &part);
                    }
                }
                word(delta, "text")
            }
            _ => None,
        }
    }

    fn whole(self: Box<Self>) -> Value {
        let blocks = self.0.into_iter().map(|(mut block, text)| {
            if block["type"] == "tool_use" && !text.is_empty() {
                // Arguments that are no JSON stay a text, which the bridge tells the model.
                block["input"] = serde_json::from_str(&text).unwrap_or(Value::String(text));
            }
            block
        });
        json!({ "role": "assistant", "content": blocks.collect::<Vec<_>>() })
    }
}

/// OpenAI's chunks: text and the pieces of each call.
#[derive(Default)]
pub(super) struct Chunks {
    text: String,
    reasoning: String,
    calls: Vec<Value>,
}

impl Assemble for Chunks {
    fn take(&mut self, data: &Value) -> Option<String> {
        let delta = data.pointer("/choices/0/delta")?;
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            let place = usize::try_from(piece["index"].as_u64().unwrap_or_default()).unwrap_or_default();
            if place == self.calls.len() {
                let empty =
                    json!({ "id": null, "type": "function", "function": { "name": "", "arguments": "" } });
                self.calls.push(empty);
            }
            let Some(call) = self.calls.get_mut(place) else { continue };
            if let Some(id) = word(piece, "id") {
                call["id"] = json!(id);
            }
            for member in ["name", "arguments"] {
                extend(&mut call["function"][member], piece["function"][member].as_str().unwrap_or_default());
            }
        }
        if let Some(more) = word(delta, "reasoning_content") {
            self.reasoning.push_str(&more);
        }
        let text = word(delta, "content").filter(|text| !text.is_empty())?;
        self.text.push_str(&text);
        Some(text)
    }

    fn whole(self: Box<Self>) -> Value {
        let content = if self.text.is_empty() { Value::Null } else { Value::String(self.text) };
        let mut message = json!({ "role": "assistant", "content": content });
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = Value::String(self.reasoning);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = Value::Array(self.calls);
        }
        message
    }
}

/// Adds to a text in its place: pieces are many and short, and to copy what there is for each would be quadratic.
fn extend(text: &mut Value, more: &str) {
    match text {
        Value::String(so_far) => so_far.push_str(more),
        other => *other = Value::from(more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole answer of these events.
    fn check(mut assembler: impl Assemble + 'static, events: Value, expect: Value) {
        for event in events.as_array().into_iter().flatten() {
            assembler.take(event);
        }
        assert_eq!(Box::new(assembler).whole(), expect);
    }

    #[test]
    fn a_block_that_is_no_object_is_passed_over() {
        check(
            Blocks::default(),
            json!([
                { "type": "content_block_start", "index": 0, "content_block": "text" },
                { "type": "content_block_delta", "index": 0, "delta": { "text": "x" } },
                { "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": null } },
                { "type": "content_block_delta", "index": 0, "delta": { "text": "hel" } },
                { "type": "content_block_delta", "index": 0, "delta": { "text": "lo" } },
            ]),
            json!({ "role": "assistant", "content": [{ "type": "text", "text": "hello" }] }),
        );
    }

    #[test]
    fn pieces_of_a_call_are_put_together() {
        let piece = |function: Value| json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "c", "function": function }] } }] });
        check(
            Chunks::default(),
            json!([piece(json!({ "name": "add", "arguments": "{\"a\"" })), piece(json!({ "name": 5, "arguments": ":1}" })), { "choices": [] }]),
            json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": "c", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1}" } }] }),
        );
    }
}
