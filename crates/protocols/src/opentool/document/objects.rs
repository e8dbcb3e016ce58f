//! The objects of the OpenTool specification 1.1.0, member by member. What the specification does not
//! name is kept in `extra`, so that a document that is read and written again has lost nothing.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

/// A whole document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenTool {
    /// The version of the specification that the document follows.
    pub opentool: String,
    /// What the document is.
    pub info: Info,
    /// Where the functions are served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<DocumentServer>,
    /// What can be called.
    pub functions: Vec<Function>,
    /// Schemas that others refer to by name.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "named")]
    pub schemas: Vec<(String, FunctionSchema)>,
    /// Members that the specification does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a document is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    pub title: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its own version.
    pub version: String,
    /// Members that the specification does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Where functions are served.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DocumentServer {
    /// The address, with or without `/opentool`.
    pub url: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Members that the specification does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Something that can be called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Function {
    /// Of the form `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// What it gives; absent means nothing.
    #[serde(rename = "return", skip_serializing_if = "Option::is_none")]
    pub returns: Option<Return>,
    /// What it streams, by event; a member that the Dart SDK 2.0 brought.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "named")]
    pub stream: Vec<(String, Return)>,
    /// Members that the specification does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One thing a function takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it looks like.
    pub schema: FunctionSchema,
    /// Whether a call must bring it.
    pub required: bool,
    /// Members that the specification does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a function gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Return {
    pub name: String,
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it looks like.
    pub schema: FunctionSchema,
    /// Members that the specification does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a value looks like: said here, or in the document's `schemas`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FunctionSchema {
    /// Said in the document's `schemas`.
    Reference(Reference),
    /// Written out in place.
    Typed(Box<Typed>),
}

/// A schema of the document's `schemas`, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The name of the schema that is meant.
    pub name: String,
    /// Given next to the reference, and over what the schema itself says.
    pub description: Option<String>,
    /// Other members next to the reference, which mean nothing.
    pub extra: Map<String, Value>,
}

/// A schema said in its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Typed {
    #[serde(rename = "type")]
    pub kind: Type,
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Members of an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Properties>,
    /// Items of an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<FunctionSchema>,
    /// The only values there are.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Value>>,
    /// Members that an object must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<String>>,
    /// Members that the specification does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The members of an object by name, in the order of the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties(pub Vec<(String, FunctionSchema)>);

/// The types of OpenTool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    /// All of them, with their words.
    pub(super) const WORDS: [(&str, Type); 6] = [
        ("boolean", Type::Boolean),
        ("integer", Type::Integer),
        ("number", Type::Number),
        ("string", Type::String),
        ("array", Type::Array),
        ("object", Type::Object),
    ];

    /// The type a word names.
    pub fn named(word: &str) -> Option<Type> {
        Type::WORDS.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        let known = Type::WORDS.iter().find(|(_, kind)| *kind == self);
        known.map(|(name, _)| *name).expect("every type has a word")
    }

    /// True when a value is of this type.
    pub fn holds(self, value: &Value) -> bool {
        match self {
            Type::Boolean => value.is_boolean(),
            Type::Integer => value.is_i64() || value.is_u64(),
            Type::Number => value.is_number(),
            Type::String => value.is_string(),
            Type::Array => value.is_array(),
            Type::Object => value.is_object(),
        }
    }
}

impl Typed {
    /// A schema of a type and nothing more.
    pub fn of(kind: Type) -> Self {
        Typed {
            kind,
            description: None,
            properties: (kind == Type::Object).then(Properties::default),
            items: None,
            choices: None,
            required: None,
            extra: Map::new(),
        }
    }
}

impl From<Typed> for FunctionSchema {
    fn from(typed: Typed) -> Self {
        FunctionSchema::Typed(Box::new(typed))
    }
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let name = self.name.replace('~', "~0").replace('/', "~1");
        map.serialize_entry("$ref", &format!("#/schemas/{name}"))?;
        if let Some(description) = &self.description {
            map.serialize_entry("description", description)?;
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        named(&self.0, serializer)
    }
}

fn named<T: Serialize, S: Serializer>(members: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
}
