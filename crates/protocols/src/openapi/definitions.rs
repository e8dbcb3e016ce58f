//! The definitions that the schemas of one tool refer to: found breadth first, each under a plain name, within a bound. What
//! is beyond the bound accepts anything, so that a value that fits the whole schema fits what is written of it.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};
use toolmux_core::names::plain_name;

use super::keywords::{Keyword, keyword};

/// How long the definitions of one tool may be together, as text. Clients list every tool with its schemas.
const MOST_BYTES: usize = 64 << 10;

#[derive(Default)]
pub(super) struct Definitions<'d> {
    /// The name of each by its reference; none where there was no room.
    keys: HashMap<&'d str, Option<String>>,
    taken: HashSet<String>,
    waiting: VecDeque<(String, &'d Value)>,
    written: Map<String, Value>,
    bytes: usize,
    /// What the names of definitions begin with and their keys do not.
    prefix: String,
}

impl<'d> Definitions<'d> {
    /// Definitions whose keys are the rest of their names behind this.
    pub(super) fn named_without(prefix: String) -> Self {
        Definitions { prefix, ..Definitions::default() }
    }

    /// The name of the definition that a reference leads to; none when there is no room for another.
    pub(super) fn key(&mut self, reference: &'d str, target: &'d Value) -> Option<String> {
        if let Some(key) = self.keys.get(reference) {
            return key.clone();
        }
        let bytes = self.bytes + schema_length(target);
        let key = (bytes <= MOST_BYTES).then(|| self.free_key(reference));
        self.keys.insert(reference, key.clone());
        if let Some(key) = &key {
            self.bytes = bytes;
            self.waiting.push_back((key.clone(), target));
        }
        key
    }

    fn free_key(&mut self, reference: &str) -> String {
        let last = reference.rsplit('/').next().unwrap_or_default();
        let last = percent_encoding::percent_decode_str(last).decode_utf8_lossy();
        let last = last.strip_prefix(&self.prefix).unwrap_or(&last);
        let plain = plain_name(&last.replace("~1", "/").replace("~0", "~"));
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let mut names = std::iter::once(plain.clone()).chain(numbered);
        let free = names.find(|name| !self.taken.contains(name)).unwrap_or(plain);
        self.taken.insert(free.clone());
        free
    }

    /// The next definition that is to be written.
    pub(super) fn take_next(&mut self) -> Option<(String, &'d Value)> {
        self.waiting.pop_front()
    }

    pub(super) fn put(&mut self, key: String, schema: Value) {
        self.written.insert(key, schema);
    }

    /// All of them, if there are any.
    pub(super) fn written(&mut self) -> Option<Value> {
        let written = std::mem::take(&mut self.written);
        (!written.is_empty()).then_some(Value::Object(written))
    }
}

/// About how long a schema is as text, without what is not written of it.
fn schema_length(schema: &Value) -> usize {
    let Value::Object(members) = schema else { return length(schema) };
    let each = |schemas: &Value| match schemas {
        Value::Object(named) => {
            named.iter().map(|(name, schema)| 4 + name.len() + schema_length(schema)).sum()
        }
        Value::Array(list) => list.iter().map(schema_length).sum(),
        other => length(other),
    };
    let member = |(name, value): (&String, &Value)| match (keyword(name), name.as_str()) {
        (Keyword::Schema, _) if value.is_object() => name.len() + schema_length(value),
        (Keyword::Schema | Keyword::List | Keyword::Named, _) => name.len() + each(value),
        (Keyword::Copied | Keyword::Required, _) | (Keyword::Dropped, "$ref") => name.len() + length(value),
        (Keyword::Dropped, _) => 0,
    };
    4 + members.iter().map(member).sum::<usize>()
}

/// About how long a value is as text.
fn length(value: &Value) -> usize {
    4 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(length).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + length(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    }
}
