//! Schemas without `$ref`, for those who cannot read one. What refers to itself cannot be written out: there
//! the list says "anything", while calls are still checked against the whole schema.

use serde_json::{Map, Value, json};

/// How many values one schema may grow to; references can multiply without end.
const MOST_VALUES: usize = 50_000;
/// Where definitions live that nothing refers to any more.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Keywords whose value is data, in which `$ref` is just a name.
const DATA: [&str; 5] = ["const", "enum", "default", "examples", "example"];

/// A schema as an object without references.
pub(crate) fn inlined(schema: &Value) -> Value {
    let mut inliner = Inliner { root: schema, open: Vec::new(), left: MOST_VALUES };
    match inliner.schema(schema) {
        object @ Value::Object(_) => object,
        Value::Bool(false) => json!({ "not": {} }),
        _ => json!({}),
    }
}

struct Inliner<'a> {
    root: &'a Value,
    open: Vec<&'a str>,
    left: usize,
}

impl<'a> Inliner<'a> {
    fn schema(&mut self, value: &'a Value) -> Value {
        if self.left == 0 {
            return json!({});
        }
        self.left -= 1;
        match value {
            Value::Object(map) => match map.get("$ref") {
                Some(Value::String(reference)) => self.reference(reference, map),
                _ => Value::Object(self.members(map)),
            },
            Value::Array(items) => items.iter().map(|item| self.schema(item)).collect(),
            other => other.clone(),
        }
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
            // An annotation beside a reference is nearer to the reader than the one in the definition.
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

    #[test]
    fn references_that_multiply_are_bounded() {
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
            definitions.insert(format!("l{level}"), json!({ "allOf": [next, next] }));
        }
        let written = inlined(&json!({ "$ref": "#/$defs/l0", "$defs": definitions }));
        assert!(written.to_string().len() < 20 * MOST_VALUES);
    }

    #[test]
    fn schemas_that_are_no_objects_become_objects() {
        check(json!(true), json!({}));
        check(json!(false), json!({ "not": {} }));
    }
}
