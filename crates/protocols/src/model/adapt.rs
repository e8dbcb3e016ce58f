//! Schemas as vendors want them. Whatever a vendor's form cannot say is left out there and still checked
//! by us.

use serde_json::{Map, Value, json};

/// One of these says what a value is, without which strict mode takes no schema.
const SAYS_WHAT: [&str; 4] = ["type", "anyOf", "$ref", "enum"];
/// What may not stand at the top of a schema for most vendors.
const NOT_ON_TOP: [&str; 6] = ["anyOf", "oneOf", "allOf", "not", "enum", "const"];
/// What Gemini takes as it stands.
const GEMINI_WORDS: [&str; 9] = [
    "title",
    "description",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
];
/// What strict mode understands.
const STRICT: [&str; 24] = [
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
    "title",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "default",
    "$schema",
    "examples",
];

/// An object with properties, and nothing above them that chooses between alternatives.
pub(super) fn object_on_top(schema: &Value) -> Value {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    for word in NOT_ON_TOP {
        schema.remove(word);
    }
    schema.remove("$schema");
    schema.insert("type".into(), json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}

/// True when a schema keeps the rules of strict mode as it is: every object closed, every property
/// required, every value said what it is, no word outside the set.
pub(super) fn is_strict(schema: &Value) -> bool {
    let Value::Object(schema) = schema else { return false };
    if schema.keys().any(|word| !STRICT.contains(&word.as_str()))
        || !SAYS_WHAT.iter().any(|word| schema.contains_key(*word))
    {
        return false;
    }
    let below = |word: &str| schema.get(word).and_then(Value::as_object).into_iter().flat_map(Map::values);
    let listed = |word: &str| schema.get(word).and_then(Value::as_array).into_iter().flatten();
    let closed = !is_object(schema) || {
        let required: Vec<&str> = listed("required").filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        schema.get("additionalProperties") == Some(&Value::Bool(false))
            && properties.is_some_and(|all| all.keys().all(|name| required.contains(&name.as_str())))
    };
    let whole = !has_type(schema, "array") || schema.contains_key("items");
    closed
        && whole
        && below("properties").chain(below("$defs")).chain(listed("anyOf")).all(is_strict)
        && schema.get("items").is_none_or(is_strict)
}

fn is_object(schema: &Map<String, Value>) -> bool {
    schema.contains_key("properties") || has_type(schema, "object")
}

/// Whether a value may be of a type, which may be one of several.
fn has_type(schema: &Map<String, Value>, wanted: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        _ => false,
    }
}

/// The part of OpenAPI's schemas that Gemini reads: one type each, texts as choices. References are written out before.
pub(super) fn gemini(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return json!({ "type": "string" }) };
    let mut kept = Map::new();
    for word in GEMINI_WORDS {
        if let Some(value) = schema.get(word) {
            kept.insert(word.into(), value.clone());
        }
    }
    add_type(schema, &mut kept);
    if let Some(choices) = choices(schema) {
        kept.insert("type".into(), json!("string"));
        if choices != json!([]) {
            kept.insert("enum".into(), choices);
        }
    }
    if let Some(format) = schema.get("format").filter(|format| {
        ["date-time", "float", "double", "int32", "int64"].iter().any(|known| **format == json!(known))
    }) {
        kept.insert("format".into(), format.clone());
    }
    if let Some(items) = schema.get("items") {
        kept.insert("items".into(), gemini(items));
    } else if kept.get("type") == Some(&json!("array")) {
        kept.insert("items".into(), json!({ "type": "string" }));
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        kept.insert("type".into(), json!("object"));
        add_properties(schema, properties, &mut kept);
    }
    if let Some(Value::Array(all)) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        add_alternatives(all, &mut kept);
    }
    for one in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        add_missing(gemini(one), &mut kept);
    }
    // Every value needs a type there, or alternatives that have one.
    if !kept.contains_key("type") && !kept.contains_key("anyOf") {
        kept.insert("type".into(), json!(likely_type(schema)));
    }
    Value::Object(kept)
}

/// An object without properties has no such member there, and only known ones are required.
fn add_properties(
    schema: &Map<String, Value>,
    properties: &Map<String, Value>,
    kept: &mut Map<String, Value>,
) {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let known = |name: &&Value| name.as_str().is_some_and(|name| properties.contains_key(name));
    let required: Vec<&Value> = required.filter(known).collect();
    if !required.is_empty() {
        kept.insert("required".into(), json!(required));
    }
    if !properties.is_empty() {
        let properties: Map<String, Value> =
            properties.iter().map(|(name, one)| (name.clone(), gemini(one))).collect();
        kept.insert("properties".into(), Value::Object(properties));
    }
}

