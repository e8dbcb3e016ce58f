//! Which references of a schema lead somewhere inside it. Nothing is fetched, so others cannot be followed.

use std::collections::HashSet;

use serde_json::Value;

use super::keywords::is_schema;

/// The references that cannot be followed.
#[derive(Debug, Default)]
pub(super) struct Dangling(HashSet<String>);

impl Dangling {
    pub(super) fn of(root: &Value) -> Self {
        let (mut references, mut anchors) = (HashSet::new(), HashSet::new());
        collect(root, &mut references, &mut anchors);
        let leads_nowhere = |reference: &&str| match reference.strip_prefix('#') {
            Some("") => false,
            Some(pointer) if pointer.starts_with('/') => {
                !root.pointer(&decoded(pointer)).is_some_and(is_schema)
            }
            Some(anchor) => !anchors.contains(anchor),
            None => !anchors.contains(reference.trim_end_matches('#')),
        };
        Dangling(references.into_iter().filter(leads_nowhere).map(str::to_owned).collect())
    }

    pub(super) fn has(&self, reference: &str) -> bool {
        self.0.contains(reference)
    }
}

fn collect<'a>(value: &'a Value, references: &mut HashSet<&'a str>, anchors: &mut HashSet<&'a str>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                        references.insert(reference);
                    }
                    ("$id" | "$anchor" | "$dynamicAnchor", Value::String(name)) => {
                        anchors.insert(name.trim_end_matches('#'));
                    }
                    _ => collect(value, references, anchors),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, references, anchors);
            }
        }
        _ => {}
    }
}

/// A pointer in an address is percent-encoded.
fn decoded(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = (first == b'%').then(|| after.get(..2)).flatten();
        let code = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
