//! Arguments as a receipt may show them: without what the schema marks as secret, and without known secrets.

use serde_json::Value;

use crate::redact::{REDACTED, redacted};

/// The longest arguments that are kept; of longer ones a receipt has the digest alone.
const LONGEST: usize = 4 << 10;
/// How deep a schema is looked into.
const DEEPEST: usize = 32;

/// The text of arguments without secrets: members that the schema marks with `writeOnly` or the format `password`, and
/// every secret that this server knows. None when they are too long.
pub(crate) fn without_secrets(arguments: &Value, schema: &Value, length: usize) -> Option<Box<str>> {
    if length > LONGEST {
        return None;
    }
    let mut shown = arguments.clone();
    hide(&mut shown, schema, schema, 0);
    Some(redacted(&shown.to_string()).into())
}

fn hide(value: &mut Value, schema: &Value, root: &Value, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    if is_secret(schema) {
        *value = REDACTED.into();
        return;
    }
    let target = schema["$ref"].as_str().and_then(|target| root.pointer(target.strip_prefix('#')?));
    let parts = ["anyOf", "oneOf", "allOf"].iter().filter_map(|word| schema[word].as_array()).flatten();
    for part in target.into_iter().chain(parts) {
        hide(value, part, root, depth + 1);
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let of_member = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                hide(member, of_member, root, depth + 1);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter_mut().enumerate() {
                let of_item = schema["prefixItems"].get(place).unwrap_or(&schema["items"]);
                hide(item, of_item, root, depth + 1);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_secret(schema: &Value) -> bool {
    schema["writeOnly"] == true || schema["format"] == "password"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, arguments: &Value, expect: &Value) {
        let shown = without_secrets(arguments, schema, 1).expect("short enough");
        assert_eq!(serde_json::from_str::<Value>(&shown).expect("JSON"), *expect);
    }

    #[test]
    fn what_a_schema_marks_as_secret_is_not_shown() {
        let password = json!({ "type": "string", "format": "password" });
        let schema = json!({
            "$defs": { "login": { "properties": { "pin": { "writeOnly": true } } } },
            "properties": {
                "password": password,
                "login": { "$ref": "#/$defs/login" },
                "either": { "anyOf": [{ "type": "integer" }, password] },
                "list": { "items": password },
            },
        });
        let given = json!({ "name": "ann", "password": "p", "login": { "pin": 1, "at": 2 }, "either": 3, "list": ["a"] });
        let shown = json!({ "name": "ann", "password": REDACTED, "login": { "pin": REDACTED, "at": 2 },
            "either": REDACTED, "list": [REDACTED] });
        check(&schema, &given, &shown);
    }

    #[test]
    fn known_secrets_are_not_shown() {
        crate::redact::know("receipt-test-secret");
        check(&json!({}), &json!({ "a": "my receipt-test-secret" }), &json!({ "a": "my [redacted]" }));
    }

    #[test]
    fn long_arguments_are_not_kept() {
        assert_eq!(without_secrets(&json!({}), &json!({}), LONGEST + 1), None);
    }
}