/// The type of values whose schema names none: that of the first choice, else what other keywords imply.
fn likely_type(schema: &Map<String, Value>) -> &'static str {
    let first = schema.get("const").or_else(|| schema.get("enum")?.get(0));
    match first {
        Some(Value::Number(number)) if number.is_f64() => "number",
        Some(Value::Number(_)) => "integer",
        Some(Value::Bool(_)) => "boolean",
        None if schema.contains_key("items") => "array",
        None if schema.contains_key("minimum") || schema.contains_key("maximum") => "number",
        Some(_) | None => "string",
    }
}

fn add_type(schema: &Map<String, Value>, kept: &mut Map<String, Value>) {
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if kinds.contains(&"null") {
        kept.insert("nullable".into(), json!(true));
    }
    if let Some(kind) = kinds.iter().find(|kind| **kind != "null") {
        kept.insert("type".into(), json!(kind));
    }
}

/// Choices are texts that are not empty there; a choice of other kinds is left to us to check.
fn choices(schema: &Map<String, Value>) -> Option<Value> {
    let one = schema.get("const").map(std::slice::from_ref);
    let many = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let choices = many.or(one)?;
    let written: Vec<&Value> = choices.iter().filter(|choice| **choice != json!("")).collect();
    choices.iter().all(Value::is_string).then(|| json!(written))
}

fn add_alternatives(all: &[Value], kept: &mut Map<String, Value>) {
    let is_null = |one: &&Value| one.get("type") == Some(&json!("null"));
    if all.iter().any(|one| is_null(&one)) {
        kept.insert("nullable".into(), json!(true));
    }
    let others: Vec<Value> = all.iter().filter(|one| !is_null(one)).map(gemini).collect();
    match others.as_slice() {
        [only] => add_missing(only.clone(), kept),
        _ => {
            kept.insert("anyOf".into(), json!(others));
        }
    }
}

/// What was said already holds.
fn add_missing(more: Value, kept: &mut Map<String, Value>) {
    if let Value::Object(more) = more {
        for (word, value) in more {
            kept.entry(word).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::inlined_schema::inlined;

    fn for_gemini(schema: &Value) -> Value {
        gemini(&inlined(schema))
    }

    fn check(schema: Value, expect: Value) {
        assert_eq!(for_gemini(&schema), expect);
    }

    #[test]
    fn gemini_gets_references_written_out_and_one_type_each() {
        check(
            json!({ "type": "object", "additionalProperties": false, "required": ["a"],
                "$defs": { "n": { "type": ["number", "null"], "exclusiveMinimum": 0 } },
                "properties": { "a": { "$ref": "#/$defs/n" }, "u": { "enum": ["c", "f"] }, "e": { "const": 1, "type": "integer" },
                    "x": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
                    "l": { "type": "array" } } }),
            json!({ "required": ["a"], "type": "object", "properties": {
                "a": { "nullable": true, "type": "number" }, "u": { "type": "string", "enum": ["c", "f"] },
                "e": { "type": "integer" }, "x": { "nullable": true, "type": "integer" },
                "l": { "type": "array", "items": { "type": "string" } } } }),
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({ "properties": { "x": { "$ref": "#" } } });
        assert!(for_gemini(&schema).to_string().len() < 10_000);
    }

    #[test]
    fn references_that_multiply_are_bounded() {
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
            definitions.insert(format!("l{level}"), json!({ "properties": { "a": next, "b": next } }));
        }
        let schema = json!({ "$ref": "#/$defs/l0", "$defs": definitions });
        assert!(for_gemini(&schema).to_string().len() < 5_000_000);
    }

    #[test]
    fn strict_mode_wants_to_know_what_every_value_is() {
        let with = |a: Value| json!({ "type": "object", "properties": { "a": a }, "required": ["a"], "additionalProperties": false });
        for (a, expect) in [
            (json!({}), false),
            (json!({ "description": "anything" }), false),
            (json!({ "type": ["string", "null"] }), true),
            (json!({ "type": ["object", "null"] }), false),
            (json!({ "type": "array" }), false),
            (json!({ "type": "array", "items": { "enum": [1] } }), true),
            (json!({ "anyOf": [{ "type": "string" }, {}] }), false),
        ] {
            assert_eq!(is_strict(&with(a.clone())), expect, "{a}");
        }
    }

    #[test]
    fn strict_mode_is_claimed_only_where_it_holds() {
        let closed = json!({ "type": "object", "properties": { "a": { "type": "number" } },
            "required": ["a"], "additionalProperties": false });
        assert!(is_strict(&closed));
        for (word, value) in
            [("required", json!([])), ("additionalProperties", json!(true)), ("patternProperties", json!({}))]
        {
            let mut open = closed.clone();
            open[word] = value;
            assert!(!is_strict(&open), "{word}");
        }
    }

    #[test]
    fn nothing_chooses_above_the_properties() {
        let schema = json!({ "anyOf": [{ "required": ["a"] }], "properties": { "a": {} } });
        assert_eq!(object_on_top(&schema), json!({ "properties": { "a": {} }, "type": "object" }));
    }
}
