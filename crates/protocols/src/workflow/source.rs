//! A workflow as a tool. What it takes is what its first step takes, where the document gives a value for
//! everything; what it gives is what its last step gives.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::schema::Schema;
use toolmux_core::tool::Tool;
use toolmux_core::version::Version;

use super::document::{Workflow, read};
use super::reference::Reference;
use super::run::Runner;
use crate::documents::document_setting::{DocumentSetting, DocumentText};
use crate::registry::{Detection, OpenError, Opening, SourceKind};

/// How long a step may take when nothing else is said.
const STEP_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "workflow",
    settings: || schemars::schema_for!(WorkflowSettings),
    open,
    asks_for_tokens: |_| false,
    detection: Detection::NONE,
};

/// A workflow over the tools of all sources.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WorkflowSettings {
    /// An OpenWorkflow document: its file, or the document itself.
    document: DocumentSetting,
    /// The name of the tool. Default: the title of the document.
    #[serde(default)]
    name: Option<String>,
    /// Timeout of each step, such as `30s`. Default `1m`.
    #[serde(default)]
    step_timeout: Option<String>,
}

struct WorkflowTool {
    tool: Tool,
    runner: Runner,
}

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings: WorkflowSettings = opening.settings()?;
    let workflow = load(&settings.document, opening.folder)?;
    let step_timeout = match &settings.step_timeout {
        None => STEP_TIMEOUT,
        Some(text) => humantime::parse_duration(text)
            .map_err(|_| OpenError::new("`step_timeout` must be a time").hint("write it as `30s` or `2m`"))?,
    };
    let tool = describe(&workflow, settings.name.as_deref());
    let runner = Runner { workflow, step_timeout };
    Ok(Arc::new(WorkflowTool { tool, runner }))
}

fn load(document: &DocumentSetting, folder: &Path) -> Result<Workflow, OpenError> {
    let DocumentText { file, text } = document.read(folder)?;
    let (workflow, faults) = read(&text);
    workflow.ok_or_else(|| {
        let Some(file) = file else {
            return OpenError::new("`document` is not a workflow that can run")
                .hint("`toolmux check` lists the errors of a document in a file of its own");
        };
        let errors: Vec<String> = faults.iter().map(|fault| format!("{fault}; {}", fault.remedy)).collect();
        let file = file.display();
        OpenError::new(format!("`{file}` is not a workflow that can run\n{}", errors.join("\n")))
            .hint(format!("toolmux check {file}"))
    })
}

fn describe(workflow: &Workflow, name: Option<&str>) -> Tool {
    let first = workflow.steps.first().map(|step| &step.arguments);
    let literal =
        |(_, value): &(&String, &Value)| value.as_str().is_none_or(|text| Reference::read(text).is_none());
    let properties: Map<String, Value> = first
        .into_iter()
        .flatten()
        .filter(literal)
        .map(|(name, value)| (name.clone(), parameter(value)))
        .collect();
    let input = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let calls: Vec<&str> = workflow.steps.iter().map(|step| step.function.as_str()).collect();
    let about = workflow.description.as_deref().unwrap_or(&workflow.title);
    let description = format!("{about} (calls {})", calls.join(", "));
    let mut tool = Tool::new(name.unwrap_or(&workflow.title), description, Schema::new(input));
    tool.version = Version::nearest(&workflow.version);
    tool
}

/// A parameter of the same type as the value that the document has for it.
fn parameter(value: &Value) -> Value {
    let kind = match value {
        Value::Null => return json!({ "default": null }),
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    json!({ "type": kind, "default": value })
}

impl Source for WorkflowTool {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(vec![self.tool.clone()].into())))
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.runner.run(call, progress))
    }
}
