//! Schemas without `$ref`, for those who cannot read one. What refers to itself cannot be written out: there
//! the list says "anything", while calls are still checked against the whole schema.
//!
//! References multiply, so that a short schema can be endless when it is written out. How much a list may grow is
//! bounded for each source: one that lists such schemas costs the rest of its own list, and nobody else's.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// How many bytes one schema may grow to.
const MOST_SCHEMA_BYTES: usize = 1 << 20;
/// How many bytes the schemas of one source may grow to in one list, besides `GROWTH` for each byte that it listed.
const MOST_SOURCE_BYTES: usize = 1 << 20;
/// How often longer than what a source listed its schemas may become.
const GROWTH: usize = 4;
/// How deep a schema may become. Readers of JSON take little more.
const MOST_DEPTH: usize = 100;
/// What a value takes in a text besides its own characters.
const PUNCTUATION: usize = 4;
/// Where definitions live that nothing refers to any more.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Keywords whose value is data, in which `$ref` is just a name.
const DATA: [&str; 5] = ["const", "enum", "default", "examples", "example"];

/// How much the schemas of each source may still grow in one list.
#[derive(Default)]
pub(crate) struct InlineBudget {
    left: HashMap<String, usize>,
}

impl InlineBudget {
    /// A schema of a source as an object without references.
    pub(crate) fn inlined(&mut self, source: &str, schema: &Value) -> Value {
        if !self.left.contains_key(source) {
            self.left.insert(source.to_owned(), MOST_SOURCE_BYTES);
        }
        let left = self.left.entry(source.to_owned()).or_default();
        *left = left.saturating_add(GROWTH.saturating_mul(bytes(schema)));
        let (most, written) = (*left, &mut 0);
        let inlined = write(schema, most, written);
        *left = most.saturating_sub(*written);
        inlined
    }
}

/// A schema alone as an object without references.
#[cfg(any(test, fuzzing))]
pub(crate) fn inlined(schema: &Value) -> Value {
    InlineBudget::default().inlined("", schema)
}

fn write(schema: &Value, most: usize, written: &mut usize) -> Value {
    let most = most.min(MOST_SCHEMA_BYTES.max(GROWTH.saturating_mul(bytes(schema))));
    let mut inliner = Inliner { root: schema, open: Vec::new(), left: most, depth: 0 };
    let inlined = inliner.schema(schema);
    *written = most - inliner.left;
    match inlined {
        object @ Value::Object(_) => object,
        Value::Bool(false) => json!({ "not": {} }),
        _ => json!({}),
    }
}

/// About how long the text of a value is.
fn bytes(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Object(members) => members.iter().map(|(key, value)| key.len() + bytes(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => PUNCTUATION,
    };
    PUNCTUATION + inside
}

struct Inliner<'a> {
    root: &'a Value,
    open: Vec<&'a str>,
    left: usize,
    depth: usize,
}

impl<'a> Inliner<'a> {
    /// A schema, or a list of some; anything once there is no room for it.
    fn schema(&mut self, value: &'a Value) -> Value {
        if self.depth >= MOST_DEPTH {
            return json!({});
        }
        self.depth += 1;
        let written = match value {
            Value::Object(map) if self.take(own_bytes(map)) => match map.get("$ref") {
                Some(Value::String(reference)) => self.reference(reference, map),
                _ => Value::Object(self.members(map)),
            },
            Value::Object(_) => json!({}),
            Value::Array(items) if items.iter().any(is_container) => {
                items.iter().map(|item| self.schema(item)).collect()
            }
            data => data.clone(),
        };
        self.depth -= 1;
        written
    }

    /// Takes so many bytes of what is left; false when there are not as many.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    fn members(&mut self, map: &'a Map<String, Value>) -> Map<String, Value> {
        let kept = map.iter().filter(|(key, value)| {
            key.as_str() != "$ref" && !(DEFINITIONS.contains(&key.as_str()) && value.is_object())
        });
        kept.map(|(key, value)| {
            let written = match key.as_str() {
                "properties" | "patternProperties" | "dependentSchemas" => self.named(value),
                key if DATA.contains(&key) => value.clone(),
                _ => self.schema(value),
            };
            (key.clone(), written)
        })
        .collect()
    }

    /// A map from names to schemas: there, `$ref` or `definitions` is a name like any other.
    fn named(&mut self, value: &'a Value) -> Value {
        match value {
            Value::Object(map) => {
                Value::Object(map.iter().map(|(name, schema)| (name.clone(), self.schema(schema))).collect())
            }
            other => other.clone(),
        }
    }

    fn reference(&mut self, reference: &'a str, map: &'a Map<String, Value>) -> Value {
        let beside = self.members(map);
        let target = self.find(reference).filter(|_| !self.open.contains(&reference));
        let written = match target {
            Some(target) => {
                self.open.push(reference);
                let written = self.schema(target);
                self.open.pop();
                written
            }
            None => json!({}),
        };
        match written {
            Value::Object(target) if !beside.keys().any(|key| target.contains_key(key)) => {
                Value::Object(target.into_iter().chain(beside).collect())
            }
            // An annotation next to a reference is nearer to the reader than the one in the definition.
            Value::Object(target) if beside.keys().all(|key| is_annotation(key)) => {
                let others = target.into_iter().filter(|(key, _)| !beside.contains_key(key));
                Value::Object(others.chain(beside.clone()).collect())
            }
            target => json!({ "allOf": [target, beside] }),
        }
    }

    fn find(&self, reference: &str) -> Option<&'a Value> {
        let fragment = reference.strip_prefix('#')?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(fragment);
        }
        let named = |value: &&Value| value.get("$anchor").and_then(Value::as_str) == Some(fragment);
        let mut definitions = DEFINITIONS.iter().filter_map(|key| self.root.get(key)?.as_object());
        definitions.find_map(|map| map.values().find(named))
    }
}

