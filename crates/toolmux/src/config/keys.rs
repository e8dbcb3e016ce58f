//! Every key of a configuration file against the keys that are known, so that a mistyped one is found with
//! its line and the key that was meant.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toolmux_core::nearest::nearest;
use toolmux_core::size::SIZE;
use toolmux_protocols::SOURCES;

use super::expected::{COMMAND_LIST, find_misfits, joined, must_be};
use super::fault::Found;
use super::raw::{Raw, RawSource};
use super::{deliver, duration};

/// Where each key stands, by its path.
pub(super) struct Spans(HashMap<Vec<String>, Range<usize>>);

impl Spans {
    /// The place of the longest part of a path that is in the file.
    pub(super) fn of(&self, path: &[&str]) -> Option<Range<usize>> {
        (1..=path.len()).rev().find_map(|length| {
            let path: Vec<String> = path[..length].iter().map(ToString::to_string).collect();
            self.0.get(&path).cloned()
        })
    }

    /// Whether this very path is in the file.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        self.0.contains_key(&path)
    }
}

/// What the keys of a text are.
pub(super) struct CheckedKeys {
    /// Where each one stands.
    pub(super) spans: Spans,
    /// Those that are not known, each with its path.
    pub(super) unknown: Vec<(Vec<String>, Found)>,
}

/// Checks every key of a table.
pub(super) fn check(table: &DeTable<'_>) -> CheckedKeys {
    let mut walk = Walk { path: Vec::new(), spans: HashMap::new(), unknown: Vec::new() };
    let root = schemars::schema_for!(Raw).to_value();
    walk.table(table, &Known::of(&root, &root));
    CheckedKeys { spans: Spans(walk.spans), unknown: walk.unknown }
}

struct Walk {
    path: Vec<String>,
    spans: HashMap<Vec<String>, Range<usize>>,
    unknown: Vec<(Vec<String>, Found)>,
}

impl Walk {
    fn table(&mut self, table: &DeTable<'_>, known: &Known<'_>) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            self.path.push(name.to_owned());
            self.spans.insert(self.path.clone(), key.span());
            if self.path.len() == 2 && self.path[0] == "sources" {
                self.source(value);
            } else {
                match known.member(name) {
                    Ok(below) => self.value(value, &below),
                    Err(hint) => self.unknown.push((self.path.clone(), unknown(key.span(), name, hint))),
                }
            }
            self.path.pop();
        }
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, known: &Known<'_>) {
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, known),
            DeValue::Array(items) => {
                let of_items = known.items();
                items.iter().for_each(|item| self.value(item, &of_items));
            }
            _ => {}
        }
    }

    /// The table of a source: the keys of all sources and those of its kind. An unknown kind is told of
    /// later, with better words.
    fn source(&mut self, value: &Spanned<DeValue<'_>>) {
        let DeValue::Table(table) = value.get_ref() else { return };
        let kind = table.get("kind").and_then(|kind| kind.get_ref().as_str());
        let Some(kind) = kind.and_then(|kind| SOURCES.iter().find(|known| known.kind == kind)) else {
            return;
        };
        let (every, own) = (schemars::schema_for!(RawSource).to_value(), (kind.settings)().to_value());
        self.table(table, &Known::of(&own, &own).and(Known::of(&every, &every)));
    }
}

/// The words for a value that cannot be read, from the place where it stands. `said` is what the reader said of it,
/// which may quote the value: of that only what is known to hold none is kept.
pub(super) fn misread(text: &str, span: &Range<usize>, said: &str) -> String {
    let root = schemars::schema_for!(Raw).to_value();
    let table = DeTable::parse(text).ok();
    let found =
        table.as_ref().and_then(|table| value_at(table.get_ref(), &Known::of(&root, &root), span, ""));
    match (found, said.strip_prefix("missing field ")) {
        (Some((path, _)), Some(name)) => format!("`{path}` needs {name}"),
        (None, Some(name)) => format!("{name} is missing"),
        (Some((path, _)), None) if is_plain(said) => format!("`{path}` must be {said}"),
        (Some((path, known)), None) => must_be(&path, &known),
        (None, None) => "a value is not of the kind that is expected here".to_owned(),
    }
}

/// True for the words of our own readers, none of which quotes a value.
fn is_plain(said: &str) -> bool {
    [duration::TIME, duration::SOME_TIME, SIZE, deliver::ONE_CREDENTIAL, deliver::ONE_PLACE].contains(&said)
}

/// The innermost value around a place, by its path.
fn value_at<'a>(
    table: &DeTable<'_>,
    known: &Known<'a>,
    span: &Range<usize>,
    path: &str,
) -> Option<(String, Known<'a>)> {
    table.iter().find_map(|(key, value)| {
        let name = key.get_ref().as_ref();
        within(value, known.member(name).ok()?, span, joined(path, name))
    })
}

