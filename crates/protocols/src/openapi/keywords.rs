//! The keywords of schemas in OpenAPI documents, and what becomes of each in JSON Schema 2020-12.

use serde_json::{Map, Value, json};

/// The longest example that goes along, as text.
const MOST_EXAMPLE: usize = 200;

/// What stands behind a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    /// A schema; of `items` a list of them before 3.1.
    Schema,
    /// A list of schemas.
    List,
    /// Schemas by name.
    Named,
    Required,
    /// A value that means the same in JSON Schema.
    Copied,
    /// Of no meaning for arguments and answers, or turned into something else.
    Dropped,
}

pub(super) fn keyword(name: &str) -> Keyword {
    match name {
        "items"
        | "additionalItems"
        | "additionalProperties"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "not"
        | "contains"
        | "propertyNames"
        | "if"
        | "then"
        | "else"
        | "contentSchema" => Keyword::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Keyword::List,
        "properties" | "patternProperties" | "dependentSchemas" => Keyword::Named,
        "required" => Keyword::Required,
        "type" | "enum" | "const" | "default" | "title" | "description" | "format" | "pattern"
        | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minLength"
        | "maxLength" | "minItems" | "maxItems" | "uniqueItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" | "dependentRequired" | "deprecated" | "contentEncoding"
        | "contentMediaType" => Keyword::Copied,
        _ => Keyword::Dropped,
    }
}

/// Turns what older editions write in another way into what 2020-12 writes.
pub(super) fn modernize(written: &mut Map<String, Value>, own: &Map<String, Value>) {
    if own.get("type").and_then(Value::as_str) == Some("file") {
        written.insert("type".to_owned(), json!("string"));
    }
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(&Value::Bool(exclusive)) = own.get(flag) {
            written.shift_remove(flag);
            if let Some(limit) = own.get(bound).filter(|limit| exclusive && limit.is_number()) {
                written.shift_remove(bound);
                written.insert(flag.to_owned(), limit.clone());
            }
        }
    }
    if written.get("items").is_some_and(Value::is_array) {
        let each = written.shift_remove("items").unwrap_or_default();
        written.insert("prefixItems".to_owned(), each);
        if let Some(rest) = written.shift_remove("additionalItems") {
            written.insert("items".to_owned(), rest);
        }
    }
    if let Some(example) = own.get("example").filter(|example| example.to_string().len() <= MOST_EXAMPLE) {
        written.insert("examples".to_owned(), json!([example]));
    }
    if let Some(examples) = own.get("examples").filter(|examples| examples.is_array())
        && examples.to_string().len() <= MOST_EXAMPLE
    {
        written.insert("examples".to_owned(), examples.clone());
    }
    if own.get("nullable") == Some(&Value::Bool(true)) && !own.contains_key("$ref") {
        take_null(written);
    }
}

/// Makes null a value of the schema.
fn take_null(written: &mut Map<String, Value>) {
    if let Some(Value::Array(choices)) = written.get_mut("enum")
        && !choices.contains(&Value::Null)
    {
        choices.push(Value::Null);
    }
    match written.get_mut("type") {
        Some(Value::Array(types)) if !types.contains(&json!("null")) => types.push(json!("null")),
        Some(kind @ Value::String(_)) => *kind = json!([kind.take(), "null"]),
        Some(_) => {}
        None => take_null_in_choice(written),
    }
}

fn take_null_in_choice(written: &mut Map<String, Value>) {
    for choice in ["anyOf", "oneOf"] {
        if let Some(Value::Array(schemas)) = written.get_mut(choice) {
            schemas.push(json!({ "type": "null" }));
            return;
        }
    }
    if let Some(all) = written.shift_remove("allOf") {
        written.insert("anyOf".to_owned(), json!([{ "allOf": all }, { "type": "null" }]));
    }
}
