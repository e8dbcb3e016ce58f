//! The beginning of a value, long enough to quote it in a message: an error that is kept must not hold a copy of
//! megabytes.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// How many characters of a value are quoted in a message.
pub(super) const MOST_QUOTED: usize = 60;
/// How many characters a preview has at least when something was cut: more than is quoted.
const MOST_KEPT: usize = MOST_QUOTED + 20;
/// Stands for a value that an error did not have room for.
const UNKNOWN: &str = "\u{0}unknown";

/// The value itself when it is one number or short text, else its beginning. The JSON text of both is the same as
/// far as it is quoted.
pub(super) fn preview(value: &Value) -> Cow<'_, Value> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Cow::Borrowed(value),
        Value::String(text) if text.len() <= MOST_KEPT => Cow::Borrowed(value),
        _ => Cow::Owned(beginning(value, &mut { MOST_KEPT })),
    }
}

/// The value of an error for which there was no room.
pub(super) fn unknown() -> Value {
    Value::from(UNKNOWN)
}

pub(super) fn is_unknown(value: &Value) -> bool {
    value == UNKNOWN
}

/// Copies until so many characters are copied.
fn beginning(value: &Value, left: &mut usize) -> Value {
    *left = left.saturating_sub(1);
    match value {
        Value::String(text) => {
            let cut: String = text.chars().take(*left + 1).collect();
            *left = left.saturating_sub(cut.chars().count());
            Value::String(cut)
        }
        Value::Array(items) => {
            let mut kept = Vec::new();
            for item in items {
                if *left == 0 {
                    break;
                }
                kept.push(beginning(item, left));
            }
            Value::Array(kept)
        }
        Value::Object(members) => {
            let mut kept = Map::new();
            for (name, member) in members {
                if *left == 0 {
                    break;
                }
                let cut: String = name.chars().take(*left + 1).collect();
                *left = left.saturating_sub(cut.chars().count());
                kept.insert(cut, beginning(member, left));
            }
            Value::Object(kept)
        }
        other => other.clone(),
    }
}
