//! What the value of each keyword must be.

use serde_json::{Map, Value};

/// What stands behind a keyword.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Schema,
    SchemaMap,
    /// The same with patterns as keys.
    PatternMap,
    SchemaList,
    Type,
    Required,
    Pattern,
    Reference,
    /// A name that references lead to.
    Anchor,
    Dialect,
    /// Anything that passes the check.
    Checked(fn(&Value) -> bool),
    Unknown,
}

pub(super) fn kind(keyword: &str) -> Kind {
    match keyword {
        "additionalProperties"
        | "unevaluatedProperties"
        | "items"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contentSchema" => Kind::Schema,
        "properties" | "$defs" | "definitions" | "dependentSchemas" => Kind::SchemaMap,
        "patternProperties" => Kind::PatternMap,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Kind::SchemaList,
        "type" => Kind::Type,
        "required" => Kind::Required,
        "pattern" => Kind::Pattern,
        "$ref" | "$dynamicRef" | "$recursiveRef" => Kind::Reference,
        "$id" | "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" | "$vocabulary" => Kind::Anchor,
        "$schema" => Kind::Dialect,
        "enum" | "examples" => Kind::Checked(Value::is_array),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Kind::Checked(Value::is_number),
        "multipleOf" => Kind::Checked(|value| value.as_f64().is_some_and(|number| number > 0.0)),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => Kind::Checked(is_count),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Kind::Checked(Value::is_boolean),
        "title" | "description" | "$comment" | "format" | "contentEncoding" | "contentMediaType" => {
            Kind::Checked(Value::is_string)
        }
        "dependentRequired" => Kind::Checked(|value| each(value, is_names)),
        "dependencies" => Kind::Checked(|value| each(value, |one| is_names(one) || is_schema(one))),
        _ => Kind::Unknown,
    }
}

pub(super) fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// The JSON type that a word means; none for a word that means none.
pub(super) fn type_named(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "string" | "str" | "text" => "string",
        "integer" | "int" | "int32" | "int64" | "long" => "integer",
        "number" | "float" | "double" | "decimal" => "number",
        "boolean" | "bool" => "boolean",
        "object" | "dict" | "map" | "record" => "object",
        "array" | "list" | "tuple" => "array",
        "null" | "none" | "nil" => "null",
        _ => return None,
    })
}

/// `exclusiveMinimum: true` of draft 4 as the number it stands for, `items` of several schemas as `prefixItems`.
/// Gives what was changed.
pub(super) fn modernize(members: &mut Map<String, Value>) -> Vec<&'static str> {
    let mut changed = Vec::new();
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        let Some(&Value::Bool(exclusive)) = members.get(flag) else { continue };
        changed.push(flag);
        match members.get(bound).cloned().filter(|limit| exclusive && limit.is_number()) {
            Some(limit) => {
                members.insert(flag.to_owned(), limit);
                members.shift_remove(bound);
            }
            None => drop(members.shift_remove(flag)),
        }
    }
    if members.get("items").is_some_and(Value::is_array) && !members.contains_key("prefixItems") {
        changed.push("items");
        let each = members.shift_remove("items").unwrap_or_default();
        members.insert("prefixItems".to_owned(), each);
        if let Some(rest) = members.shift_remove("additionalItems") {
            members.insert("items".to_owned(), rest);
        }
    }
    changed
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some() || value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}

fn is_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| {
        names.iter().enumerate().all(|(place, name)| name.is_string() && !names[..place].contains(name))
    })
}

fn each(value: &Value, good: impl Fn(&Value) -> bool) -> bool {
    value.as_object().is_some_and(|members| members.values().all(good))
}
