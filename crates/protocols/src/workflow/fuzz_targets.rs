//! Invariants of workflow documents.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::document::{START, calls, read};
use super::reference::Values;
use super::shape::misfit;
use crate::fuzz_targets::{Target, examples};

pub(crate) const TARGETS: &[Target] = &[("workflow_document", document_examples, document)];

fn document_examples() -> Vec<Vec<u8>> {
    examples(&[
        r##"{"openworkflow":"1.0.0","info":{"title":"a","version":"1.0.0"},"workflow":{"start":{"function":"Kit.add","arguments":{"a":1},"results":{"sum":0},"next":"end"},"end":{"function":"Kit.add","arguments":{"a":"#/start/results/sum","b":["#/start/arguments/a"]},"results":{"l":[{"x":""}]},"next":null}}}"##,
        r#"{"openworkflow":"1.0.0","info":{},"workflow":{"start":{"function":"sleep","arguments":{"ms":5},"next":"start"}}}"#,
        r##"{"workflow":{"start":{"function":"f","arguments":{"a":"#/start/results/x"},"results":{"x~y":1},"next":"b/c"},"b/c":{"function":"g","arguments":{"a":"#/start/results/x~0y","b":"#/b~1c/arguments"}}}}"##,
    ])
}

/// A workflow that can run begins with `start`, runs each step at most once, and its references lead to earlier steps.
fn document(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let (workflow, faults) = read(text);
    assert_eq!(
        (&workflow, &faults),
        (&read(text).0, &read(text).1),
        "the same text is read as another workflow"
    );
    let Some(workflow) = workflow else {
        assert!(!faults.is_empty(), "it cannot run and nobody says why");
        return;
    };
    assert_eq!(workflow.steps.first().map(|step| step.name.as_str()), Some(START));
    assert!(calls(text).len() <= workflow.steps.len());
    let mut names = HashSet::new();
    let mut values = Values::default();
    for step in &workflow.steps {
        assert!(names.insert(&step.name), "`{}` runs twice", step.name);
        let filled = values.fill_map(&step.arguments);
        let results = Value::Object(step.results.clone());
        assert_eq!(misfit(&step.results, &results), None, "a result that is its own shape");
        // Results have the shape that the document gives, so that what refers to them is found.
        values.keep(&step.name, filled.unwrap_or_else(|_| Map::new()), results);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
