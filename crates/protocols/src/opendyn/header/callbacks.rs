//! Callbacks of a header: what a function of ours that collects or compares would be called with.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::c_type::{CType, Declared, Signature};
use super::classify::Function;
use super::facts::object_of;
use super::forms::{handle, output};
use super::guess::{Confidence, guess};
use super::parameter::signature_of;
use super::words::{is_length, is_registering, is_texts, is_user_data, words};

/// Most arguments that a callback of ours takes.
const MOST_ARGUMENTS: usize = 10;

impl Function<'_> {
    /// A callback that tells what the library calls it with, or one that orders elements.
    pub(super) fn collecting(&self, index: usize) -> Option<Value> {
        let signature = signature_of(&self.declaration.parameters[index].c)?;
        let name = &self.names[index];
        if let Some(compared) = self.compared(signature) {
            let callback = json!({ "compare": compared });
            let mut parameter = output(name, callback_schema(&callback));
            guess(&mut parameter, Confidence::High, format!("`{name}` orders two elements"));
            return Some(parameter);
        }
        let object = self.declaration.parameters[..index].iter().find_map(|one| object_of(&one.c));
        let is_registering = is_registering(&self.declaration.name);
        if self.may_be_null(name) && !is_registering && !self.iterates() {
            return None;
        }
        let mut callback = self.collected(signature)?;
        if is_registering {
            // Without an object nobody would know whose the items are.
            let object = object?;
            let of = (0..index).find(|at| object_of(&self.declaration.parameters[*at].c) == Some(object))?;
            callback["of"] = self.names[of].as_str().into();
        }
        let mut parameter = output(name, callback_schema(&callback));
        let what = if is_registering {
            "stays, and tells later what it was called with"
        } else {
            "tells what it is called with"
        };
        guess(&mut parameter, Confidence::Medium, format!("`{name}` {what}"));
        Some(parameter)
    }

    /// `void sort(int *values, size_t count, int (*compare)(const void *, const void *))`
    pub(super) fn compared(&self, signature: &Signature) -> Option<String> {
        let is_element =
            |one: &Declared| matches!(&one.c, CType::Pointer { to, constant: true } if **to == CType::Void);
        let [a, b] = &signature.parameters[..] else { return None };
        if !is_element(a) || !is_element(b) || signature.returns != CType::Scalar("int") {
            return None;
        }
        let elements = self.declaration.parameters.iter().find_map(|one| match &one.c {
            CType::Pointer { to, .. } => self.facts.header.types.number(to),
            _ => None,
        });
        elements.map(str::to_owned)
    }

    fn iterates(&self) -> bool {
        const VERBS: [&str; 9] =
            ["each", "foreach", "walk", "enumerate", "iterate", "for", "list", "visit", "scan"];
        words(&self.declaration.name).iter().any(|word| VERBS.contains(&word.as_str()))
    }

    /// The parameters of a callback whose arguments can all be told or left out.
    fn collected(&self, signature: &Signature) -> Option<Value> {
        let types = &self.facts.header.types;
        let returns_number = types.number(&signature.returns).is_some();
        if signature.parameters.is_empty() || signature.parameters.len() > MOST_ARGUMENTS {
            return None;
        }
        if !returns_number && signature.returns != CType::Void {
            return None;
        }
        let names = argument_names(signature);
        let mut parameters = Vec::new();
        let mut taken = Vec::new();
        for (at, one) in signature.parameters.iter().enumerate() {
            let lengths = lengths_behind(signature, at);
            let mut part = self.part(one, !lengths.is_empty())?;
            part["name"] = names[at].as_str().into();
            if part["size"] == true {
                part["size"] = lengths.iter().map(|at| names[*at].as_str()).collect();
                taken.extend(lengths);
            }
            parameters.push(part);
        }
        for at in &taken {
            parameters[*at]["hidden"] = true.into();
        }
        let mut callback = json!({ "parameters": parameters });
        let is_amount = matches!(signature.returns, CType::Scalar("unsigned long" | "long" | "int"));
        if is_amount && !taken.is_empty() {
            callback["returns"] = taken.iter().map(|at| names[*at].as_str()).collect();
        } else if returns_number {
            callback["full"] = 1.into();
        }
        Some(callback)
    }

    /// One argument; `size` is true where its length is behind it.
    fn part(&self, one: &Declared, has_length: bool) -> Option<Value> {
        let types = &self.facts.header.types;
        if let Some(word) = types.number(&one.c) {
            return Some(json!({ "type": word }));
        }
        let CType::Pointer { to, constant } = &one.c else { return None };
        let name = one.name.as_deref().unwrap_or_default();
        match &**to {
            CType::Scalar("char") if has_length => {
                Some(json!({ "type": "char", "isPointer": true, "size": true }))
            }
            CType::Scalar("char") if *constant => Some(json!({ "type": "char", "isPointer": true })),
            CType::Void | CType::Scalar("unsigned char") if *constant && has_length => {
                Some(json!({ "type": "unsigned char", "isPointer": true, "size": true }))
            }
            CType::Pointer { to, .. } if **to == CType::Scalar("char") && is_texts(name) => {
                Some(json!({ "type": "char", "isPointer": true, "texts": true }))
            }
            // What the callback is to fill cannot be filled.
            CType::Void if !*constant && has_length && !is_user_data(name) => None,
            CType::Void | CType::Opaque(_) => Some(json!({ "type": "void", "isPointer": true })),
            _ if *constant => Some(json!({ "type": "void", "isPointer": true })),
            _ => None,
        }
    }
}

