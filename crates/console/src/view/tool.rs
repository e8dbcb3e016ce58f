//! Everything that is known of one tool.

use serde::Serialize;
use serde_json::Value;
use serde_json::json;
use toolmux_core::catalog::Entry;
use toolmux_core::example::example_arguments;
use toolmux_core::names::ToolRef;
use toolmux_core::tool::Returns;

use crate::operator::Operator;
use crate::program::ProtocolView;
use crate::schema_rows::{SchemaRow, schema_rows};
use crate::view::tools::counted;
use crate::view::{CallerAccess, access};

/// A tool with all that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolDetail {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The name that its source gives it.
    pub(crate) own_name: String,
    pub(crate) source: String,
    pub(crate) description: String,
    /// The ids of all its versions, oldest first.
    pub(crate) versions: Vec<String>,
    pub(crate) input: Value,
    pub(crate) output: Option<Value>,
    pub(crate) parameters: Vec<SchemaRow>,
    pub(crate) example: Value,
    pub(crate) hints: Value,
    pub(crate) requires: Value,
    /// What it requires and callers have to bring.
    pub(crate) withheld: Vec<String>,
    /// Arguments that the configuration fixes, by name.
    pub(crate) fixed: Vec<String>,
    pub(crate) changed: Vec<&'static str>,
    pub(crate) repairs: Vec<String>,
    pub(crate) timeout_seconds: f64,
    pub(crate) concurrency: usize,
    pub(crate) queue: usize,
    pub(crate) toolsets: Vec<String>,
    pub(crate) access: Vec<CallerAccess>,
    pub(crate) protocols: Vec<ProtocolView>,
    pub(crate) returned: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    pub(crate) running: usize,
    pub(crate) mean_seconds: Option<f64>,
}

/// The tool that is meant by a name, if there is one.
pub(crate) fn tool_detail(operator: &Operator, wanted: &str) -> Option<ToolDetail> {
    let catalog = operator.web.gateway.catalog();
    let place = catalog.find(&ToolRef::either(wanted))?;
    let entry = catalog.entry(place);
    let same = |other: &&std::sync::Arc<Entry>| {
        (&other.id.toolkit, &other.id.tool) == (&entry.id.toolkit, &entry.id.tool)
    };
    let mut versions: Vec<_> = catalog.every().filter(same).map(|other| other.id.clone()).collect();
    versions.sort_by_key(|id| id.version);
    let (concurrency, queue) = entry.concurrency();
    let counted = counted(&operator.web.gateway.call_counts(), entry);
    let timed = counted.map(|c| (c.seconds, c.timed));
    Some(ToolDetail {
        id: entry.id.to_string(),
        name: entry.flat.to_string(),
        own_name: entry.tool.name.to_string(),
        source: entry.source().to_owned(),
        description: entry.tool.description.clone(),
        versions: versions.iter().map(ToString::to_string).collect(),
        input: entry.tool.input.value().clone(),
        output: output(entry),
        parameters: schema_rows(entry.tool.input.value()),
        example: example_arguments(entry.tool.input.value()),
        hints: json!(entry.hints),
        requires: json!(entry.requires),
        withheld: entry.withheld(),
        fixed: entry.fixed.keys().cloned().collect(),
        changed: changed(entry),
        repairs: entry.repairs.clone(),
        timeout_seconds: entry.timeout.as_secs_f64(),
        concurrency,
        queue,
        toolsets: catalog.toolsets_of(place).into_iter().map(str::to_owned).collect(),
        access: access(operator, &catalog, place),
        protocols: operator.console.program.tool_views(entry),
        returned: counted.map_or(0, |counted| counted.returned),
        failed: counted.map_or(0, |counted| counted.failed),
        refused: counted.map_or(0, |counted| counted.refused),
        running: entry.running(),
        mean_seconds: timed.filter(|(_, calls)| *calls > 0).map(|(sum, calls)| sum / calls as f64),
    })
}

fn output(entry: &Entry) -> Option<Value> {
    match &entry.tool.returns {
        Returns::Matching(schema) => Some(schema.value().clone()),
        Returns::Nothing | Returns::Anything => None,
    }
}

/// What the configuration changed of what its source says.
fn changed(entry: &Entry) -> Vec<&'static str> {
    let changes = [
        (entry.renamed, "name"),
        (entry.redescribed, "description"),
        (entry.reshaped, "input schema"),
        (!entry.fixed.is_empty(), "fixed arguments"),
    ];
    changes.into_iter().filter(|(is_changed, _)| *is_changed).map(|(_, what)| what).collect()
}
