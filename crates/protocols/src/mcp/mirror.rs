//! Parameters mirrored as headers: a schema's `x-mcp-header` puts an argument into `Mcp-Param-…`, so that
//! things on the way can route without reading bodies.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

const ANNOTATION: &str = "x-mcp-header";
/// Objects nested deeper than this mirror nothing.
const DEEPEST: usize = 16;

/// The header of every annotated parameter, and the value it must have; none when the argument is absent.
pub(super) fn headers(schema: &Value, arguments: &Map<String, Value>) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    walk(schema, Some(arguments), DEEPEST, &mut |name, _, value| {
        found.push((format!("mcp-param-{}", name.to_ascii_lowercase()), value.and_then(written)));
    });
    found
}

/// True when any parameter is annotated.
pub(super) fn mirrors(schema: &Value) -> bool {
    let mut any = false;
    walk(schema, None, DEEPEST, &mut |_, _, _| any = true);
    any
}

/// What is wrong with a schema's annotations; clients must not use a tool that has any such fault.
pub(super) fn fault(schema: &Value) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    let mut fault = None;
    walk(schema, None, DEEPEST, &mut |name, property, _| {
        let kind = property.get("type").and_then(Value::as_str).unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        if !is_token(name) {
            fault = Some(format!("`{name}` cannot be the name of a header"));
        } else if !matches!(kind, "string" | "integer" | "boolean") {
            fault = Some(format!("a parameter of type `{kind}` cannot be mirrored as a header"));
        } else if names.contains(&lower) {
            fault = Some(format!("two parameters are mirrored as `{name}`"));
        }
        names.push(lower);
    });
    fault.or_else(|| {
        stray(schema, DEEPEST)
            .then(|| "an annotation is on a value that cannot be sent as a header".to_owned())
    })
}

/// A header value, as it was before it was made fit for a header.
pub(super) fn read(header: &str) -> Option<Cow<'_, str>> {
    match header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(header.trim_matches([' ', '\t']))),
    }
}

/// A text made fit for a header.
pub(super) fn write(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|b| (0x20..0x7f).contains(&b))
        && text.trim_matches([' ', '\t']) == text
        && !text.starts_with("=?base64?");
    if plain { text.into() } else { format!("=?base64?{}?=", STANDARD.encode(text)).into() }
}

fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn walk<'a>(
    schema: &'a Value,
    arguments: Option<&'a Map<String, Value>>,
    depth: usize,
    found: &mut dyn FnMut(&str, &'a Value, Option<&'a Value>),
) {
    let Some(properties) = member(schema, "properties").and_then(Value::as_object) else { return };
    for (key, property) in properties {
        let value = || arguments.and_then(|arguments| arguments.get(key));
        if let Some(annotation) = member(property, ANNOTATION) {
            found(annotation.as_str().unwrap_or_default(), property, value());
        }
        if depth > 0 && member(property, "properties").is_some() {
            walk(property, value().and_then(Value::as_object), depth - 1, found);
        }
    }
}

/// A member of a schema. Schemas have few members: to compare their names is quicker than to hash them.
fn member<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.as_object()?.iter().find_map(|(key, value)| (key == name).then_some(value))
}

/// True when an annotation stands anywhere but on a property reached through properties.
fn stray(schema: &Value, depth: usize) -> bool {
    let Some(members) = schema.as_object().filter(|_| depth > 0) else { return false };
    members.iter().any(|(key, value)| match key.as_str() {
        "properties" => value.as_object().is_some_and(|each| each.values().any(|p| stray(p, depth - 1))),
        "default" | "examples" | "const" | "enum" => false,
        _ => holds(value, depth),
    })
}

fn holds(value: &Value, depth: usize) -> bool {
    match value {
        Value::Object(members) if depth > 0 => {
            members.contains_key(ANNOTATION) || members.values().any(|value| holds(value, depth - 1))
        }
        Value::Array(items) => items.iter().any(|value| holds(value, depth)),
        _ => false,
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, arguments: &Value, expect: &[(&str, Option<&str>)]) {
        let found = headers(schema, arguments.as_object().unwrap());
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn annotated_parameters_are_found_through_properties() {
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
            "plain": { "type": "string" } } });
        check(
            &schema,
            &json!({ "region": "eu", "deep": { "n": 3 } }),
            &[("mcp-param-region", Some("eu")), ("mcp-param-n", Some("3"))],
        );
        check(&schema, &json!({ "region": null }), &[("mcp-param-region", None), ("mcp-param-n", None)]);
        assert_eq!(fault(&schema), None);
    }

    #[test]
    fn texts_that_no_header_holds_are_encoded() {
        for text in ["plain", "", " padded ", "grün", "=?base64?x?="] {
            assert_eq!(read(&write(text)).as_deref(), Some(text));
        }
        assert_eq!(write("grün"), "=?base64?Z3LDvG4=?=");
    }

    #[test]
    fn malformed_annotations_are_named() {
        let bad = |property: Value| fault(&json!({ "properties": { "a": property } })).is_some();
        assert!(bad(json!({ "type": "string", "x-mcp-header": "" })));
        assert!(bad(json!({ "type": "string", "x-mcp-header": "a b" })));
        assert!(bad(json!({ "type": "number", "x-mcp-header": "A" })));
        assert!(bad(json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "A" } })));
        assert!(!bad(json!({ "type": "boolean", "x-mcp-header": "A" })));
    }
}
