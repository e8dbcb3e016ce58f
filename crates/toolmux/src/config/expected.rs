//! What a value must be, in the words of people, from the schema of its place.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::Known;

/// The most members of a table that are named.
const MOST_NAMED: usize = 6;

/// What may stand at a place: "a string", "a list of strings", "a table with `key`, `sha256` or `toolset`".
pub(super) fn expected(known: &Known<'_>) -> String {
    if known.is_secret() {
        return "a string, { env = \"NAME\" } or { file = \"path\" }".to_owned();
    }
    let choices: Vec<String> = known.leaves().flat_map(choices).map(|choice| format!("`{choice}`")).collect();
    let mut kinds: Vec<String> = if choices.is_empty() { Vec::new() } else { vec![any_of(&choices)] };
    for schema in known.leaves().filter(|schema| choices_of(schema).is_none()) {
        kinds.extend(types(schema).into_iter().filter_map(|kind| words(kind, schema, known)));
    }
    kinds.dedup();
    if kinds.is_empty() { "another value".to_owned() } else { kinds.join(" or ") }
}

fn words(kind: &str, schema: &Value, known: &Known<'_>) -> Option<String> {
    Some(match kind {
        "string" => "a string".to_owned(),
        "integer" if schema["minimum"] == 0 => "a whole number of at least 0".to_owned(),
        "integer" => "a whole number".to_owned(),
        "number" => "a number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => match expected(&known.items()).as_str() {
            "a string" => "a list of strings".to_owned(),
            "another value" => "a list".to_owned(),
            items => format!("a list, each item {items}"),
        },
        "object" => {
            let names = schema["properties"].as_object().into_iter().flat_map(|members| members.keys());
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            match names.len() {
                1..=MOST_NAMED => format!("a table with {}", any_of(&names)),
                _ => "a table".to_owned(),
            }
        }
        _ => return None,
    })
}

fn any_of(names: &[String]) -> String {
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}

fn choices_of(schema: &Value) -> Option<Vec<&str>> {
    if let Some(only) = schema["const"].as_str() {
        return Some(vec![only]);
    }
    Some(schema["enum"].as_array()?.iter().filter_map(Value::as_str).collect())
}

fn choices(schema: &Value) -> Vec<&str> {
    choices_of(schema).unwrap_or_default()
}

fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A value that does not fit its place.
pub(super) struct Misfit {
    pub(super) span: Range<usize>,
    pub(super) what: String,
}

/// The first value of a table that does not fit, or that is missing.
pub(super) fn find_misfit(table: &Spanned<DeValue<'_>>, known: &Known<'_>, path: &str) -> Option<Misfit> {
    let misfit = |what: String| Some(Misfit { span: table.span(), what });
    if !fits(table.get_ref(), known) {
        return misfit(must_be(path, known));
    }
    match table.get_ref() {
        DeValue::Table(members) => {
            let below = members.iter().find_map(|(key, member)| {
                let name = key.get_ref().as_ref();
                find_misfit(member, &known.member(name).ok()?, &joined(path, name))
            });
            below.or_else(|| {
                let missing = missing(members, known)?;
                misfit(format!("`{path}` needs `{missing}`"))
            })
        }
        DeValue::Array(items) => {
            let known = known.items();
            let mut items = items.iter().enumerate();
            items.find_map(|(place, item)| find_misfit(item, &known, &format!("{path}[{place}]")))
        }
        _ => None,
    }
}

pub(super) fn must_be(path: &str, known: &Known<'_>) -> String {
    format!("`{path}` must be {}", expected(known))
}

pub(super) fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn missing(members: &DeTable<'_>, known: &Known<'_>) -> Option<String> {
    let mut objects = known.leaves().filter(|schema| types(schema).contains(&"object"));
    let (Some(only), None) = (objects.next(), objects.next()) else { return None };
    let mut required = only["required"].as_array()?.iter().filter_map(Value::as_str);
    required.find(|name| !members.contains_key(*name)).map(str::to_owned)
}

/// Whether any of the schemas has room for a value of this type.
fn fits(value: &DeValue<'_>, known: &Known<'_>) -> bool {
    let mut leaves = known.leaves().peekable();
    leaves.peek().is_none() || leaves.any(|schema| fits_one(value, schema))
}

fn fits_one(value: &DeValue<'_>, schema: &Value) -> bool {
    if let Some(choices) = choices_of(schema) {
        return value.as_str().is_some_and(|text| choices.contains(&text));
    }
    let kinds = types(schema);
    kinds.is_empty()
        || kinds.iter().any(|kind| match value {
            DeValue::String(_) => *kind == "string",
            DeValue::Integer(_) => matches!(*kind, "integer" | "number"),
            DeValue::Float(_) => *kind == "number",
            DeValue::Boolean(_) => *kind == "boolean",
            DeValue::Datetime(_) => false,
            DeValue::Array(_) => *kind == "array",
            DeValue::Table(_) => *kind == "object",
        })
}
