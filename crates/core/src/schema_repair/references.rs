//! Which references of a schema lead somewhere inside it. Nothing is fetched, so others cannot be followed; neither can
//! those that expand to more than one value may be checked against.

use std::collections::HashSet;

use serde_json::Value;

use super::keywords::is_schema;
use crate::schema::{costly_references, decoded_pointer};

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
                !root.pointer(&decoded_pointer(pointer)).is_some_and(is_schema)
            }
            Some(anchor) => !anchors.contains(anchor),
            None => !anchors.contains(reference.trim_end_matches('#')),
        };
        let mut dangling = costly_references(root);
        dangling.extend(references.into_iter().filter(leads_nowhere).map(str::to_owned));
        Dangling(dangling)
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
