//! Structures that callers see as objects: which those are, how they stand in a document, and functions that take them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};

use super::c_type::{CType, Field, Types};
use super::classify::Function;
use super::facts::object_of;
use super::forms::{input, output, texts};
use super::guess::{Confidence, guess};
use super::syntax::{Declaration, Header};
use super::words::{End, ending, is_destination, is_length, is_making, is_texts, words};

/// Structures whose members are all known, which nobody makes or ends.
pub(super) fn values(header: &Header) -> HashSet<String> {
    let kinds = header.declarations.iter().flat_map(kinds_of).collect::<BTreeSet<&str>>();
    let is_value = |kind: &&&str| is_whole(&header.types, kind) && !is_object(header, kind);
    kinds.iter().filter(is_value).map(|kind| (**kind).to_owned()).collect()
}

/// Every structure that a function takes or gives.
fn kinds_of(declaration: &Declaration) -> impl Iterator<Item = &str> {
    let all = declaration.parameters.iter().map(|one| &one.c).chain([&declaration.returns]);
    all.filter_map(|c| match c {
        CType::Opaque(kind) => Some(kind.as_str()),
        other => object_of(other),
    })
}

/// Whether each member is a number, a text, or made of them.
fn is_whole(types: &Types, kind: &str) -> bool {
    let fields = types.structure(kind).filter(|fields| !fields.is_partial && !fields.all.is_empty());
    let Some(layout) = types.layout(&types.tagged(kind)) else { return false };
    let listed =
        types.structure_json(kind).and_then(|one| one["fields"].as_array().map(Vec::len)).unwrap_or(0);
    let is_named = |field: &&Field| field.bits.is_none() || !field.name.is_empty();
    fields.is_some_and(|fields| {
        layout.size > 0
            && listed == fields.all.iter().filter(is_named).count()
            && fields.all.iter().all(|field| is_readable(types, &field.c, 0))
    })
}

fn is_readable(types: &Types, c: &CType, depth: usize) -> bool {
    match c {
        CType::Scalar(_) | CType::Enum(_) => true,
        // Whether the number of elements is known was asked before.
        CType::Pointer { to, .. } => types.number(to).is_some() || **to == CType::Void,
        CType::Array(element, Some(_)) => is_readable(types, element, depth),
        CType::Opaque(kind) if depth < 8 => types
            .structure(kind)
            .is_some_and(|fields| fields.all.iter().all(|field| is_readable(types, &field.c, depth + 1))),
        _ => false,
    }
}

/// Whether the library makes, keeps or ends such structures itself.
fn is_object(header: &Header, kind: &str) -> bool {
    const STATE: [&str; 5] = ["init", "clear", "end", "reset", "destroy"];
    header.declarations.iter().any(|declaration| {
        let takes = declaration.parameters.iter().any(|one| object_of(&one.c) == Some(kind));
        let through = declaration
            .parameters
            .iter()
            .any(|one| matches!(&one.c, CType::Pointer { to, .. } if object_of(to) == Some(kind)));
        let ends = takes && matches!(ending(&declaration.name, kind), Some(End::Whole | End::Partial));
        let made = object_of(&declaration.returns) == Some(kind)
            && matches!(declaration.returns, CType::Pointer { constant: false, .. })
            && is_making(&declaration.name);
        let last = words(&declaration.name).pop().unwrap_or_default();
        through || ends || made || (takes && STATE.contains(&last.as_str()))
    })
}

/// The schema of a structure that the document describes by that name.
pub(super) fn structure_schema(kind: &str, json_type: &str, pointer: bool) -> Value {
    json!({ "type": json_type, "cType": { "type": "void", "isPointer": pointer, "structure": kind } })
}

