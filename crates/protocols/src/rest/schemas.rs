//! Schemas of many tools in one document. A reference inside a schema counts from the root of that schema; inside a
//! document it would count from the root of the document. So definitions become components of the document, under names
//! that begin with that of their tool, and references lead there.

use std::collections::{HashMap, HashSet};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value, json};
use toolmux_core::schema_repair::readable;

/// Where definitions stand.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Keywords that refer to a schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Keywords that name a schema for references, and those that OpenAPI reads in another way than JSON Schema.
const LEFT_OUT: [&str; 9] = [
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$schema",
    "$vocabulary",
    "discriminator",
    "xml",
    "externalDocs",
];
/// Keywords whose value is data, in which `$ref` is just a name.
const DATA: [&str; 5] = ["const", "enum", "default", "examples", "example"];
/// Keywords whose members are schemas, whatever their names.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];
/// What stays as it is in a part of a reference.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'$');

/// The path of a schema inside another.
type Pointer = Vec<String>;

/// The schemas that operations of a document refer to.
#[derive(Default)]
pub(super) struct Components {
    schemas: Map<String, Value>,
}

impl Components {
    /// Puts a schema among the components.
    pub(super) fn add(&mut self, name: &str, schema: Value) {
        self.schemas.insert(name.to_owned(), schema);
    }

    /// All of them.
    pub(super) fn schemas(&self) -> &Map<String, Value> {
        &self.schemas
    }

    /// What stands in an operation for a schema: the schema itself, or a reference to it where it refers to itself.
    /// `name` is its own among the components, and begins those of its definitions.
    pub(super) fn place(&mut self, name: &str, schema: &Value) -> Value {
        let mut root = readable(schema);
        let mut moving = Moving {
            root_name: name,
            definitions: HashMap::new(),
            names: HashMap::new(),
            root_is_used: false,
        };
        moving.collect_names(&root, &mut Pointer::new());
        let definitions = moving.take_definitions(&mut root);
        for (pointer, component, mut definition) in definitions {
            moving.rewrite(&mut definition, &mut pointer.clone(), &[]);
            self.add(&component, definition);
        }
        moving.rewrite(&mut root, &mut Pointer::new(), &[]);
        if !moving.root_is_used {
            return root;
        }
        self.add(name, root);
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }
}

/// One schema on its way into a document.
struct Moving<'a> {
    root_name: &'a str,
    /// The component of each definition at the root, by its path.
    definitions: HashMap<[String; 2], String>,
    /// The path of each schema with a name: `#anchor`, or an `$id`.
    names: HashMap<String, Pointer>,
    /// Something refers to the root, or into it beside its definitions.
    root_is_used: bool,
}

impl Moving<'_> {
    fn collect_names(&mut self, value: &Value, at: &mut Pointer) {
        match value {
            Value::Object(members) => {
                for (keyword, mark) in [("$id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")] {
                    if let Some(Value::String(name)) = members.get(keyword) {
                        let name = format!("{mark}{}", name.trim_end_matches('#'));
                        self.names.entry(name).or_insert_with(|| at.clone());
                    }
                }
                for (key, value) in members {
                    self.collect_below(key, value, at);
                }
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.collect_below(&place.to_string(), item, at);
                }
            }
            _ => {}
        }
    }

    fn collect_below(&mut self, key: &str, value: &Value, at: &mut Pointer) {
        at.push(key.to_owned());
        self.collect_names(value, at);
        at.pop();
    }

    /// Takes the definitions out of the root and gives each a name among the components.
    fn take_definitions(&mut self, root: &mut Value) -> Vec<(Pointer, String, Value)> {
        let (mut taken, mut used) = (Vec::new(), HashSet::new());
        let Value::Object(members) = root else { return taken };
        for keyword in DEFINITIONS {
            let Some(Value::Object(definitions)) = members.shift_remove(keyword) else { continue };
            for (name, definition) in definitions {
                let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
                let wanted = format!("{}.{plain}", self.root_name);
                let numbered = (2..).map(|number| format!("{wanted}_{number}"));
                let free =
                    std::iter::once(wanted.clone()).chain(numbered).find(|name| used.insert(name.clone()));
                let component = free.unwrap_or(wanted);
                self.definitions.insert([keyword.to_owned(), name.clone()], component.clone());
                taken.push((vec![keyword.to_owned(), name], component, definition));
            }
        }
        taken
    }

    /// Makes the references of a schema lead into the document. `at` is where it stands, `base` where the schema stands
    /// that its references count from: the nearest around it with an `$id`.
    fn rewrite(&mut self, value: &mut Value, at: &mut Pointer, base: &[String]) {
        let Value::Object(members) = value else { return };
        let own_base = members.contains_key("$id").then(|| at.clone());
        let base = own_base.as_deref().unwrap_or(base);
        self.rewrite_reference(members, base);
        for keyword in LEFT_OUT {
            members.shift_remove(keyword);
        }
        for (key, value) in members.iter_mut() {
            if DATA.contains(&key.as_str()) {
                continue;
            }
            at.push(key.clone());
            match value {
                Value::Object(named) if NAMED.contains(&key.as_str()) => {
                    for (name, schema) in named {
                        self.rewrite_below(name.clone(), schema, at, base);
                    }
                }
                Value::Array(items) => {
                    for (place, schema) in items.iter_mut().enumerate() {
                        self.rewrite_below(place.to_string(), schema, at, base);
                    }
                }
                schema => self.rewrite(schema, at, base),
            }
            at.pop();
        }
    }

    fn rewrite_below(&mut self, part: String, schema: &mut Value, at: &mut Pointer, base: &[String]) {
        at.push(part);
        self.rewrite(schema, at, base);
        at.pop();
    }

    /// One that leads nowhere is left out: there, anything fits.
    fn rewrite_reference(&mut self, members: &mut Map<String, Value>, base: &[String]) {
        for keyword in REFERENCES {
            let Some(Value::String(reference)) = members.get(keyword) else { continue };
            let target = self.find(reference, base).and_then(|pointer| self.target(&pointer));
            members.shift_remove(keyword);
            if let Some(target) = target {
                members.insert("$ref".to_owned(), target.into());
            }
        }
    }

    /// Where a reference leads inside the schema.
    fn find(&self, reference: &str, base: &[String]) -> Option<Pointer> {
        let (resource, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut pointer = match resource {
            "" => base.to_vec(),
            id => self.names.get(id)?.clone(),
        };
        match fragment.strip_prefix('/') {
            Some(path) => pointer.extend(path.split('/').map(decoded)),
            None if fragment.is_empty() => {}
            None => pointer.clone_from(self.names.get(&format!("#{fragment}"))?),
        }
        Some(pointer)
    }

    /// The same place in the document.
    fn target(&mut self, pointer: &[String]) -> Option<String> {
        let (component, rest) = match pointer {
            [keyword, name, rest @ ..] if DEFINITIONS.contains(&keyword.as_str()) => {
                (self.definitions.get(&[keyword.clone(), name.clone()])?.as_str(), rest)
            }
            rest => {
                self.root_is_used = true;
                (self.root_name, rest)
            }
        };
        let rest = rest.iter().fold(String::new(), |path, part| path + "/" + &encoded(part));
        Some(format!("#/components/schemas/{component}{rest}"))
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_')
}

fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().replace("~1", "/").replace("~0", "~")
}

