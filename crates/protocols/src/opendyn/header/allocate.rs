//! Structures that the caller of a library provides: functions that allocate and free them, as handles.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::facts::Facts;
use super::forms::handle;

/// The largest structure that is allocated.
const MOST_SIZE: u64 = 1 << 20;

/// For each kind of object that functions take, nobody makes and whose size is known: a function that allocates it,
/// filled with zeros, and one that frees it.
pub(super) fn allocations(facts: &Facts<'_>, ready: &[Value]) -> Vec<Value> {
    let taken: BTreeSet<&str> =
        ready.iter().flat_map(kinds_taken).filter(|kind| !facts.is_made(kind)).collect();
    let types = &facts.header.types;
    let sized = taken.into_iter().filter_map(|kind| {
        let layout = types.layout(&types.tagged(kind))?;
        (1..=MOST_SIZE).contains(&layout.size).then_some((kind, layout.size))
    });
    let names: BTreeSet<&str> = ready.iter().filter_map(|function| function["name"].as_str()).collect();
    sized
        .flat_map(|(kind, size)| [allocating(kind, size), freeing(kind)])
        .filter(|function| !function["name"].as_str().is_some_and(|name| names.contains(name)))
        .collect()
}

fn kinds_taken(function: &Value) -> impl Iterator<Item = &str> {
    let parameters = function["parameters"].as_array().into_iter().flatten();
    parameters.filter_map(|parameter| parameter["schema"]["cType"]["handle"].as_str())
}

fn allocating(kind: &str, size: u64) -> Value {
    let fixed = |name: &str, value: u64| {
        let c = json!({ "type": "unsigned long", "isPointer": false });
        json!({ "name": name, "schema": { "type": "integer", "cType": c, "const": value }, "isIn": true, "required": true })
    };
    let description = format!(
        "Allocates a `{kind}` of {size} bytes, filled with zeros, for the functions that take one. Initialise it with the \
         library's own function before other use."
    );
    json!({
        "name": format!("{kind}_allocate"),
        "symbol": "calloc",
        "description": description,
        "parameters": [fixed("count", 1), fixed("size", size)],
        "return": { "name": "result", "success": "nonnull", "schema": handle(kind) },
    })
}

fn freeing(kind: &str) -> Value {
    let mut schema = handle(kind);
    schema["cType"]["closes"] = true.into();
    json!({
        "name": format!("{kind}_deallocate"),
        "symbol": "free",
        "description": format!("Frees a `{kind}` that `{kind}_allocate` gave, after the library's own function has ended it."),
        "parameters": [{ "name": kind, "schema": schema, "isIn": true, "required": true }],
    })
}
