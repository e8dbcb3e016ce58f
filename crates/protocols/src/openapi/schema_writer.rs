//! Schemas of a document as JSON Schema 2020-12. What they refer to goes along as `$defs`, each once and only if something
//! refers to it: references are never written out.

use serde_json::{Map, Value, json};

use super::definitions::Definitions;
use super::document::{ApiDocument, Edition};
use super::keywords::{Keyword, keyword, modernize};

/// Which way values of a schema travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Without what only the server writes: `readOnly`.
    Request,
    /// Without what it never gives back: `writeOnly`.
    Response,
}

impl Direction {
    /// The keyword of properties that do not travel this way.
    fn hidden_by(self) -> &'static str {
        match self {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        }
    }
}

/// Writes the schemas of one tool, with the definitions that all of them share.
pub(super) struct SchemaWriter<'d> {
    document: &'d ApiDocument,
    direction: Direction,
    definitions: Definitions<'d>,
}

impl<'d> SchemaWriter<'d> {
    pub(super) fn new(document: &'d ApiDocument, direction: Direction) -> Self {
        SchemaWriter { document, direction, definitions: Definitions::default() }
    }

    /// A schema, whose references lead to definitions that [`SchemaWriter::finish`] adds.
    pub(super) fn write(&mut self, schema: &'d Value) -> Value {
        match schema {
            Value::Object(map) => self.object(map),
            Value::Bool(any) => Value::Bool(*any),
            _ => json!({}),
        }
    }

    /// The same for the members of a schema.
    pub(super) fn object(&mut self, map: &'d Map<String, Value>) -> Value {
        match map.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.reference(reference, map),
            None => Value::Object(self.members(map)),
        }
    }

    /// The members of a schema that is not a reference.
    pub(super) fn members(&mut self, map: &'d Map<String, Value>) -> Map<String, Value> {
        let mut written = Map::new();
        for (name, value) in map {
            let value = match (keyword(name), value) {
                (Keyword::Copied, _) => value.clone(),
                (Keyword::Schema | Keyword::List, Value::Array(items)) => {
                    items.iter().map(|item| self.write(item)).collect()
                }
                (Keyword::Schema, _) => self.write(value),
                (Keyword::Named, Value::Object(named)) => self.named(named),
                (Keyword::Required, Value::Array(names)) => self.required(names, map),
                (Keyword::Dropped | Keyword::List | Keyword::Named | Keyword::Required, _) => continue,
            };
            written.insert(name.clone(), value);
        }
        modernize(&mut written, map);
        written
    }

    fn named(&mut self, named: &'d Map<String, Value>) -> Value {
        let mut written = Map::new();
        for (name, schema) in named {
            if !self.is_hidden(schema) {
                written.insert(name.clone(), self.write(schema));
            }
        }
        Value::Object(written)
    }

    fn required(&self, names: &[Value], map: &'d Map<String, Value>) -> Value {
        let properties = map.get("properties").and_then(Value::as_object);
        let hidden = |name: &str| {
            properties.and_then(|all| all.get(name)).is_some_and(|schema| self.is_hidden(schema))
        };
        names.iter().filter(|name| name.as_str().is_some_and(|name| !hidden(name))).cloned().collect()
    }

    /// Whether a property does not travel this way, by its own words or by those of its definition.
    pub(super) fn is_hidden(&self, schema: &Value) -> bool {
        let word = self.direction.hidden_by();
        let says = |map: &Map<String, Value>| map.get(word) == Some(&Value::Bool(true));
        schema.as_object().is_some_and(says) || self.document.followed(schema).is_ok_and(says)
    }

    fn reference(&mut self, reference: &'d str, map: &'d Map<String, Value>) -> Value {
        let mut written = match self.document.edition {
            // Before 3.1 a reference stands alone; what describes it is written beside it all the same.
            Edition::V2 | Edition::V3_0 => annotations(map),
            Edition::V3_1 => self.members(map),
        };
        let target =
            self.document.find(reference).ok().filter(|target| target.is_object() || target.is_boolean());
        let Some(key) = target.and_then(|target| self.definitions.key(reference, target)) else {
            return Value::Object(written);
        };
        let target = json!(format!("#/$defs/{key}"));
        if map.get("nullable") == Some(&Value::Bool(true)) {
            written.insert("anyOf".to_owned(), json!([{ "$ref": target }, { "type": "null" }]));
        } else {
            written.insert("$ref".to_owned(), target);
        }
        Value::Object(written)
    }

    /// Adds the definitions to a schema that is complete otherwise.
    pub(super) fn finish(mut self, mut schema: Value) -> Value {
        while let Some((key, target)) = self.definitions.take_next() {
            let written = self.write(target);
            self.definitions.put(key, written);
        }
        if let Value::Object(map) = &mut schema
            && let Some(definitions) = self.definitions.written()
        {
            map.insert("$defs".to_owned(), definitions);
        }
        schema
    }
}

