//! Structures whose members are known: functions that allocate, free and read them, as handles.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::c_type::{CType, Types};
use super::facts::Facts;
use super::forms::{array, handle, kind_of as json_kind};

/// The member that holds the name of a structure in C until its size is checked.
pub(super) const C_NAME: &str = "cName";
/// The member that holds its size until then.
pub(super) const C_SIZE: &str = "cSize";
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
    let writers: Vec<Value> = sized.clone().filter_map(|(kind, _)| writing(types, kind)).collect();
    sized
        .flat_map(|(kind, size)| [allocating(kind, size), freeing(kind)])
        .chain(readers)
        .chain(writers)
        .map(|mut function| {
            let kind = kind_of(&function).unwrap_or_default();
            function[C_NAME] = types.c_name(&kind).into();
            function[C_SIZE] = types.layout(&types.tagged(&kind)).map_or(0, |layout| layout.size).into();
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

/// A function that gives the members of a structure, as far as they can be read.
fn reading(facts: &Facts<'_>, kind: &str) -> Option<Value> {
    let types = &facts.header.types;
    let size =
        types.layout(&types.tagged(kind)).map(|layout| layout.size).filter(|size| *size <= MOST_SIZE)?;
    let structure = types
        .structure_json(kind)
        .filter(|one| one["fields"].as_array().is_some_and(|all| !all.is_empty()))?;
    let c = json!({ "type": "void", "isPointer": true, "structure": structure });
    let length =
        json!({ "type": "integer", "cType": { "type": "unsigned long", "isPointer": false }, "const": size });
    Some(json!({
        "name": format!("{kind}_read"),
        "symbol": "memcpy",
        "description": format!("Gives the members of a `{kind}`."),
        "parameters": [
            { "name": "members", "schema": { "type": "object", "cType": c }, "isIn": false, "required": true },
            { "name": kind, "schema": handle(kind), "isIn": true, "required": true },
            { "name": "size", "schema": length, "isIn": true, "required": true },
        ],
    }))
}

/// Most members that can be set.
const MOST_SET: usize = 15;

/// A function that sets members that are numbers: those that are given.
fn writing(types: &Types, kind: &str) -> Option<Value> {
    let fixed = |name: String, value: u64| {
        let c = json!({ "type": "unsigned long", "isPointer": false });
        json!({ "name": name, "schema": { "type": "integer", "cType": c, "const": value }, "isIn": true, "required": true })
    };
    let mut parameters = Vec::new();
    for (field, offset) in types.offsets(kind)?.into_iter().filter(|(field, _)| field.bits.is_none()) {
        let (element, count) = match &field.c {
            CType::Array(element, Some(count)) => (&**element, *count),
            other => (other, 1),
        };
        let Some(word) = types.number(element).filter(|_| !field.name.is_empty()) else { continue };
        let size = types.layout(&field.c)?.size;
        let schema = match count {
            1 => json!({ "type": json_kind(word), "cType": { "type": word, "isPointer": true } }),
            _ => {
                let mut schema = array(word);
                schema["cType"]["size"] = count.into();
                schema
            }
        };
        parameters.push(fixed(format!("{}_place", field.name), offset << 32 | size));
        parameters.push(json!({ "name": field.name, "schema": schema, "isIn": true, "required": false }));
    }
    let count = parameters.len() / 2;
    if count == 0 || count > MOST_SET {
        return None;
    }
    let mut all = vec![
        json!({ "name": kind, "schema": handle(kind), "isIn": true, "required": true }),
        fixed("members".to_owned(), count as u64),
    ];
    all.extend(parameters);
    Some(json!({
        "name": format!("{kind}_write"),
        "symbol": "store",
        "description": format!("Sets members of a `{kind}`; those that are not given stay as they are."),
        "parameters": all,
    }))
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