impl Function<'_> {
    /// `f(point p)`, `point f(void)`
    pub(super) fn structure_by_value(&self, kind: &str) -> Result<Value, String> {
        let types = &self.facts.header.types;
        if is_whole(types, kind) {
            return Ok(structure_schema(kind, "object", false));
        }
        Err(format!("it passes the structure `{kind}` by value, and not all of its members are known"))
    }

    /// `const point *p`, `struct stat *out`
    pub(super) fn structure(&self, index: usize, kind: &str, constant: bool) -> Value {
        let name = &self.names[index];
        let schema = structure_schema(kind, "object", true);
        let is_output = self.direction(name) == Some("out")
            || (self.direction(name).is_none() && (is_destination(name) || self.fills()));
        if constant || self.direction(name) == Some("in") {
            let mut parameter = input(name, schema);
            guess(&mut parameter, Confidence::High, format!("`{name}` is one `{kind}` that is read"));
            return parameter;
        }
        if is_output {
            let mut parameter = output(name, schema);
            guess(
                &mut parameter,
                Confidence::Medium,
                format!("`{name}` is taken for one `{kind}` that is filled"),
            );
            return parameter;
        }
        let mut parameter = input(name, schema);
        parameter["isOut"] = true.into();
        parameter["schema"]["default"] = json!({});
        parameter["required"] = false.into();
        guess(
            &mut parameter,
            Confidence::Medium,
            format!("`{name}` is taken for one `{kind}` that is read and changed"),
        );
        parameter
    }

    fn frees(&self) -> bool {
        words(&self.declaration.name)
            .iter()
            .any(|word| matches!(word.as_str(), "free" | "destroy" | "delete" | "release"))
    }

    /// Whether the function is named as one that fills what it is given.
    fn fills(&self) -> bool {
        const VERBS: [&str; 9] = ["get", "make", "fill", "stat", "info", "query", "usage", "out", "default"];
        words(&self.declaration.name).iter().any(|word| VERBS.contains(&word.as_str()))
    }

    /// Whether a parameter is named as a list of texts.
    pub(super) fn names_texts(&self, index: usize) -> bool {
        let is_list = matches!(&self.declaration.parameters[index].c, CType::Pointer { to, .. }
            if matches!(&**to, CType::Pointer { to, .. } if **to == CType::Scalar("char")));
        is_list && is_texts(&self.names[index])
    }

    /// `const char **names` that is read, `char ***list` that is given.
    pub(super) fn text_list(&self, index: usize, to: &CType, constant: bool) -> Option<Value> {
        let name = &self.names[index];
        match to {
            CType::Scalar("char") if self.names_texts(index) && !self.is_ending() && !self.frees() => {
                let mut parameter = input(name, texts());
                let confidence = if constant { Confidence::Medium } else { Confidence::Low };
                guess(&mut parameter, confidence, format!("`{name}` is taken for texts that end with NULL"));
                Some(parameter)
            }
            CType::Pointer { to, .. }
                if **to == CType::Scalar("char") && !self.is_ending() && !self.frees() =>
            {
                let mut parameter = output(name, texts());
                parameter["schema"]["cType"]["indirect"] = true.into();
                let counter = (0..self.names.len()).find(|other| *other != index && self.is_counter(*other));
                let is_counted = matches!(
                    self.declaration.returns,
                    CType::Scalar("int" | "unsigned int" | "long" | "unsigned long")
                );
                let from = match counter {
                    Some(counter) => self.names[counter].as_str(),
                    None if is_counted && !self.is_status() => "return",
                    None => "nul",
                };
                parameter["schema"]["cType"]["lengthFrom"] = from.into();
                guess(
                    &mut parameter,
                    Confidence::Medium,
                    format!("`{name}` is taken for texts that the library gives"),
                );
                Some(parameter)
            }
            _ => None,
        }
    }

    /// `char **split(const char *text, int *count)`
    pub(super) fn returned_texts(&self, returned: &mut Value) {
        returned["schema"] = texts();
        let counter = (0..self.names.len()).find(|index| self.is_counter(*index));
        if let Some(counter) = counter {
            returned["schema"]["cType"]["lengthFrom"] = self.names[counter].as_str().into();
        }
        guess(returned, Confidence::Low, "it is taken to return texts that stay with the library");
    }

    /// Whether a parameter such as `int *count` receives a number of elements.
    pub(super) fn is_counter(&self, index: usize) -> bool {
        let is_number = matches!(&self.declaration.parameters[index].c, CType::Pointer { to, constant: false }
            if matches!(**to, CType::Scalar("int" | "unsigned int" | "long" | "unsigned long")));
        let name = self.names[index].as_str();
        is_number && (is_length(name) || matches!(name, "lengthp" | "lenp" | "plen" | "psize"))
    }
}

/// The structures that functions name, with those inside them.
pub(super) fn used_structures<'f>(
    facts: &super::facts::Facts<'_>,
    functions: impl Iterator<Item = &'f Value>,
) -> BTreeMap<String, Value> {
    let mut wanted: Vec<String> = functions.flat_map(named_in).collect();
    let mut used = BTreeMap::new();
    while let Some(name) = wanted.pop() {
        if used.contains_key(&name) {
            continue;
        }
        let types = &facts.header.types;
        let Some(mut structure) = types.structure_json(&name) else { continue };
        structure[super::allocate::C_NAME] = types.c_name(&name).into();
        wanted.extend(named_in(&structure));
        used.insert(name, structure);
    }
    used
}

/// Names of structures anywhere in a description.
pub(super) fn named_in(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| match (name.as_str(), value) {
                ("structure", Value::String(name)) => vec![name.clone()],
                _ => named_in(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(named_in).collect(),
        _ => Vec::new(),
    }
}