fn annotations(map: &Map<String, Value>) -> Map<String, Value> {
    let kept = map
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "title" | "description" | "default" | "deprecated"));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a schema becomes in a document of this version with these components.
    fn check(version: &str, schema: Value, expect: Value) {
        let parts = json!({
            "Pet": { "type": "object", "required": ["id", "name", "secret"], "properties": {
                "id": { "type": "integer", "readOnly": true },
                "name": { "type": "string", "example": "Rex" },
                "secret": { "type": "string", "writeOnly": true },
                "parent": { "$ref": "#/components/schemas/Pet" } } },
            "A b": { "type": "string", "nullable": true },
            "Unused": { "type": "string" },
        });
        let root = json!({ "openapi": version, "info": {}, "components": { "schemas": parts } });
        let document = ApiDocument::read(&root.to_string()).expect("a document");
        let mut writer = SchemaWriter::new(&document, Direction::Request);
        let written = writer.write(&schema);
        assert_eq!(writer.finish(written), expect, "{version} {schema}");
    }

    #[test]
    fn keywords_of_openapi_become_those_of_json_schema() {
        for (schema, expect) in [
            (json!({ "type": "string", "nullable": true }), json!({ "type": ["string", "null"] })),
            (
                json!({ "type": "string", "nullable": true, "enum": ["a"] }),
                json!({ "type": ["string", "null"], "enum": ["a", null] }),
            ),
            (json!({ "minimum": 1, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 1 })),
            (json!({ "maximum": 1, "exclusiveMaximum": false }), json!({ "maximum": 1 })),
            (
                json!({ "type": "file", "x-own": 1, "xml": {}, "discriminator": { "propertyName": "t" } }),
                json!({ "type": "string" }),
            ),
            (
                json!({ "type": "integer", "default": 7, "example": 8 }),
                json!({ "type": "integer", "default": 7, "examples": [8] }),
            ),
            (json!({ "items": [{ "type": "integer" }] }), json!({ "prefixItems": [{ "type": "integer" }] })),
            (
                json!({ "properties": { "nullable": { "type": "boolean" }, "x-a": {} } }),
                json!({ "properties": { "nullable": { "type": "boolean" }, "x-a": {} } }),
            ),
            (json!(true), json!(true)),
            (json!("what"), json!({})),
        ] {
            check("3.0.3", schema, expect);
        }
        check(
            "3.1.0",
            json!({ "type": ["string", "null"], "const": 1 }),
            json!({ "type": ["string", "null"], "const": 1 }),
        );
    }

    #[test]
    fn references_become_definitions_that_are_reached() {
        let pet = json!({ "type": "object", "required": ["name", "secret"], "properties": {
            "name": { "type": "string", "examples": ["Rex"] },
            "secret": { "type": "string" },
            "parent": { "$ref": "#/$defs/Pet" } } });
        check(
            "3.0.3",
            json!({ "type": "array", "items": { "$ref": "#/components/schemas/Pet", "description": "d", "minimum": 1 } }),
            json!({ "type": "array", "items": { "$ref": "#/$defs/Pet", "description": "d" }, "$defs": { "Pet": pet } }),
        );
        check(
            "3.1.0",
            json!({ "$ref": "#/components/schemas/A%20b", "maxLength": 2 }),
            json!({ "$ref": "#/$defs/A_b", "maxLength": 2, "$defs": { "A_b": { "type": ["string", "null"] } } }),
        );
        check(
            "3.0.0",
            json!({ "not": { "$ref": "#/components/schemas/A b", "nullable": true } }),
            json!({ "not": { "anyOf": [{ "$ref": "#/$defs/A_b" }, { "type": "null" }] }, "$defs": { "A_b": { "type": ["string", "null"] } } }),
        );
    }

    #[test]
    fn references_that_lead_nowhere_accept_anything() {
        for reference in ["other.json#/a", "#/components/schemas/None", "#/openapi", "http://h/a.json"] {
            check("3.0.3", json!({ "$ref": reference, "title": "t" }), json!({ "title": "t" }));
        }
    }
}
