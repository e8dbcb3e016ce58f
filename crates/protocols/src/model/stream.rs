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
            "content_block_start" if place == self.0.len() => {
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
                    if let Some(part) = word(delta, member) {
                        let so_far = block[member].as_str().unwrap_or_default().to_owned();
                        block[member] = json!(so_far + &part);
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
                let so_far = call["function"][member].as_str().unwrap_or_default().to_owned();
                let more = piece["function"][member].as_str().unwrap_or_default();
                call["function"][member] = json!(so_far + more);
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
