//! The shape that `results` of a step gives: every member it lists must be there, of the same type.

use serde_json::{Map, Value};

/// What is wrong with a result; nothing when it has the shape. More than the shape lists is fine.
pub(super) fn misfit(shape: &Map<String, Value>, result: &Value) -> Option<String> {
    members(shape, result, "")
}

fn members(shape: &Map<String, Value>, result: &Value, at: &str) -> Option<String> {
    shape.iter().find_map(|(name, wanted)| {
        let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        match result.get(name) {
            Some(given) => value(wanted, given, &at),
            None => Some(format!("`{at}` is missing")),
        }
    })
}

fn value(wanted: &Value, given: &Value, at: &str) -> Option<String> {
    match (wanted, given) {
        // Nothing is said of it but that it is there.
        (Value::Null, _) => None,
        (Value::Object(shape), Value::Object(_)) => members(shape, given, at),
        // The first item speaks for all.
        (Value::Array(shape), Value::Array(items)) => match (shape.first(), items.first()) {
            (Some(wanted), Some(given)) => value(wanted, given, &format!("{at}[0]")),
            _ => None,
        },
        _ if kind(wanted) == kind(given) => None,
        _ => Some(format!("`{at}` is {} where {} is expected", kind(given), kind(wanted))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(shape: Value, result: Value, expect: Option<&str>) {
        let Value::Object(shape) = shape else { panic!("a shape is an object") };
        assert_eq!(misfit(&shape, &result).as_deref(), expect);
    }

    #[test]
    fn listed_members_must_be_there_and_of_their_type() {
        check(json!({}), json!({ "more": 1 }), None);
        check(json!({ "id": 0 }), json!({ "id": 7.5, "more": 1 }), None);
        check(json!({ "id": 0 }), json!({ "id": "7" }), Some("`id` is a string where a number is expected"));
        check(json!({ "id": 0 }), json!({}), Some("`id` is missing"));
        check(json!({ "any": null }), json!({ "any": [1] }), None);
    }

    #[test]
    fn depth_and_first_items_are_looked_at() {
        check(json!({ "a": { "b": "" } }), json!({ "a": {} }), Some("`a.b` is missing"));
        check(
            json!({ "l": [{ "x": 0 }] }),
            json!({ "l": [{ "x": true }] }),
            Some("`l[0].x` is a boolean where a number is expected"),
        );
        check(json!({ "l": [0] }), json!({ "l": [] }), None);
    }
}
