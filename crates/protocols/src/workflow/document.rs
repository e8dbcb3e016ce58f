//! OpenWorkflow documents: the model, and a reader that tells every fault with its place and remedy.

use serde_json::{Map, Value};
use toolmux_core::arguments::kind_of;
use toolmux_core::json_text::read_strict;
use toolmux_core::names::ToolRef;

use super::order;
use super::run::SLEEP;
use crate::documents::fault::{Fault, Faults, Path, Weight, not_json, without_bom};

/// The step that every workflow begins with.
pub(super) const START: &str = "start";

/// A workflow whose steps stand in the order in which they run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Workflow {
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) version: String,
    pub(super) steps: Vec<Step>,
}

/// One call of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) function: String,
    pub(super) description: Option<String>,
    /// Values, and references to those of earlier steps.
    pub(super) arguments: Map<String, Value>,
    /// What the result must look like.
    pub(super) results: Map<String, Value>,
    pub(super) next: Option<String>,
}

/// Every fault of a text as an OpenWorkflow document; none means it is good.
pub fn check(text: &str) -> Vec<Fault> {
    read(text).1
}

/// The tools that the steps of a document call; none when it cannot run.
pub fn calls(text: &str) -> Vec<ToolRef> {
    let steps = read(text).0.map(|workflow| workflow.steps).unwrap_or_default();
    let functions = steps.iter().map(|step| step.function.as_str()).filter(|function| *function != SLEEP);
    functions.map(ToolRef::either).collect()
}

/// The workflow, when it can run, and every fault.
pub(super) fn read(text: &str) -> (Option<Workflow>, Vec<Fault>) {
    let text = without_bom(text);
    let value = match read_strict(text) {
        Ok(value) => value,
        Err(error) => return (None, vec![not_json(&error)]),
    };
    let mut reader = Reader { faults: Faults::default() };
    let workflow = reader.workflow(&value).filter(|_| reader.faults.fatal_count() == 0);
    (workflow, reader.faults.placed(text))
}

struct Reader {
    faults: Faults,
}

impl Reader {
    fn workflow(&mut self, value: &Value) -> Option<Workflow> {
        let at = Path::Root;
        let members = self.object(value, &at)?;
        self.text(members, &at, "openworkflow", Some(Weight::Tolerable));
        let (title, description, version) = self.info(members, &at);
        let steps = self.steps(members, &at)?;
        let steps = order::ordered(steps, &mut self.faults)?;
        Some(Workflow { title, description, version, steps })
    }

    fn info(&mut self, members: &Map<String, Value>, at: &Path<'_>) -> (String, Option<String>, String) {
        let unnamed = || ("workflow".to_owned(), None, "1.0.0".to_owned());
        let Some(info) = members.get("info") else {
            let remedy = "add `\"info\": {\"title\": \"…\", \"version\": \"1.0.0\"}`";
            self.faults.missing(at, "info", Weight::Tolerable, remedy);
            return unnamed();
        };
        let at = at.member("info");
        let Some(members) = self.object(info, &at) else { return unnamed() };
        let (title, _, version) = unnamed();
        (
            self.text(members, &at, "title", Some(Weight::Tolerable)).unwrap_or(title),
            self.text(members, &at, "description", None),
            self.text(members, &at, "version", Some(Weight::Tolerable)).unwrap_or(version),
        )
    }

    fn steps(&mut self, members: &Map<String, Value>, at: &Path<'_>) -> Option<Vec<Step>> {
        let Some(value) = members.get("workflow") else {
            let remedy = "add `\"workflow\": {\"start\": {…}}`";
            self.faults.missing(at, "workflow", Weight::Fatal, remedy);
            return None;
        };
        let at = at.member("workflow");
        let steps = self.object(value, &at)?.iter();
        let read: Vec<Option<Step>> =
            steps.map(|(name, value)| self.step(name, value, &at.member(name))).collect();
        read.into_iter().collect()
    }

    fn step(&mut self, name: &str, value: &Value, at: &Path<'_>) -> Option<Step> {
        let members = self.object(value, at)?;
        let function = self.text(members, at, "function", Some(Weight::Fatal));
        Some(Step {
            name: name.to_owned(),
            description: self.text(members, at, "description", None),
            arguments: self.map(members, at, "arguments"),
            results: self.map(members, at, "results"),
            next: self.text(members, at, "next", Some(Weight::Tolerable)),
            function: function.unwrap_or_default(),
        })
    }

    fn map(&mut self, members: &Map<String, Value>, at: &Path<'_>, name: &str) -> Map<String, Value> {
        match members.get(name) {
            Some(value) => self.object(value, &at.member(name)).cloned().unwrap_or_default(),
            None => {
                self.faults.missing(at, name, Weight::Tolerable, &format!("add `\"{name}\": {{}}`"));
                Map::new()
            }
        }
    }

    fn object<'v>(&mut self, value: &'v Value, at: &Path<'_>) -> Option<&'v Map<String, Value>> {
        let members = value.as_object();
        if members.is_none() {
            self.faults.fatal(at, format!("must be an object, not {}", kind_of(value)), "write `{…}`");
        }
        members
    }

    /// A text; `null` counts as one that is not there on purpose.
    fn text(
        &mut self,
        members: &Map<String, Value>,
        at: &Path<'_>,
        name: &str,
        missed: Option<Weight>,
    ) -> Option<String> {
        match (members.get(name), missed) {
            (Some(Value::String(text)), _) => return Some(text.clone()),
            (Some(Value::Null), Some(Weight::Tolerable) | None) | (None, None) => {}
            (Some(other), _) => {
                let what = format!("`{name}` must be a string, not {}", kind_of(other));
                self.faults.fatal(&at.member(name), what, "put it in quotes");
            }
            (None, Some(weight)) => {
                self.faults.missing(at, name, weight, &format!("add `\"{name}\": \"…\"`"));
            }
        }
        None
    }
}
