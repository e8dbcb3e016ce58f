//! One object of arguments for an operation: its parameters, and its body.
//!
//! The rule, which must stay what it is because callers rely on the names: each parameter is an argument of its own. A body
//! is spread, so that each of its properties is an argument, if its schema only lists properties and none has the name of a
//! parameter; or if it is any required object and there are no parameters. Every other body is the argument `body`.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use toolmux_core::names::flat_name;

use super::body::{BodySchema, ReadBody};
use super::document::{ApiDocument, texts_of};
use super::file_shape::file_shape;
use super::parameters::ReadParameter;
use super::schema_writer::SchemaWriter;
use crate::http_request::{BodyMedia, BodySource, FileAccess, PropertyForm};

/// The longest name that every model takes.
const LONGEST_NAME: usize = 64;
/// The argument that a body is where it is not spread.
const BODY: &str = "body";
/// How deep a schema is looked into for whether it describes an object.
const MOST_LOOKS: usize = 8;

/// The names of arguments that were given so far.
#[derive(Default)]
pub(super) struct ArgumentNames(HashSet<String>);

impl ArgumentNames {
    /// The name itself, as far as models take it; one that is taken gets the place of its parameter, or a number.
    pub(super) fn give(&mut self, name: &str, place: &str) -> String {
        let plain = legal(name);
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let mut names = [plain.clone(), format!("{plain}_{place}")].into_iter().chain(numbered);
        let free = names.find(|name| !self.0.contains(name)).unwrap_or_else(|| plain.clone());
        self.0.insert(free.clone());
        free
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// A name of an argument that model vendors take: at most 64 of `[A-Za-z0-9_.-]`.
fn legal(name: &str) -> String {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.len() > LONGEST_NAME || name.is_empty() {
        return flat_name(None, name);
    }
    name.chars().map(|c| if is_legal(c) { c } else { '_' }).collect()
}

/// What a tool takes, and which arguments are the body.
pub(super) struct ReadArguments {
    pub(super) schema: Value,
    pub(super) body: Option<BodySource>,
}

/// Builds the schema of the arguments of one operation.
pub(super) struct ArgumentsWriter<'a, 'd> {
    pub(super) document: &'d ApiDocument,
    pub(super) writer: SchemaWriter<'d>,
    pub(super) names: ArgumentNames,
    pub(super) files: &'a FileAccess,
}

impl<'d> ArgumentsWriter<'_, 'd> {
    /// The schema of a tool of another toolmux, all of which the body is.
    pub(super) fn write_unchanged(mut self, body: &ReadBody<'d>) -> Option<ReadArguments> {
        let BodySchema::Described(schema) = &body.schema else { return None };
        let members = self.writer.members(self.document.followed(schema).ok()?);
        let schema = self.writer.finish(Value::Object(members));
        Some(ReadArguments { schema, body: Some(BodySource::Remaining(Vec::new())) })
    }

    pub(super) fn write(
        mut self,
        parameters: &[ReadParameter],
        body: Option<&ReadBody<'d>>,
    ) -> ReadArguments {
        let mut arguments = Arguments::default();
        for parameter in parameters {
            arguments.add(&parameter.wire.argument, parameter.schema.clone());
            arguments.require(parameter.required.then_some(&*parameter.wire.argument));
        }
        let spread = body.and_then(|body| self.spread(body, parameters));
        let source = match (body, spread) {
            (None, _) => None,
            (Some(_), Some(spread)) => {
                let mut renamed = Vec::new();
                arguments.spread(spread, &mut renamed);
                Some(BodySource::Remaining(renamed))
            }
            (Some(body), None) => {
                let name = self.names.give(BODY, "request");
                let schema = self.whole(body);
                arguments.add(&name, schema);
                arguments.require(body.required.then_some(&*name));
                Some(BodySource::Argument(name))
            }
        };
        ReadArguments { schema: self.writer.finish(arguments.schema(source.as_ref())), body: source }
    }

    /// The members of the schema of a body that is spread; none for one that is not.
    fn spread(&mut self, body: &ReadBody<'d>, parameters: &[ReadParameter]) -> Option<Map<String, Value>> {
        let members = match &body.schema {
            BodySchema::Fields(fields) => self.fields(fields),
            BodySchema::Described(schema) => {
                let map = self.document.followed(schema).ok()?;
                let is_spread = is_list_of_properties(map)
                    || (parameters.is_empty() && body.required && self.is_object(map, 0));
                // What is spread is always sent, so that a body which may be left out must not require anything.
                let must_be_whole = body.omittable && !texts_of(map, "required").is_empty();
                let is_text = matches!(body.media, BodyMedia::Text | BodyMedia::Bytes);
                if !is_spread || must_be_whole || is_text {
                    return None;
                }
                let mut members = self.writer.members(map);
                self.replace_files(map, body, &mut members);
                members
            }
            BodySchema::File | BodySchema::Text | BodySchema::Anything => return None,
        };
        let properties = members.get("properties").and_then(Value::as_object);
        let clashes = properties.is_some_and(|all| {
            let names: HashSet<String> = all.keys().map(|name| legal(name)).collect();
            names.len() < all.len() || names.iter().any(|name| self.names.has(name))
        });
        (!clashes).then_some(members)
    }

    /// The fields of a form of 2.0 as the properties of an object.
    fn fields(&mut self, fields: &[&'d Map<String, Value>]) -> Map<String, Value> {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for field in fields {
            let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
            let mut schema = self.writer.members(field);
            schema.shift_remove("required");
            let schema = match schema.get("description").and_then(Value::as_str) {
                description if field.get("type") == Some(&json!("file")) => {
                    self.files.schema(description.unwrap_or("A file"))
                }
                _ => Value::Object(schema),
            };
            properties.insert(name.to_owned(), schema);
            if field.get("required") == Some(&Value::Bool(true)) {
                required.push(Value::from(name));
            }
        }
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        match schema {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    /// A body as one argument.
    fn whole(&mut self, body: &ReadBody<'d>) -> Value {
        let description = body.description.unwrap_or("The body of the request");
        let mut schema = match &body.schema {
            BodySchema::File => return self.files.schema(description),
            BodySchema::Text => {
                return text_schema(description, body.content_type.to_str().unwrap_or("text"));
            }
            BodySchema::Described(schema) => self.writer.write(schema),
            BodySchema::Fields(fields) => Value::Object(self.fields(fields)),
            BodySchema::Anything => json!({}),
        };
        if let Value::Bool(_) = schema {
            schema = json!({});
        }
        if let (BodySchema::Described(described), Value::Object(members)) = (&body.schema, &mut schema)
            && let Ok(map) = self.document.followed(described)
            && !members.contains_key("$ref")
        {
            self.replace_files(map, body, members);
        }
        if let Value::Object(members) = &mut schema {
            members.entry("description").or_insert_with(|| description.into());
        }
        schema
    }

    /// Properties of a multipart body that are files are given as files are.
    fn replace_files(&self, map: &Map<String, Value>, body: &ReadBody<'_>, members: &mut Map<String, Value>) {
        let BodyMedia::Multipart(encodings) = &body.media else { return };
        let described = map.get("properties").and_then(Value::as_object);
        let Some(Value::Object(properties)) = members.get_mut("properties") else { return };
        for (name, schema) in described.into_iter().flatten() {
            let Some(written) = properties.get_mut(name) else { continue };
            let description = written.get("description").and_then(Value::as_str).map(str::to_owned);
            let encoding = encodings.iter().find(|(known, _)| known == name).map(|(_, encoding)| encoding);
            if let Some(encoding) = encoding.filter(|encoding| encoding.form == PropertyForm::Text) {
                let media_type = encoding.content_type.as_deref().unwrap_or("text");
                *written = text_schema(description.as_deref().unwrap_or("A text"), media_type);
            } else if let Some(shape) = file_shape(self.document, schema) {
                let one = self.files.schema(description.as_deref().unwrap_or("A file"));
                let file = if shape.several { json!({ "type": "array", "items": one }) } else { one };
                *written = if shape.nullable { json!({ "anyOf": [file, { "type": "null" }] }) } else { file };
            }
        }
    }

    /// Whether only objects fit a schema.
    fn is_object(&self, map: &Map<String, Value>, looks: usize) -> bool {
        let each = |keyword: &str| {
            let schemas = map.get(keyword).and_then(Value::as_array);
            schemas.into_iter().flatten().map(|schema| {
                looks < MOST_LOOKS
                    && self.document.followed(schema).is_ok_and(|inner| self.is_object(inner, looks + 1))
            })
        };
        let has =
            |keyword: &str| map.get(keyword).and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        match map.get("type") {
            Some(kind) => kind == "object",
            None => {
                map.contains_key("properties")
                    || each("allOf").any(|is| is)
                    || (has("oneOf") && each("oneOf").all(|is| is))
                    || (has("anyOf") && each("anyOf").all(|is| is))
            }
        }
    }
}

/// A text that is sent as it is given.
fn text_schema(description: &str, media_type: &str) -> Value {
    json!({ "type": "string", "description": format!("{description}, as `{media_type}`") })
}

/// Whether a schema says nothing but which properties an object has.
fn is_list_of_properties(map: &Map<String, Value>) -> bool {
    let is_object = map.get("type").is_none_or(|kind| kind == "object");
    // An object that has none and takes no other is a list too: of nothing.
    let is_closed = map.get("additionalProperties") == Some(&Value::Bool(false));
    let has_properties =
        is_closed || map.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    let others = [
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "enum",
        "const",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentSchemas",
        "dependentRequired",
        "unevaluatedProperties",
        "$ref",
        "$dynamicRef",
    ];
    is_object
        && has_properties
        && map.get("nullable") != Some(&Value::Bool(true))
        && !others.iter().any(|keyword| map.contains_key(*keyword))
}

/// The schema of the arguments, as it grows.
#[derive(Default)]
struct Arguments {
    properties: Map<String, Value>,
    required: Vec<Value>,
    /// What else the schema of a spread body says.
    others: Map<String, Value>,
}

impl Arguments {
    fn add(&mut self, name: &str, schema: Value) {
        self.properties.insert(name.to_owned(), schema);
    }

    fn require<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        self.required.extend(names.into_iter().map(Value::from));
    }

    /// Adds the members of the schema of a body.
    fn spread(&mut self, mut members: Map<String, Value>, renamed: &mut Vec<(String, String)>) {
        let properties = members.shift_remove("properties");
        if let Some(Value::Object(properties)) = properties {
            for (name, schema) in properties {
                let argument = legal(&name);
                if argument != name {
                    renamed.push((argument.clone(), name));
                }
                self.properties.insert(argument, schema);
            }
        }
        if let Some(Value::Array(names)) = members.shift_remove("required") {
            let legal: Vec<String> = names.iter().filter_map(Value::as_str).map(legal).collect();
            self.require(legal.iter().map(String::as_str));
        }
        for annotation in ["title", "description", "default", "examples", "deprecated", "type"] {
            members.shift_remove(annotation);
        }
        self.others = members;
    }

    fn schema(self, body: Option<&BodySource>) -> Value {
        let mut schema = json!({ "type": "object", "properties": self.properties });
        if let Value::Object(map) = &mut schema {
            if !self.required.is_empty() {
                map.insert("required".to_owned(), Value::Array(self.required));
            }
            // Of a spread body the document says whether others are taken.
            if !matches!(body, Some(BodySource::Remaining(_))) {
                map.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            map.extend(self.others);
        }
        schema
    }
}
