//! What a value must be, in the words of people, from the schema of its place.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::fault::Found;
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
        "integer" => match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
            (Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
            (Some(least), None) => format!("a whole number of at least {least}"),
            (None, _) => "a whole number".to_owned(),
        },
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

/// How a program and its arguments are written. An example: the value itself may hold a secret.
pub(super) const COMMAND_LIST: &str = "write each word as an item: command = [\"npx\", \"-y\", \"foo\"]";

/// Every value of a table that does not fit its place, and every one that is missing.
pub(super) fn find_misfits(table: &Spanned<DeValue<'_>>, known: &Known<'_>, path: &str) -> Vec<Found> {
    let misfit = |what: String| Found { span: table.span(), what, hint: None };
    if !fits(table.get_ref(), known) {
        let hint = (path.ends_with(".command") && table.get_ref().is_str()).then(|| COMMAND_LIST.to_owned());
        return vec![Found { hint, ..misfit(must_be(path, known)) }];
    }
    match table.get_ref() {
        DeValue::Table(members) => {
            let below = members.iter().filter_map(|(key, member)| {
                let name = key.get_ref().as_ref();
                Some(find_misfits(member, &known.member(name).ok()?, &joined(path, name)))
            });
            let missing = missing(members, known).map(|name| misfit(format!("`{path}` needs `{name}`")));
            below.flatten().chain(missing).collect()
        }
        DeValue::Array(items) => {
            let (known, items) = (known.items(), items.iter().enumerate());
            items.flat_map(|(place, item)| find_misfits(item, &known, &format!("{path}[{place}]"))).collect()
        }
        _ => Vec::new(),
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
            DeValue::Integer(number) => matches!(*kind, "integer" | "number") && is_within(number, schema),
            DeValue::Float(_) => *kind == "number",
            DeValue::Boolean(_) => *kind == "boolean",
            DeValue::Datetime(_) => false,
            DeValue::Array(_) => *kind == "array",
            DeValue::Table(_) => *kind == "object",
        })
}

fn is_within(number: &DeInteger<'_>, schema: &Value) -> bool {
    let Ok(number) = i64::from_str_radix(number.as_str(), number.radix()) else { return true };
    let (least, most) = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
    least.is_none_or(|least| least <= number) && most.is_none_or(|most| number <= most)
}
