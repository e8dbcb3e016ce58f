//! Reads the schemas of a document: types, choices, and references by name.

use serde_json::{Number, Value};
use toolmux_core::arguments::kind_of;
use toolmux_core::nearest::nearest;

use super::objects::{FunctionSchema, Properties, Reference, Type, Typed};
use super::read::{Members, Reader, present, rest};
use crate::documents::fault::{Path, Weight};

const PREFIX: &str = "#/schemas/";

impl Reader {
    /// A schema, or a reference to one.
    pub(super) fn schema(&mut self, value: &Value, at: &Path<'_>) -> Option<FunctionSchema> {
        let members = self.object(value, at)?;
        match present(members, "$ref") {
            Some(reference) => self.reference(members, reference, at).map(FunctionSchema::Reference),
            None => self.typed(members, at).map(FunctionSchema::from),
        }
    }

    fn reference(&mut self, members: &Members, reference: &Value, at: &Path<'_>) -> Option<Reference> {
        let name = reference.as_str().and_then(|text| text.strip_prefix(PREFIX));
        let Some(name) = name.filter(|name| !name.is_empty() && !name.contains('/')) else {
            let what = format!("`$ref` is {reference}, which names no whole schema of this document");
            self.faults.fatal(&at.member("$ref"), what, "write `#/schemas/NAME`");
            return None;
        };
        let name = name.replace("~1", "/").replace("~0", "~");
        if !self.schemas.contains(&name) {
            let meant = nearest(&name, self.schemas.iter().map(String::as_str));
            let remedy = meant.map_or_else(
                || format!("add `{name}` to `schemas`"),
                |meant| format!("did you mean `#/schemas/{meant}`?"),
            );
            self.faults.fatal(&at.member("$ref"), format!("there is no schema `{name}`"), remedy);
            return None;
        }
        Some(Reference {
            name,
            description: self.text(members, at, "description", None),
            extra: rest(members, &["$ref", "description"]),
        })
    }

    fn typed(&mut self, members: &Members, at: &Path<'_>) -> Option<Typed> {
        let kind = self.kind(members, at);
        let description = self.text(members, at, "description", None);
        let properties = self.properties(members, kind, at);
        let items = self.items(members, kind, at);
        let choices = kind.and_then(|kind| self.choices(members, kind, at));
        let required = self.required(members, properties.as_ref(), at);
        Some(Typed {
            kind: kind?,
            description,
            properties,
            items,
            choices,
            required,
            extra: rest(members, &["type", "description", "properties", "items", "enum", "required"]),
        })
    }

    fn kind(&mut self, members: &Members, at: &Path<'_>) -> Option<Type> {
        let words: Vec<&str> = Type::WORDS.iter().map(|(word, _)| *word).collect();
        let remedy = format!("write one of {}", words.join(", "));
        match present(members, "type") {
            Some(Value::String(word)) => {
                let known = Type::named(word);
                if known.is_none() {
                    let meant = nearest(word, words);
                    let remedy = meant.map_or(remedy, |meant| format!("did you mean `{meant}`?"));
                    self.faults.fatal(&at.member("type"), format!("`{word}` is not a type"), remedy);
                }
                known
            }
            Some(other) => {
                let what = format!("`type` must be one word, not {}", kind_of(other));
                self.faults.fatal(&at.member("type"), what, remedy);
                None
            }
            None => {
                self.faults.missing(at, "type", Weight::Fatal, &remedy);
                None
            }
        }
    }

    fn properties(&mut self, members: &Members, kind: Option<Type>, at: &Path<'_>) -> Option<Properties> {
        let Some(value) = present(members, "properties") else {
            if kind == Some(Type::Object) {
                let remedy = "add `\"properties\": {}` and describe the members in it";
                self.faults.missing(at, "properties", Weight::Tolerable, remedy);
            }
            return None;
        };
        let at = at.member("properties");
        let members = self.object(value, &at)?;
        let member =
            |(name, value): (&String, &Value)| Some((name.clone(), self.schema(value, &at.member(name))?));
        Some(Properties(members.iter().filter_map(member).collect()))
    }

    fn items(&mut self, members: &Members, kind: Option<Type>, at: &Path<'_>) -> Option<FunctionSchema> {
        match present(members, "items") {
            Some(value) => self.schema(value, &at.member("items")),
            None => {
                if kind == Some(Type::Array) {
                    let remedy = "add `\"items\": {\"type\": \"string\"}` or what the items are";
                    self.faults.missing(at, "items", Weight::Tolerable, remedy);
                }
                None
            }
        }
    }

    /// Choices of the schema's own type. The specification writes all of them as texts, which we undo.
    fn choices(&mut self, members: &Members, kind: Type, at: &Path<'_>) -> Option<Vec<Value>> {
        let at = at.member("enum");
        let values = self.array(present(members, "enum")?, &at)?;
        if values.is_empty() {
            self.faults.tolerable(&at, "`enum` has no value", "list the values, or leave `enum` out");
            return None;
        }
        let mut choices = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            if value.is_null() || kind.holds(value) {
                choices.push(value.clone());
                continue;
            }
            if let Some(meant) = untexted(kind, value) {
                choices.push(meant);
                continue;
            }
            let what = format!("{value} is not {} {}", article(kind), kind.word());
            self.faults.fatal(&at.item(index), what, "choices must be of the schema's own `type`");
        }
        Some(choices)
    }

    fn required(
        &mut self,
        members: &Members,
        properties: Option<&Properties>,
        at: &Path<'_>,
    ) -> Option<Vec<String>> {
        let value = present(members, "required")?;
        let at = at.member("required");
        let mut required = Vec::new();
        for (index, value) in self.array(value, &at)?.iter().enumerate() {
            let Some(name) = value.as_str() else {
                let what = format!("must be the name of a member, not {}", kind_of(value));
                self.faults.fatal(&at.item(index), what, "write the name in quotes");
                continue;
            };
            if !properties.is_some_and(|known| known.0.iter().any(|(known, _)| known == name)) {
                let what = format!("`{name}` is required but not among the `properties`");
                self.faults.tolerable(&at.item(index), what, format!("describe `{name}` in `properties`"));
            }
            required.push(name.to_owned());
        }
        Some(required)
    }
}

/// The value that a text stands for, when it stands for one of the type.
fn untexted(kind: Type, value: &Value) -> Option<Value> {
    let text = value.as_str()?;
    match kind {
        Type::Boolean => text.parse().ok().map(Value::Bool),
        Type::Integer => text.parse::<i64>().ok().map(Value::from),
        Type::Number => text.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number),
        Type::String | Type::Array | Type::Object => None,
    }
}

fn article(kind: Type) -> &'static str {
    match kind {
        Type::Integer | Type::Array | Type::Object => "an",
        Type::Boolean | Type::Number | Type::String => "a",
    }
}
