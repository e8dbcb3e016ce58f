//! Schemas of a document as JSON Schema 2020-12. What they refer to goes along as `$defs`, each once and only if something
//! refers to it: references are never written out.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::choices::write_choice;
use super::definitions::Definitions;
use super::document::{ApiDocument, Edition};
use super::keywords::{Keyword, keyword, modernize};
use super::patterns::ecma_pattern;

/// How many schemas are looked into for what one builds on.
const MOST_LOOKS: usize = 64;

/// Which way values of a schema travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Without what only the server writes: `readOnly`.
    Request,
    /// Without what it never gives back: `writeOnly`.
    Response,
    /// As it is: the document of another toolmux has the schemas of tools.
    Unchanged,
}

impl Direction {
    /// The keyword of properties that do not travel this way.
    fn hidden_by(self) -> Option<&'static str> {
        match self {
            Direction::Request => Some("readOnly"),
            Direction::Response => Some("writeOnly"),
            Direction::Unchanged => None,
        }
    }
}

/// Writes the schemas of one tool, with the definitions that all of them share.
pub(super) struct SchemaWriter<'d> {
    document: &'d ApiDocument,
    direction: Direction,
    definitions: Definitions<'d>,
    /// Properties that do not travel this way, of the schema that is being written and of what it builds on by `allOf`.
    hidden: HashSet<&'d str>,
}

impl<'d> SchemaWriter<'d> {
    pub(super) fn new(document: &'d ApiDocument, direction: Direction) -> Self {
        SchemaWriter { document, direction, definitions: Definitions::default(), hidden: HashSet::new() }
    }

    /// Writes the schema of a tool of another toolmux, whose definitions have names that begin so.
    pub(super) fn unchanged(document: &'d ApiDocument, prefix: String) -> Self {
        let definitions = Definitions::named_without(prefix);
        SchemaWriter { definitions, ..SchemaWriter::new(document, Direction::Unchanged) }
    }

