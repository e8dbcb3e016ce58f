//! What OpenTool has no member for, as words at the end of a description.

use serde_json::{Map, Value};

/// The longest value told in words.
const MOST_LETTERS: usize = 300;

/// Keywords that say nothing about values, and those that OpenTool has members for.
const SILENT: [&str; 22] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "allOf",
    "anyOf",
    "const",
    "definitions",
    "deprecated",
    "description",
    "enum",
    "items",
    "oneOf",
    "properties",
    "readOnly",
    "required",
    "title",
    "type",
    "writeOnly",
];

/// Words about a value, in the order in which they came up.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    /// Adds a remark.
    pub(super) fn say(&mut self, words: impl Into<String>) {
        let words = words.into();
        if !self.0.contains(&words) {
            self.0.push(words);
        }
    }

    /// Adds every keyword of a schema that OpenTool has no member for.
    pub(super) fn keywords(&mut self, schema: &Map<String, Value>) {
        let is_number = matches!(schema.get("type").and_then(Value::as_str), Some("integer" | "number"));
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                // A caller that sends what is listed never meets these.
                ("additionalProperties" | "unevaluatedProperties", Value::Bool(_))
                | ("uniqueItems", Value::Bool(false)) => {}
                // How many bits a number has is no news to whoever writes it in decimals.
                ("format", _) if is_number => {}
                ("uniqueItems", _) => self.say("no item twice"),
                (name, _) if SILENT.contains(&name) => {}
                // Nothing else with `$` or `x-` in front is about values.
                (name, _) if name.starts_with('$') || name.starts_with("x-") => {}
                (name, value) => self.say(format!("{name}: {}", told(value))),
            }
        }
    }

    /// The description with the remarks behind it.
    pub(super) fn behind(self, description: Option<&str>) -> Option<String> {
        let description = description.filter(|text| !text.is_empty());
        match (description, self.0.is_empty()) {
            (description, true) => description.map(str::to_owned),
            (Some(text), false) => Some(format!("{text} ({})", self.0.join("; "))),
            (None, false) => Some(format!("({})", self.0.join("; "))),
        }
    }
}

/// A value in words, cut when long.
pub(super) fn told(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