fn encoded(part: &str) -> String {
    utf8_percent_encode(&part.replace('~', "~0").replace('/', "~1"), PART).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands for a schema, and the components that it makes.
    fn check(schema: Value, placed: Value, expect: Value) {
        let mut components = Components::default();
        assert_eq!(components.place("T.input", &schema), placed, "{schema}");
        assert_eq!(Value::Object(components.schemas), expect, "{schema}");
    }

    #[test]
    fn definitions_become_components_and_references_lead_there() {
        check(
            json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/n" }, "$ref": { "type": "string" } },
                "$defs": { "n": { "items": { "$ref": "#/$defs/n" } } } }),
            json!({ "type": "object",
                "properties": { "a": { "$ref": "#/components/schemas/T.input.n" }, "$ref": { "type": "string" } } }),
            json!({ "T.input.n": { "items": { "$ref": "#/components/schemas/T.input.n" } } }),
        );
        check(
            json!({ "properties": { "a": { "$ref": "#/definitions/x%20~1y/properties/b" } },
                "definitions": { "x /y": { "properties": { "b": {} } }, "x__y": {} } }),
            json!({ "properties": { "a": { "$ref": "#/components/schemas/T.input.x__y/properties/b" } } }),
            json!({ "T.input.x__y": { "properties": { "b": {} } }, "T.input.x__y_2": {} }),
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_a_component() {
        let itself = json!({ "$ref": "#/components/schemas/T.input" });
        check(
            json!({ "properties": { "next": { "$ref": "#" } } }),
            itself.clone(),
            json!({ "T.input": { "properties": { "next": itself } } }),
        );
        check(
            json!({ "properties": { "a b": {}, "c": { "$ref": "#/properties/a%20b" } } }),
            json!({ "$ref": "#/components/schemas/T.input" }),
            json!({ "T.input": { "properties": { "a b": {},
                "c": { "$ref": "#/components/schemas/T.input/properties/a%20b" } } } }),
        );
    }

    #[test]
    fn names_of_schemas_are_followed_and_left_out() {
        check(
            json!({ "$id": "https://example.com/t", "properties": {
                    "a": { "$ref": "#word" }, "b": { "$ref": "other" }, "c": { "$dynamicRef": "#word" } },
                "$defs": { "w": { "$anchor": "word" }, "o": { "$id": "other", "items": { "$ref": "#" } } } }),
            json!({ "properties": { "a": { "$ref": "#/components/schemas/T.input.w" },
                "b": { "$ref": "#/components/schemas/T.input.o" },
                "c": { "$ref": "#/components/schemas/T.input.w" } } }),
            json!({ "T.input.w": {},
                "T.input.o": { "items": { "$ref": "#/components/schemas/T.input.o" } } }),
        );
    }

    #[test]
    fn what_no_reader_takes_is_left_out() {
        check(
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {
                "a": { "type": "wibble", "items": [{ "type": "str" }] }, "b": { "$ref": "https://example.com/x" },
                "c": { "discriminator": "kind", "enum": [{ "$ref": "#/$defs/none" }] } } }),
            json!({ "type": "object", "properties": { "a": { "prefixItems": [{ "type": "string" }] }, "b": {},
                "c": { "enum": [{ "$ref": "#/$defs/none" }] } } }),
            json!({}),
        );
        check(json!(true), json!({}), json!({}));
    }
}