fn within<'a>(
    value: &Spanned<DeValue<'_>>,
    known: Known<'a>,
    span: &Range<usize>,
    path: String,
) -> Option<(String, Known<'a>)> {
    // The span of a table may be that of its head alone, so its members are always looked at.
    let below = match value.get_ref() {
        DeValue::Table(table) => value_at(table, &known, span, &path),
        DeValue::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(place, item)| within(item, known.items(), span, format!("{path}[{place}]"))),
        _ => None,
    };
    let holds = |outer: Range<usize>| outer.start <= span.start && span.end <= outer.end;
    below.or_else(|| holds(value.span()).then_some((path, known)))
}

/// All that is wrong in the table of a source that could not be read as the settings of its kind.
pub(super) fn source_misfits(text: &str, source: &str) -> Vec<Found> {
    let (every, find) = (schemars::schema_for!(RawSource).to_value(), || {
        let table = DeTable::parse(text).ok()?;
        let written = table.get_ref().get("sources")?.get_ref().get(source)?.clone();
        let kind = written.get_ref().get("kind")?.get_ref().as_str()?;
        let kind = SOURCES.iter().find(|known| known.kind == kind)?;
        Some((written, (kind.settings)().to_value()))
    });
    let Some((written, own)) = find() else { return Vec::new() };
    let known = Known::of(&own, &own).and(Known::of(&every, &every));
    find_misfits(&written, &known, &format!("sources.{source}"))
}

fn unknown(span: Range<usize>, name: &str, hint: Option<String>) -> Found {
    Found { what: format!("unknown key `{name}`"), span, hint }
}

/// What may stand at one place: schemas, each with the document its references point into.
pub(super) struct Known<'a> {
    schemas: Vec<(&'a Value, &'a Value)>,
}

impl<'a> Known<'a> {
    /// A schema with its references and alternatives opened.
    pub(super) fn of(schema: &'a Value, root: &'a Value) -> Known<'a> {
        let mut schemas = Vec::new();
        let mut open = VecDeque::from([schema]);
        while let Some(schema) = open.pop_front() {
            if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
                open.extend(root.pointer(target.trim_start_matches('#')));
            }
            for word in ["anyOf", "oneOf", "allOf"] {
                open.extend(schema.get(word).and_then(Value::as_array).into_iter().flatten());
            }
            schemas.push((schema, root));
        }
        Known { schemas }
    }

    /// Keys that either of both knows.
    fn and(mut self, other: Known<'a>) -> Known<'a> {
        self.schemas.extend(other.schemas);
        self
    }

    /// The schemas that say something themselves, and not by others.
    pub(super) fn leaves(&self) -> impl Iterator<Item = &'a Value> {
        let is_leaf = |schema: &Value| {
            ["$ref", "anyOf", "oneOf", "allOf"].iter().all(|word| schema.get(word).is_none())
        };
        self.schemas.iter().map(|(schema, _)| *schema).filter(move |schema| is_leaf(schema))
    }

    /// True where a secret stands.
    pub(super) fn is_secret(&self) -> bool {
        let has = |member: &str| self.leaves().any(|schema| schema["properties"].get(member).is_some());
        has("env") && has("file") && self.leaves().any(|schema| schema["type"] == "string")
    }

    /// What may stand under a key; `Err` holds a hint when the key is not known.
    pub(super) fn member(&self, name: &str) -> Result<Known<'a>, Option<String>> {
        let mut names: Vec<&str> = Vec::new();
        let (mut schemas, mut free) = (Vec::new(), self.schemas.is_empty());
        for (schema, root) in &self.schemas {
            let properties = schema.get("properties").and_then(Value::as_object);
            names.extend(properties.into_iter().flat_map(|map| map.keys().map(String::as_str)));
            if let Some(member) = properties.and_then(|map| map.get(name)) {
                schemas.extend(Known::of(member, root).schemas);
            }
            match schema.get("additionalProperties") {
                Some(Value::Object(_)) => {
                    schemas.extend(Known::of(&schema["additionalProperties"], root).schemas);
                }
                Some(Value::Bool(true)) => free = true,
                // `true` is also what a schema of any value looks like.
                None if **schema == Value::Bool(true) => free = true,
                _ => {}
            }
        }
        if !schemas.is_empty() || free || names.is_empty() {
            return Ok(Known { schemas });
        }
        if name == "args" && names.contains(&"command") {
            return Err(Some(format!("arguments follow their program: {COMMAND_LIST}")));
        }
        Err(Some(match nearest(name, names.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known here: {}", names.join(", ")),
        }))
    }

    /// What may stand in a list.
    pub(super) fn items(&self) -> Known<'a> {
        let items = self.schemas.iter().filter_map(|(schema, root)| Some((schema.get("items")?, *root)));
        Known { schemas: items.flat_map(|(schema, root)| Known::of(schema, root).schemas).collect() }
    }
}
