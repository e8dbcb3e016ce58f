//! Which sources of a configuration a tool needs: those that may have it and, for a workflow, those of its steps. No
//! other is started for one call.

use serde_json::Value;
use toolmux_core::names::ToolRef;
use toolmux_core::nearest::nearest;
use toolmux_core::sources::Naming;
use toolmux_protocols::workflow::calls;

use crate::config::{Config, SourceConfig};

/// The same configuration with only the sources that these tools need.
pub(super) fn only_needed(config: Config, mut tools: Vec<ToolRef>) -> Config {
    let (mut needed, mut seen): (Vec<String>, Vec<ToolRef>) = (Vec::new(), Vec::new());
    while let Some(tool) = tools.pop() {
        if seen.contains(&tool) {
            continue;
        }
        for source in may_have(&config.sources, &tool) {
            if !needed.contains(&source.name) {
                needed.push(source.name.clone());
                tools.extend(steps_of(source));
            }
        }
        seen.push(tool);
    }
    let Config { sources, .. } = config;
    let sources = sources.into_iter().filter(|source| needed.contains(&source.name)).collect();
    Config { sources, ..config }
}

/// The tools that a source calls, when it is a workflow.
pub(super) fn steps_of(source: &SourceConfig) -> Vec<ToolRef> {
    let document = source.table.get("document").filter(|_| source.kind == "workflow");
    let text = document.and_then(|document| match document {
        // A document that cannot be read is reported by its source.
        Value::String(file) => std::fs::read_to_string(source.folder.join(file)).ok(),
        document => Some(document.to_string()),
    });
    text.map(|text| calls(&text)).unwrap_or_default()
}

/// The sources that may have a tool. For a toolkit that no source has they are those of the toolkit that was meant, so
/// that the tool that was meant can be suggested; for a name that says nothing, all.
fn may_have<'a>(sources: &'a [SourceConfig], tool: &ToolRef) -> Vec<&'a SourceConfig> {
    let of_toolkit = |toolkit: &str| -> Vec<&'a SourceConfig> {
        sources.iter().filter(|source| source.toolkit == toolkit).collect()
    };
    let toolkit = tool.toolkit.as_deref().or_else(|| tool.tool.split_once('.').map(|(toolkit, _)| toolkit));
    if let Some(toolkit) = toolkit {
        let found = of_toolkit(toolkit);
        let meant = || nearest(toolkit, sources.iter().map(|source| source.toolkit.as_str()));
        return if found.is_empty() { meant().map(of_toolkit).unwrap_or_default() } else { found };
    }
    let may_have = |source: &&SourceConfig| {
        let rest = tool.tool.strip_prefix(source.toolkit.as_str());
        source.naming == Naming::Bare || rest.is_some_and(|rest| rest.starts_with('_'))
    };
    let found: Vec<&SourceConfig> = sources.iter().filter(may_have).collect();
    if found.is_empty() { sources.iter().collect() } else { found }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn check(tool: &str, expect: &[&str]) {
        let text = "[sources.Math]\nkind = \"mcp\"\ncommand = [\"true\"]\n[sources.Time]\nkind = \"mcp\"\ncommand = [\"true\"]
[sources.Other]\nkind = \"mcp\"\ncommand = [\"true\"]\ntoolkit = \"Math\"\n";
        let config = Config::read(text, "toolmux.toml", Path::new(".")).map_err(|fault| fault.to_string());
        let config = only_needed(config.expect("it is good"), vec![ToolRef::either(tool)]);
        let names: Vec<&str> = config.sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(names, expect, "{tool}");
    }

    #[test]
    fn only_sources_that_may_have_the_tool_are_kept() {
        check("Time.now", &["Time"]);
        check("Time_now", &["Time"]);
        check("Time.get-now", &["Time"]);
        check("Math.pow@1", &["Math", "Other"]);
        check("Tim.now", &["Time"]);
        check("Weather.now", &[]);
        check("now", &["Math", "Time", "Other"]);
    }
}
