//! References of a step to what earlier steps took and gave: `#/step/results/key`, as deep as need be.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Which half of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Arguments,
    Results,
}

/// A text that stands for a value of an earlier step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) step: String,
    pub(super) part: Part,
    pub(super) path: Vec<String>,
}

impl Reference {
    /// `None` for a text that is none; an error for one that begins as one and is not.
    pub(super) fn read(text: &str) -> Option<Result<Self, String>> {
        let mut parts =
            text.strip_prefix("#/")?.split('/').map(|part| part.replace("~1", "/").replace("~0", "~"));
        let step = parts.next().unwrap_or_default();
        let part = match parts.next().as_deref() {
            Some("arguments") => Part::Arguments,
            Some("results") => Part::Results,
            _ => return Some(Err(format!("`{text}` refers to neither `arguments` nor `results` of a step"))),
        };
        Some(Ok(Reference { step, part, path: parts.collect() }))
    }
}

/// What every step so far took and gave.
#[derive(Debug, Default)]
pub(super) struct Values(HashMap<String, (Value, Value)>);

impl Values {
    /// Keeps what a step took and gave.
    pub(super) fn keep(&mut self, step: &str, arguments: Map<String, Value>, results: Value) {
        self.0.insert(step.to_owned(), (Value::Object(arguments), results));
    }

    /// A value with every reference in it replaced, at any depth; an error names the one that leads nowhere.
    pub(super) fn fill(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?,
            Value::Object(members) => Value::Object(self.fill_map(members)?),
            Value::String(text) => match Reference::read(text) {
                None => value.clone(),
                Some(reference) => {
                    self.find(&reference?).ok_or_else(|| format!("`{text}` leads nowhere"))?.clone()
                }
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    /// The same for arguments.
    pub(super) fn fill_map(&self, members: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        members.iter().map(|(name, value)| Ok((name.clone(), self.fill(value)?))).collect()
    }

    fn find(&self, reference: &Reference) -> Option<&Value> {
        let (arguments, results) = self.0.get(&reference.step)?;
        let whole = match reference.part {
            Part::Arguments => arguments,
            Part::Results => results,
        };
        reference.path.iter().try_fold(whole, |value, key| match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            other => other.get(key),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: &Value, expect: Result<Value, &str>) {
        let mut values = Values::default();
        let Value::Object(arguments) = json!({ "n": 1 }) else { unreachable!() };
        values.keep("a", arguments, json!({ "list": [{ "x/y": true }], "null": null }));
        assert_eq!(values.fill(value), expect.map_err(str::to_owned));
    }

    #[test]
    fn references_are_replaced_at_any_depth() {
        check(&json!("#/a/arguments/n"), Ok(json!(1)));
        check(&json!({ "deep": [["#/a/results/list/0/x~1y"]] }), Ok(json!({ "deep": [[true]] })));
        check(&json!("#/a/results/null"), Ok(Value::Null));
        check(&json!("#/a/arguments"), Ok(json!({ "n": 1 })));
        check(&json!(["# not one", 7]), Ok(json!(["# not one", 7])));
    }

    #[test]
    fn a_reference_to_nowhere_is_an_error() {
        check(&json!({ "x": "#/a/results/list/9" }), Err("`#/a/results/list/9` leads nowhere"));
        check(
            &json!("#/a/result"),
            Err("`#/a/result` refers to neither `arguments` nor `results` of a step"),
        );
    }
}
