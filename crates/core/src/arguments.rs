//! The arguments of a call: the text as it came, and the value that was validated.

use std::sync::OnceLock;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json_text::{RawJson, raw_of, read_strict};

/// The value of a longer text is freed once it was validated: many sources pass on the text alone, and a call
/// may take long.
const LONG: usize = 256 << 10;

/// Always a JSON object. The text is what sources pass on, the value is what we look into.
#[derive(Clone, Debug)]
pub struct Arguments {
    text: RawJson,
    /// Read again from the text when it was freed.
    value: OnceLock<Value>,
}

/// Why a text cannot be the arguments of a call.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentsError {
    /// The text is not JSON, is nested too deeply, or repeats a key.
    #[error("arguments cannot be read: {0}")]
    NotRead(serde_json::Error),
    /// The text is JSON of another kind.
    #[error("arguments must be a JSON object, not {0}")]
    NotAnObject(&'static str),
}

impl Arguments {
    /// An object without members.
    pub fn none() -> Self {
        Arguments::from_map(Map::new())
    }

    /// Arguments made by us rather than received.
    pub fn from_map(map: Map<String, Value>) -> Self {
        let value = Value::Object(map);
        Arguments { text: raw_of(&value), value: value.into() }
    }

    /// Reads received text; absent and `null` mean no arguments.
    pub fn read(text: Option<&RawValue>) -> Result<Self, ArgumentsError> {
        let Some(text) = text.filter(|text| text.get() != "null") else { return Ok(Arguments::none()) };
        match read_strict(text.get()).map_err(ArgumentsError::NotRead)? {
            value @ Value::Object(_) => Ok(Arguments { text: text.to_owned(), value: value.into() }),
            other => Err(ArgumentsError::NotAnObject(kind_of(&other))),
        }
    }

    /// The text as it came, numbers of any size included.
    pub fn text(&self) -> &RawValue {
        &self.text
    }

    /// The value that the schema was checked against.
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| read_strict(self.text.get()).expect("the text was read before"))
    }

    /// Frees the value of a long text; whoever asks for it again has it read again.
    pub(crate) fn free_value(&mut self) {
        if self.text.get().len() > LONG {
            self.value.take();
        }
    }

    /// The arguments by their names.
    pub fn map(&self) -> &Map<String, Value> {
        self.value().as_object().expect("arguments are always an object")
    }
}

/// The JSON word for a value's kind.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(length: usize, is_freed: bool) {
        let text = serde_json::json!({ "text": "x".repeat(length) });
        let mut arguments = Arguments::read(Some(&raw_of(&text))).expect("an object");
        arguments.free_value();
        assert_eq!(arguments.value.get().is_none(), is_freed);
        assert_eq!(arguments.value(), &text);
        assert_eq!(arguments.map().len(), 1);
    }

    #[test]
    fn the_value_of_a_long_text_is_freed_and_read_again() {
        check(100, false);
        check(LONG, true);
    }
}
