//! Choices between schemas: `oneOf` and `discriminator`.
//!
//! `oneOf` becomes `anyOf`: documents describe branches that overlap, and a value that fits two of them is good to their
//! servers. What tells branches apart is the `discriminator`, whose values are written into them.

use serde_json::{Map, Value, json};

use super::document::{ApiDocument, text_of};
use super::schema_writer::SchemaWriter;

/// Rewrites the choice of `own`, the members of which are `written` otherwise.
pub(super) fn write_choice(
    writer: &SchemaWriter<'_>,
    own: &Map<String, Value>,
    written: &mut Map<String, Value>,
) {
    if let Some(discriminator) = Discriminator::of(own) {
        for choice in ["oneOf", "anyOf"] {
            let branches = own.get(choice).and_then(Value::as_array).into_iter().flatten();
            let copies = written.get_mut(choice).and_then(Value::as_array_mut).into_iter().flatten();
            for (branch, copy) in branches.zip(copies) {
                discriminator.write(writer, branch, copy);
            }
        }
        discriminator.show_values(written);
    }
    let Some(branches) = written.shift_remove("oneOf") else { return };
    if !written.contains_key("anyOf") {
        written.insert("anyOf".to_owned(), branches);
    } else if let Value::Array(all) = written.entry("allOf").or_insert_with(|| json!([])) {
        all.push(json!({ "anyOf": branches }));
    }
}

/// Which property says which branch a value is of.
struct Discriminator<'a> {
    property: &'a str,
    /// The reference or the name of a schema by the value that stands for it.
    mapping: Option<&'a Map<String, Value>>,
}

impl<'a> Discriminator<'a> {
    /// Of 2.0 it is just a name, and says nothing of branches.
    fn of(own: &'a Map<String, Value>) -> Option<Self> {
        let discriminator = own.get("discriminator")?.as_object()?;
        let mapping = discriminator.get("mapping").and_then(Value::as_object);
        Some(Discriminator { property: text_of(discriminator, "propertyName")?, mapping })
    }

    /// Requires the values of a branch in it.
    fn write(&self, writer: &SchemaWriter<'_>, branch: &Value, copy: &mut Value) {
        let (Some(reference), Value::Object(copy)) = (branch.get("$ref").and_then(Value::as_str), copy)
        else {
            return;
        };
        let document = writer.document();
        let described = property_of(document, branch, self.property);
        let is_hidden = described.is_some_and(|schema| writer.is_hidden(schema));
        if is_hidden || copy.contains_key("properties") || copy.contains_key("required") {
            return;
        }
        let values = self.values(reference);
        // A document that says the value in the branch itself may mean another than the name of the schema.
        let is_said = described.and_then(|schema| document.followed(schema).ok());
        let is_said = is_said.is_some_and(|map| map.contains_key("enum") || map.contains_key("const"));
        let values = match values.is_empty() {
            true if is_said => return,
            true => vec![name_of(reference)],
            false => values,
        };
        copy.insert("properties".to_owned(), json!({ self.property: { "enum": values } }));
        copy.insert("required".to_owned(), json!([self.property]));
    }

    /// The values that the mapping has for a schema.
    fn values(&self, reference: &str) -> Vec<&str> {
        let is_it = |target: &str| target == reference || target == name_of(reference);
        let mapping = self.mapping.into_iter().flatten();
        mapping
            .filter(|(_, target)| target.as_str().is_some_and(is_it))
            .map(|(value, _)| value.as_str())
            .collect()
    }

    /// Shows the values at the property itself, where other schemas build on this one.
    fn show_values(&self, written: &mut Map<String, Value>) {
        let Some(values) = self.mapping.map(|mapping| mapping.keys().collect::<Vec<_>>()) else { return };
        let properties = written.get_mut("properties").and_then(Value::as_object_mut);
        let property = properties.and_then(|all| all.get_mut(self.property)?.as_object_mut());
        if let Some(property) = property
            && !["enum", "const", "examples", "$ref"].iter().any(|keyword| property.contains_key(*keyword))
        {
            property.insert("examples".to_owned(), json!(values));
        }
    }
}

/// A property of what a schema refers to, its own or that of a schema that it builds on.
fn property_of<'d>(document: &'d ApiDocument, schema: &'d Value, name: &str) -> Option<&'d Value> {
    let own = |map: &'d Map<String, Value>| map.get("properties")?.as_object()?.get(name);
    let map = document.followed(schema).ok()?;
    let built_on = || {
        let schemas = map.get("allOf").and_then(Value::as_array).into_iter().flatten();
        schemas.filter_map(|schema| document.followed(schema).ok()).find_map(own)
    };
    own(map).or_else(built_on)
}

fn name_of(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or_default()
}
