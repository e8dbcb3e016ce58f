//! The arguments of a call: the text as it came, and the value that was validated.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json_text::{RawJson, raw_of, read_strict};

/// Always a JSON object. The text is what sources pass on, the value is what we look into.
#[derive(Clone, Debug)]
pub struct Arguments {
    text: RawJson,
    value: Value,
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
    /// No arguments.
    pub fn none() -> Self {
        Arguments::from_map(Map::new())
    }

    /// Arguments made by us rather than received.
    pub fn from_map(map: Map<String, Value>) -> Self {
        let value = Value::Object(map);
        Arguments { text: raw_of(&value), value }
    }

    /// Reads received text; absent and `null` mean no arguments.
    pub fn read(text: Option<&RawValue>) -> Result<Self, ArgumentsError> {
        let Some(text) = text.filter(|text| text.get() != "null") else { return Ok(Arguments::none()) };
        match read_strict(text.get()).map_err(ArgumentsError::NotRead)? {
            value @ Value::Object(_) => Ok(Arguments { text: text.to_owned(), value }),
            other => Err(ArgumentsError::NotAnObject(kind_of(&other))),
        }
    }

    /// The text as it came, numbers of any size included.
    pub fn text(&self) -> &RawValue {
        &self.text
    }

    /// The value that the schema was checked against.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The members.
    pub fn map(&self) -> &Map<String, Value> {
        self.value.as_object().expect("arguments are always an object")
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
