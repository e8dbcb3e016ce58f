//! The pieces that descriptions are made of: schemas with their C types.

use serde_json::{Map, Value, json};
use toolmux_dylib_host::scalar::Class;

use super::c_type::{CType, Types};
use crate::opendyn::document::{C_TYPES, Kind};

/// Most names that one schema offers.
const MOST_NAMES: usize = 80;

/// The JSON type for a C type.
pub(super) fn kind_of(c: &str) -> &'static str {
    let kind = match C_TYPES.iter().find(|(word, _)| *word == c).and_then(|(_, scalar)| *scalar) {
        Some(scalar) => match scalar.class() {
            Class::Bool => Kind::Boolean,
            Class::Float => Kind::Number,
            Class::Signed | Class::Unsigned => Kind::Integer,
        },
        None => Kind::String,
    };
    kind.word()
}

/// One number, by value or by pointer, with the names of its values where it is an enumeration.
pub(super) fn number(types: &Types, c: &CType, pointer: bool) -> Option<Value> {
    let word = types.number(c)?;
    let mut schema = json!({ "type": kind_of(word), "cType": { "type": word, "isPointer": pointer } });
    if let CType::Enum(name) = c {
        add_names(&mut schema, types.enumeration(name).unwrap_or_default());
    }
    Some(schema)
}

/// Offers values by name.
pub(super) fn add_names(schema: &mut Value, values: &[(String, i128)]) {
    let number = |value: i128| i64::try_from(value).map(Value::from).ok();
    let names: Map<String, Value> = values
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), number(*value)?)))
        .take(MOST_NAMES)
        .collect();
    if !names.is_empty() {
        schema["names"] = Value::Object(names);
    }
}

/// A C string.
pub(super) fn text() -> Value {
    json!({ "type": "string", "cType": { "type": "char", "isPointer": true } })
}

/// Bytes, which need a length beside them.
pub(super) fn bytes() -> Value {
    json!({ "type": "string", "cType": { "type": "unsigned char", "isPointer": true } })
}

/// Texts in a row: `char **`.
pub(super) fn texts() -> Value {
    json!({ "type": "array", "cType": { "type": "char", "isPointer": true, "texts": true } })
}

/// Numbers in a row.
pub(super) fn array(word: &str) -> Value {
    json!({ "type": "array", "cType": { "type": word, "isPointer": true } })
}

/// An object of the library.
pub(super) fn handle(kind: &str) -> Value {
    json!({ "type": "string", "cType": { "type": "void", "isPointer": true, "handle": kind } })
}

/// A pointer that is always NULL.
pub(super) fn null() -> Value {
    json!({ "type": "string", "cType": { "type": "void", "isPointer": true }, "const": null })
}

/// A parameter that callers give.
pub(super) fn input(name: &str, schema: Value) -> Value {
    json!({ "name": name, "schema": schema, "isIn": true, "required": true })
}

/// A parameter that the function gives.
pub(super) fn output(name: &str, schema: Value) -> Value {
    json!({ "name": name, "schema": schema, "isIn": false, "required": true })
}
