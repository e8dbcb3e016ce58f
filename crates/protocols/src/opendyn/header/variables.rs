//! Variables of a library that are numbers, texts or structures, as functions that read them.

use serde_json::{Value, json};

use super::c_type::CType;
use super::facts::Facts;
use super::forms::{handle, number, text};
use super::request::Selection;
use super::structures::structure_schema;

/// A function for each variable that can be read.
pub(super) fn variables(facts: &Facts<'_>, selection: &Selection) -> Vec<Value> {
    let mut described: Vec<Value> = Vec::new();
    for variable in &facts.header.variables {
        let is_known = described.iter().any(|one| one["symbol"] == *variable.name);
        if is_known || !selection.wants(&variable.name) {
            continue;
        }
        let schema = match &variable.c {
            CType::Pointer { to, .. } if **to == CType::Scalar("char") => Some(text()),
            CType::Opaque(kind) if facts.is_value(kind) => Some(structure_schema(kind, "object", false)),
            CType::Opaque(kind) => Some(handle(kind)),
            CType::Pointer { to, .. } => match &**to {
                CType::Opaque(kind) => Some(handle(kind)),
                _ => None,
            },
            other => number(&facts.header.types, other, false),
        };
        let Some(schema) = schema else { continue };
        let is_object = matches!(&variable.c, CType::Opaque(kind) if !facts.is_value(kind));
        let what: Value = if is_object { "address".into() } else { true.into() };
        described.push(json!({
            "name": selection.shown(&variable.name),
            "symbol": variable.name,
            "variable": what,
            "description": format!("Reads the variable `{}`.", variable.text.trim_end_matches(';')),
            "parameters": [],
            "return": { "name": "value", "schema": schema },
        }));
    }
    described
}