fn callback_schema(callback: &Value) -> Value {
    json!({ "type": "array", "cType": { "type": "void", "isPointer": true, "callback": callback } })
}

/// Each argument's own name, or one after its place.
fn argument_names(signature: &Signature) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, one) in signature.parameters.iter().enumerate() {
        let own = one.name.clone().filter(|name| !names.contains(name) && name != "callback");
        names.push(own.unwrap_or_else(|| format!("arg{at}")));
    }
    names
}

/// `const char *data, size_t size, size_t count`: what the length of an argument is the product of.
fn lengths_behind(signature: &Signature, at: usize) -> Vec<usize> {
    let is_number =
        |one: &Declared| matches!(one.c, CType::Scalar("int" | "unsigned int" | "long" | "unsigned long"));
    let is_named = |one: &Declared| one.name.as_deref().is_some_and(is_length);
    let is_size = |one: &Declared| one.c == CType::Scalar("unsigned long") && one.name.is_none();
    let behind = signature.parameters.iter().enumerate().skip(at + 1);
    behind
        .take_while(|(_, one)| is_number(one) && (is_named(one) || is_size(one)))
        .take(2)
        .map(|(at, _)| at)
        .collect()
}

/// For each kind of object with callbacks that stay: a function that gives what they have collected.
pub(super) fn collectors(ready: &[Value]) -> Vec<Value> {
    let mut kinds = BTreeSet::new();
    for function in ready {
        let parameters = function["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        let of = parameters.iter().find_map(|one| one["schema"]["cType"]["callback"]["of"].as_str());
        let object = parameters.iter().find(|one| of.is_some() && one["name"].as_str() == of);
        kinds.extend(object.and_then(|one| one["schema"]["cType"]["handle"].as_str()));
    }
    kinds.into_iter().map(collector).collect()
}

fn collector(kind: &str) -> Value {
    let c = json!({ "type": "char", "isPointer": true, "encoding": "json", "free": "free" });
    json!({
        "name": format!("{kind}_collected"),
        "symbol": "collected",
        "description": format!("Gives what the callbacks of a `{kind}` were called with since this was asked last."),
        "parameters": [{ "name": kind, "schema": handle(kind), "isIn": true, "required": true }],
        "return": { "name": "items", "schema": { "type": "array", "cType": c } },
    })
}