/// What an object takes without the schemas in it: those are counted when they are written.
fn own_bytes(map: &Map<String, Value>) -> usize {
    let member = |(key, value): (&String, &Value)| {
        let names = |value: &Value| value.as_object().map_or(0, |map| map.keys().map(String::len).sum());
        key.len()
            + match value {
                data if DATA.contains(&key.as_str()) => bytes(data),
                Value::Array(items) if items.iter().any(is_container) => PUNCTUATION,
                Value::Object(_) if !DEFINITIONS.contains(&key.as_str()) => PUNCTUATION + names(value),
                Value::Object(_) => 0,
                data => bytes(data),
            }
    };
    PUNCTUATION + map.iter().map(member).sum::<usize>()
}

fn is_container(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

fn is_annotation(key: &str) -> bool {
    matches!(key, "title" | "description" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: Value, expect: Value) {
        assert_eq!(inlined(&schema), expect);
    }

    #[test]
    fn references_are_written_out_and_definitions_dropped() {
        check(
            json!({ "properties": { "a": { "$ref": "#/$defs/n", "description": "x" } },
                    "$defs": { "n": { "type": "number", "description": "y" } } }),
            json!({ "properties": { "a": { "type": "number", "description": "x" } } }),
        );
        check(
            json!({ "$ref": "#/definitions/o", "definitions": { "o": { "type": "object", "items": [{ "$ref": "#/definitions/s" }] }, "s": { "type": "string" } } }),
            json!({ "type": "object", "items": [{ "type": "string" }] }),
        );
        check(
            json!({ "properties": { "a": { "$ref": "#here" } }, "$defs": { "h": { "$anchor": "here", "minimum": 1 } } }),
            json!({ "properties": { "a": { "$anchor": "here", "minimum": 1 } } }),
        );
    }

    #[test]
    fn keywords_beside_a_reference_still_hold() {
        check(
            json!({ "properties": { "a": { "$ref": "#/$defs/n", "minimum": 5 } }, "$defs": { "n": { "minimum": 1 } } }),
            json!({ "properties": { "a": { "allOf": [{ "minimum": 1 }, { "minimum": 5 }] } } }),
        );
    }

    #[test]
    fn what_refers_to_itself_ends_in_anything() {
        check(
            json!({ "properties": { "tree": { "$ref": "#/$defs/t" } },
                    "$defs": { "t": { "type": "object", "properties": { "next": { "$ref": "#/$defs/t" } } } } }),
            json!({ "properties": { "tree": { "type": "object", "properties": { "next": {} } } } }),
        );
    }

    #[test]
    fn parameters_may_have_the_names_of_keywords() {
        let schema = json!({ "properties": { "$ref": { "type": "string" }, "definitions": { "enum": [{ "$ref": "#" }] } } });
        check(schema.clone(), schema);
    }

    /// Forty levels of two references each, for other values on each level.
    fn bomb(description: &str) -> Value {
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
            let schema = json!({ "description": description, "properties": { "a": next, "b": next } });
            definitions.insert(format!("l{level}"), schema);
        }
        json!({ "$ref": "#/$defs/l0", "$defs": definitions })
    }

    #[test]
    fn references_that_multiply_are_bounded_for_each_source() {
        let mut budget = InlineBudget::default();
        let (mut listed, mut written) = (0, 0);
        for tool in 0..50 {
            let schema = bomb(&"long ".repeat(tool));
            listed += schema.to_string().len();
            written += budget.inlined("Hostile", &schema).to_string().len();
        }
        assert!(written < 2 * (MOST_SOURCE_BYTES + GROWTH * listed), "{listed} bytes became {written}");
        let other =
            json!({ "properties": { "a": { "$ref": "#/$defs/n" } }, "$defs": { "n": { "minimum": 1 } } });
        assert_eq!(budget.inlined("Other", &other), json!({ "properties": { "a": { "minimum": 1 } } }));
    }

    #[test]
    fn a_long_row_of_references_ends_in_anything() {
        let mut definitions = Map::new();
        for level in 0..5_000 {
            let next = json!({ "properties": { "a": { "$ref": format!("#/$defs/l{}", level + 1) } } });
            definitions.insert(format!("l{level}"), next);
        }
        let written = inlined(&json!({ "$ref": "#/$defs/l0", "$defs": definitions })).to_string();
        assert!(serde_json::from_str::<Value>(&written).is_ok(), "a reader takes it");
    }

    #[test]
    fn schemas_that_are_no_objects_become_objects() {
        check(json!(true), json!({}));
        check(json!(false), json!({ "not": {} }));
    }
}
