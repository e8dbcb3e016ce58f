//! Schemas of a document: what they refer to is kept beside them as `$defs`, each once and never expanded, so that
//! recursive ones stay what they are.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};

/// How large the schemas that one tool refers to may be together, in bytes of their text.
const MOST_BYTES: usize = 1 << 20;
/// The same for all tools of a document: each has its own.
const MOST_BYTES_OF_ALL: usize = 64 << 20;
/// How many references in a row are followed.
const MOST_STEPS: usize = 16;
/// How deep schemas are read.
const MOST_DEPTH: usize = 100;

/// What follows a reference in place of a schema.
pub(super) fn resolved<'a>(document: &'a Value, value: &'a Value) -> Option<&'a Value> {
    let mut value = value;
    for _ in 0..MOST_STEPS {
        match value.get("$ref").and_then(Value::as_str) {
            Some(reference) => value = document.pointer(reference.strip_prefix('#')?)?,
            None => return Some(value),
        }
    }
    None
}

/// The schemas that others refer to, each read once.
pub(super) struct Schemas<'a> {
    document: &'a Value,
    read: HashMap<String, ReadSchema>,
    /// What was added to the tools so far.
    bytes: usize,
}

/// A schema whose references lead into `$defs`.
struct ReadSchema {
    schema: Value,
    refers_to: BTreeSet<Target>,
    bytes: usize,
}

/// A schema that is referred to: its name among `$defs`, and where it is in the document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    name: String,
    pointer: String,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        Schemas { document, read: HashMap::new(), bytes: 0 }
    }

    /// A schema of which every reference leads into `definitions`, where what it refers to is added.
    pub(super) fn keep(&mut self, schema: &Value, definitions: &mut Definitions) -> Result<Value, String> {
        let mut refers_to = BTreeSet::new();
        let kept = rewritten(schema, &mut refers_to, 0)?;
        let mut open: Vec<Target> = refers_to.into_iter().collect();
        while let Some(target) = open.pop() {
            if definitions.schemas.contains_key(&target.name) {
                continue;
            }
            let Some(bytes) = self.read(&target)? else { continue };
            definitions.bytes += bytes;
            self.bytes += bytes;
            if definitions.bytes > MOST_BYTES {
                return Err(format!("it refers to schemas of more than {MOST_BYTES} bytes"));
            }
            if self.bytes > MOST_BYTES_OF_ALL {
                return Err(format!(
                    "the methods refer to schemas of more than {MOST_BYTES_OF_ALL} bytes in all"
                ));
            }
            let Some(read) = self.read.get(&target.pointer) else { continue };
            definitions.schemas.insert(target.name, read.schema.clone());
            open.extend(read.refers_to.iter().cloned());
        }
        Ok(kept)
    }

    /// Reads a schema, if that was not done before, and gives its size. None for what is not there: the schema that refers
    /// to it is refused when it is compiled, with the name of it.
    fn read(&mut self, target: &Target) -> Result<Option<usize>, String> {
        if !self.read.contains_key(&target.pointer) {
            let Some(schema) = self.document.pointer(&target.pointer) else { return Ok(None) };
            let mut refers_to = BTreeSet::new();
            let schema = rewritten(schema, &mut refers_to, 0)?;
            let bytes = schema.to_string().len();
            self.read.insert(target.pointer.clone(), ReadSchema { schema, refers_to, bytes });
        }
        Ok(self.read.get(&target.pointer).map(|read| read.bytes))
    }
}

/// What the schemas of one tool refer to.
#[derive(Default)]
pub(super) struct Definitions {
    schemas: BTreeMap<String, Value>,
    bytes: usize,
}

impl Definitions {
    /// Adds them to a schema, if there are any.
    pub(super) fn put_into(self, schema: &mut Value) {
        if let (false, Some(members)) = (self.schemas.is_empty(), schema.as_object_mut()) {
            let definitions: Map<String, Value> = self.schemas.into_iter().collect();
            members.insert("$defs".to_owned(), Value::Object(definitions));
        }
    }
}

fn rewritten(schema: &Value, refers_to: &mut BTreeSet<Target>, depth: usize) -> Result<Value, String> {
    if depth > MOST_DEPTH {
        return Err(format!("its schema is deeper than {MOST_DEPTH} levels"));
    }
    Ok(match schema {
        Value::Object(members) => {
            let mut copy = Map::with_capacity(members.len());
            for (name, value) in members {
                let value = match value {
                    Value::String(reference) if name == "$ref" => {
                        led_to_definitions(reference, refers_to).into()
                    }
                    other => rewritten(other, refers_to, depth + 1)?,
                };
                copy.insert(name.clone(), value);
            }
            Value::Object(copy)
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| rewritten(item, refers_to, depth + 1));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}

/// A reference into the document, as one into `$defs`. Others stay what they are.
fn led_to_definitions<'a>(reference: &'a str, refers_to: &mut BTreeSet<Target>) -> Cow<'a, str> {
    const COMPONENTS: &str = "/components/schemas/";
    let Some(pointer) = reference.strip_prefix('#').filter(|pointer| pointer.starts_with('/')) else {
        return Cow::Borrowed(reference);
    };
    let Some(rest) = pointer.strip_prefix(COMPONENTS) else {
        let name = pointer.trim_start_matches('/').replace('/', ".");
        let led = format!("#/$defs/{name}");
        refers_to.insert(Target { name: unescaped(&name), pointer: pointer.to_owned() });
        return Cow::Owned(led);
    };
    let name = rest.split('/').next().unwrap_or_default();
    refers_to.insert(Target { name: unescaped(name), pointer: format!("{COMPONENTS}{name}") });
    Cow::Owned(format!("#/$defs/{rest}"))
}

/// A step of a JSON pointer as the name that it stands for.
fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