    pub(super) fn document(&self) -> &'d ApiDocument {
        self.document
    }

    /// A schema, whose references lead to definitions that [`SchemaWriter::finish`] adds.
    pub(super) fn write(&mut self, schema: &'d Value) -> Value {
        let outer = std::mem::take(&mut self.hidden);
        let written = self.write_part(schema);
        self.hidden = outer;
        written
    }

    /// The members of a schema that is not a reference.
    pub(super) fn members(&mut self, map: &'d Map<String, Value>) -> Map<String, Value> {
        let outer = std::mem::take(&mut self.hidden);
        let written = self.own_members(map);
        self.hidden = outer;
        written
    }

    /// A schema, or one of those that a schema is all of.
    fn write_part(&mut self, schema: &'d Value) -> Value {
        match schema {
            Value::Object(map) => match map.get("$ref").and_then(Value::as_str) {
                Some(reference) => self.reference(reference, map),
                None => Value::Object(self.own_members(map)),
            },
            Value::Bool(any) => Value::Bool(*any),
            _ => json!({}),
        }
    }

    fn own_members(&mut self, map: &'d Map<String, Value>) -> Map<String, Value> {
        let is_unchanged = self.direction == Direction::Unchanged;
        if !is_unchanged {
            let mut looks = MOST_LOOKS;
            self.add_hidden(map, &mut looks);
        }
        let mut written = Map::new();
        for (name, value) in map {
            let value = match (keyword(name), value) {
                (_, Value::String(pattern)) if name == "pattern" && !is_unchanged => {
                    match ecma_pattern(pattern) {
                        Some(pattern) => pattern.into(),
                        None => continue,
                    }
                }
                (Keyword::Copied, _) => value.clone(),
                (Keyword::Dropped, _) if is_unchanged => value.clone(),
                (Keyword::List, Value::Array(items)) if name == "allOf" => {
                    items.iter().map(|item| self.write_part(item)).collect()
                }
                (Keyword::Schema | Keyword::List, Value::Array(items)) => {
                    items.iter().map(|item| self.write(item)).collect()
                }
                (Keyword::Schema, _) => self.write(value),
                (Keyword::Named, Value::Object(named)) => self.named(named),
                (Keyword::Required, Value::Array(names)) => self.required(names),
                (Keyword::Dropped | Keyword::List | Keyword::Named | Keyword::Required, _) => continue,
            };
            written.insert(name.clone(), value);
        }
        if !is_unchanged {
            write_choice(self, map, &mut written);
            modernize(&mut written, map);
        }
        written
    }

    /// Notes the properties that do not travel this way, also those of what the schema builds on.
    fn add_hidden(&mut self, map: &'d Map<String, Value>, looks: &mut usize) {
        let properties = map.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            if self.is_hidden(schema) {
                self.hidden.insert(name);
            }
        }
        for schema in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let Some(left) = looks.checked_sub(1) else { return };
            *looks = left;
            if let Ok(inner) = self.document.followed(schema) {
                self.add_hidden(inner, looks);
            }
        }
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

    fn required(&self, names: &[Value]) -> Value {
        let travels = |name: &&Value| name.as_str().is_some_and(|name| !self.hidden.contains(name));
        names.iter().filter(travels).cloned().collect()
    }

    /// Whether a property does not travel this way, by its own words or by those of its definition.
    pub(super) fn is_hidden(&self, schema: &Value) -> bool {
        let Some(word) = self.direction.hidden_by() else { return false };
        let says = |map: &Map<String, Value>| map.get(word) == Some(&Value::Bool(true));
        let of_all = |map: &Map<String, Value>| {
            let all = map.get("allOf").and_then(Value::as_array).into_iter().flatten();
            all.filter_map(|schema| self.document.followed(schema).ok()).any(says)
        };
        schema.as_object().is_some_and(says)
            || self.document.followed(schema).is_ok_and(|map| says(map) || of_all(map))
    }

    fn reference(&mut self, reference: &'d str, map: &'d Map<String, Value>) -> Value {
        let mut written = match self.document.edition {
            // Before 3.1 a reference stands alone; what describes it is written beside it all the same.
            Edition::V2 | Edition::V3_0 => annotations(map),
            Edition::V3_1 => self.own_members(map),
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
    fn what_does_not_travel_is_not_required_wherever_it_is_described() {
        let base = json!({ "allOf": [{ "$ref": "#/components/schemas/Pet" }, { "required": ["id", "name"] }], "required": ["id"] });
        let root = json!({ "openapi": "3.0.3", "info": {}, "components": { "schemas": {
            "Pet": { "properties": { "id": { "allOf": [{ "$ref": "#/components/schemas/Id" }] }, "name": {} } },
            "Id": { "type": "integer", "readOnly": true } } } });
        let document = ApiDocument::read(&root.to_string()).expect("a document");
        let mut writer = SchemaWriter::new(&document, Direction::Request);
        let written = writer.write(&base);
        let expect = json!({ "allOf": [{ "$ref": "#/$defs/Pet" }, { "required": ["name"] }], "required": [],
            "$defs": { "Pet": { "properties": { "name": {} } } } });
        assert_eq!(writer.finish(written), expect);
    }

    #[test]
    fn branches_that_overlap_are_all_good_and_a_discriminator_says_which_is_meant() {
        let pet = json!({ "$ref": "#/components/schemas/Pet" });
        let of = |values: Value| json!({ "$ref": "#/$defs/Pet", "properties": { "kind": { "enum": values } }, "required": ["kind"] });
        for (discriminator, expect) in [
            (Value::Null, json!([{ "$ref": "#/$defs/Pet" }])),
            (json!({ "propertyName": "kind" }), json!([of(json!(["Pet"]))])),
            (
                json!({ "propertyName": "kind", "mapping": { "cat": "Pet", "dog": "#/components/schemas/Pet", "x": "X" } }),
                json!([of(json!(["cat", "dog"]))]),
            ),
        ] {
            let root =
                json!({ "openapi": "3.0.3", "components": { "schemas": { "Pet": { "type": "object" } } } });
            let document = ApiDocument::read(&root.to_string()).expect("a document");
            let mut schema = json!({ "oneOf": [pet] });
            if !discriminator.is_null() {
                schema["discriminator"] = discriminator;
            }
            let mut writer = SchemaWriter::new(&document, Direction::Request);
            let written = writer.write(&schema);
            assert_eq!(writer.finish(written)["anyOf"], expect, "{schema}");
        }
    }

    #[test]
    fn references_that_lead_nowhere_accept_anything() {
        for reference in ["other.json#/a", "#/components/schemas/None", "#/openapi", "http://h/a.json"] {
            check("3.0.3", json!({ "$ref": reference, "title": "t" }), json!({ "title": "t" }));
        }
    }
}
