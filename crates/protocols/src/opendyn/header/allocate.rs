//! Structures whose members are known: functions that allocate, free and read them, as handles.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::c_type::{CType, Types};
use super::facts::Facts;
use super::forms::handle;

/// The member that holds the name of a structure in C until its size is checked.
pub(super) const C_NAME: &str = "cName";
/// The largest structure that is allocated.
const MOST_SIZE: u64 = 1 << 20;

/// For each kind of object that functions take, nobody makes and whose size is known: a function that allocates it,
/// filled with zeros, and one that frees it.
pub(super) fn allocations(facts: &Facts<'_>, ready: &[Value]) -> Vec<Value> {
    let kinds: BTreeSet<&str> = ready.iter().flat_map(kinds_taken).collect();
    let taken = kinds.iter().copied().filter(|kind| !facts.is_made(kind));
    let types = &facts.header.types;
    let sized = taken.filter_map(|kind| {
        let layout = types.layout(&types.tagged(kind))?;
        (1..=MOST_SIZE).contains(&layout.size).then_some((kind, layout.size))
    });
    let names: BTreeSet<&str> = ready.iter().filter_map(|function| function["name"].as_str()).collect();
    let readers = kinds.iter().filter_map(|kind| reading(facts, kind));
    sized
        .flat_map(|(kind, size)| [allocating(kind, size), freeing(kind)])
        .chain(readers)
        .map(|mut function| {
            let kind = kind_of(&function).unwrap_or_default();
            function[C_NAME] = types.c_name(&kind).into();
            function
        })
        .filter(|function| !function["name"].as_str().is_some_and(|name| names.contains(name)))
        .collect()
}

/// The kind of structure that one of these functions is about.
fn kind_of(function: &Value) -> Option<String> {
    let parameters = function["parameters"].as_array().into_iter().flatten();
    let parts = parameters.chain([&function["return"]]);
    parts.into_iter().find_map(|part| part["schema"]["cType"]["handle"].as_str().map(str::to_owned))
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

/// A function that gives the members of a structure, as far as they are numbers and texts.
fn reading(facts: &Facts<'_>, kind: &str) -> Option<Value> {
    let types = &facts.header.types;
    let size =
        types.layout(&types.tagged(kind)).map(|layout| layout.size).filter(|size| *size <= MOST_SIZE)?;
    let fields = fields(types, kind).filter(|fields| !fields.is_empty())?;
    let c = json!({ "type": "void", "isPointer": true, "size": size, "fields": fields });
    let length =
        json!({ "type": "integer", "cType": { "type": "unsigned long", "isPointer": false }, "const": size });
    Some(json!({
        "name": format!("{kind}_read"),
        "symbol": "memcpy",
        "description": format!("Gives the members of a `{kind}` that are numbers or texts."),
        "parameters": [
            { "name": "members", "schema": { "type": "object", "cType": c }, "isIn": false, "required": true },
            { "name": kind, "schema": handle(kind), "isIn": true, "required": true },
            { "name": "size", "schema": length, "isIn": true, "required": true },
        ],
    }))
}

fn fields(types: &Types, kind: &str) -> Option<Vec<Value>> {
    let described = types.readable_fields(kind).into_iter().map(|(field, offset)| {
        let (element, count) = match &field.c {
            CType::Array(element, count) => (&**element, *count),
            other => (other, None),
        };
        let mut described = json!({ "name": field.name, "offset": offset, "type": types.number(element)? });
        if let Some(count) = count {
            described["count"] = count.into();
        }
        Some(described)
    });
    described.collect()
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
