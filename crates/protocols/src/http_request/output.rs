//! What is made of a good answer: its value, and whether that fits the output schema of the tool.

use std::sync::OnceLock;

use serde_json::Value;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::refusal::ParameterError;
use toolmux_core::schema::{Schema, Validator};

use super::operation::{OutputCheck, ResponseForm, ResponseRule};

/// How many faults of an answer are named.
const MOST_FAULTS: usize = 5;

/// The rule of one operation. Its schema is compiled when the first answer is checked: most tools are never called.
#[derive(Debug)]
pub(crate) struct OutputRule {
    pub(super) form: ResponseForm,
    check: OutputCheck,
    schema: Option<Schema>,
    compiled: OnceLock<Option<Validator>>,
}

impl OutputRule {
    pub(crate) fn new(rule: ResponseRule) -> Self {
        let ResponseRule { form, check, schema } = rule;
        OutputRule {
            form,
            check,
            schema: schema.filter(|_| check != OutputCheck::Off),
            compiled: OnceLock::new(),
        }
    }

    /// The outcome of an answer with this value. `tool` is named where one that does not fit is logged.
    pub(crate) fn outcome(&self, tool: &str, output: Output, notes: Vec<String>) -> Outcome {
        let faults = self.faults(&output);
        if faults.is_empty() {
            return Outcome::Returned(with_notes(output, notes));
        }
        let words = words(&faults);
        match self.check {
            OutputCheck::Strict => {
                Outcome::Failed(ToolError::new(format!("{words}; the tool has run (`output = \"strict\"`)")))
            }
            OutputCheck::Warn | OutputCheck::Off => {
                tracing::warn!(tool, "{words}");
                Outcome::Returned(with_notes(output, [notes, vec![words]].concat()))
            }
        }
    }

    fn faults(&self, output: &Output) -> Vec<ParameterError> {
        let Some(schema) = &self.schema else { return Vec::new() };
        // A schema that cannot be compiled says nothing about answers.
        let compiled = self.compiled.get_or_init(|| schema.compile_output().ok());
        let Some(validator) = compiled else { return Vec::new() };
        let text = output.value.get();
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        validator.faults(&value, text.len())
    }
}

fn words(faults: &[ParameterError]) -> String {
    let each = faults.iter().take(MOST_FAULTS).map(|fault| match fault.parameter.as_str() {
        "" => fault.message.clone(),
        place => format!("`{place}` {}", fault.message),
    });
    let each: Vec<String> = each.collect();
    format!("The answer does not fit the output schema of the tool: {}", each.join("; "))
}

/// Notes stand behind the value, as blocks of text: the value itself stays what the server gave.
fn with_notes(output: Output, notes: Vec<String>) -> Output {
    if notes.is_empty() {
        return output;
    }
    let mut content = output.blocks();
    content.extend(notes.iter().map(|note| toolmux_core::outcome::Content::text(note)));
    Output { content, ..output }
}
