//! The sources: does each answer, and are all of its tools served.

use std::sync::Arc;
use std::time::Duration;

use toolmux_core::catalog::{Catalog, Unserved, UnservedCause};
use toolmux_core::gateway::Gateway;
use toolmux_core::memory::MemoryStore;
use toolmux_core::nearest::nearest;
use toolmux_core::plural::counted;
use toolmux_core::sources::{SourceReport, SourceStatus, UnusedSetting};
use toolmux_core::toolset::Pattern;

use super::Finding;
use crate::assembly::Assembly;
use crate::cli::closing::closing;
use crate::cli::connecting::connected;
use crate::cli::failure::{Failure, whole};
use crate::cli::missing_program::missing_program;
use crate::cli::terminal::Terminal;
use crate::config::{Config, SourceConfig};

const AREA: &str = "source";
/// How long sources get to list their tools.
const LISTING_TIMEOUT: Duration = Duration::from_mins(1);

/// A signal ends it early, with what the sources started.
pub(super) async fn examine(config: &Config, terminal: &Terminal) -> Result<Vec<Finding>, Failure> {
    if config.sources.is_empty() {
        return Ok(vec![Finding::warning(AREA, "there is no source", "`toolmux add X` adds one")]);
    }
    let assembly = match Assembly::new(config, Arc::new(MemoryStore::default())) {
        Ok(assembly) => assembly,
        Err(error) => {
            return Ok(vec![Finding::bad(AREA, format!("{error:#}"), "toolmux check says more")]);
        }
    };
    let examining = async {
        connected(&assembly.gateway, terminal, LISTING_TIMEOUT).await;
        Ok(findings(&assembly.gateway, config))
    };
    closing(&assembly.gateway, examining).await
}

fn findings(gateway: &Gateway, config: &Config) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        gateway.sources().reports().into_iter().map(|source| answer(source, config)).collect();
    let catalog = gateway.catalog();
    let shown = catalog.unserved().iter().filter(|tool| tool.cause != UnservedCause::Hidden);
    findings.extend(shown.map(unserved));
    for collision in gateway.catalog().every().filter_map(|entry| entry.collision()) {
        findings.push(Finding::warning(AREA, collision, "rename one of them at its source"));
    }
    for entry in gateway.catalog().every().filter(|entry| !entry.repairs.is_empty()) {
        let repairs = entry.repairs.join("; ");
        let what =
            format!("{} of {}: its input schema was repaired: {repairs}", entry.tool.name, entry.source());
        findings.push(Finding::warning(AREA, what, "the tool is served; its author may want to know"));
    }
    for entry in gateway.catalog().every().filter(|entry| !entry.withheld().is_empty()) {
        let (tool, source, names) = (&entry.tool.name, entry.source(), entry.withheld().join(", "));
        let what = format!("{tool} of {source} requires what its source is not allowed to receive: {names}");
        let remedy =
            "callers bring it; to give it from here, name it in `secrets` or `providers` of the source";
        findings.push(Finding::warning(AREA, what, remedy));
    }
    // A source that is silent may have what a pattern means.
    if gateway.sources().reports().iter().all(|source| source.status == SourceStatus::Ready) {
        findings.extend(idle_settings(gateway));
        findings.extend(idle_toolsets(config, &gateway.catalog()));
    }
    findings
}

/// Whether a source answered.
fn answer(source: SourceReport, config: &Config) -> Finding {
    match source.status {
        SourceStatus::Ready => {
            Finding::good(AREA, format!("{}: {}", source.name, counted(source.tools, "tool")))
        }
        SourceStatus::Failing(message) => {
            let remedy = remedy(config.sources.iter().find(|known| known.name == source.name));
            Finding::failing(AREA, format!("{}: {}", source.name, whole(&message)), remedy)
        }
        SourceStatus::Connecting => Finding::failing(
            AREA,
            format!("{} did not list its tools within {} s", source.name, LISTING_TIMEOUT.as_secs()),
            "check that it is running; RUST_LOG=debug shows more",
        ),
    }
}

fn unserved(tool: &Unserved) -> Finding {
    let what = |reason: &str| format!("{} of {} is not served: {reason}", tool.tool, tool.source);
    match tool.reason.rsplit_once("; ") {
        // `tools --why` would find the tool that has the name.
        Some((reason, remedy)) if tool.cause == UnservedCause::Collision => {
            Finding::failing(AREA, what(reason), remedy)
        }
        _ => Finding::warning(AREA, what(&tool.reason), format!("toolmux tools --why {}", tool.tool)),
    }
}

/// What to do about a source that does not answer.
fn remedy(source: Option<&SourceConfig>) -> &'static str {
    let is_command = source.is_some_and(|source| source.table.get("command").is_some());
    let other = if is_command {
        "run its command by hand to see why it fails; RUST_LOG=debug shows more"
    } else {
        "check that it is running, and its address and key; RUST_LOG=debug shows more"
    };
    source.and_then(missing_program).unwrap_or(other)
}

/// Settings of tools that have no effect, most likely because of a slip.
fn idle_settings(gateway: &Gateway) -> Vec<Finding> {
    let finding = |unused: UnusedSetting| match unused {
        UnusedSetting::Pattern(pattern) => {
            fits_none(format!("[tools.\"{}\"]", pattern.as_str()), &pattern, &gateway.catalog())
        }
        UnusedSetting::Argument(pattern, argument) => {
            let place = format!("`arguments.{argument}` of [tools.\"{}\"]", pattern.as_str());
            let what = format!("{place} is not a parameter of any tool that it matches");
            Finding::warning("tools", what, "`toolmux tools --format json` shows the parameters of each tool")
        }
    };
    gateway.sources().unused_settings().into_iter().map(finding).collect()
}

/// Patterns of toolsets that fit no tool.
fn idle_toolsets(config: &Config, catalog: &Catalog) -> Vec<Finding> {
    let toolsets = config.toolsets.iter().flat_map(|set| {
        let item = |(place, pattern)| (format!("item {} of toolsets.{}.tools", place + 1, set.name), pattern);
        set.tools.iter().enumerate().map(item)
    });
    let fits = |pattern: &Pattern| catalog.every().any(|entry| pattern.matches(&entry.id, &entry.tool.name));
    let idle = toolsets.filter(|(_, pattern)| !fits(pattern));
    idle.map(|(place, pattern)| fits_none(place, pattern, catalog)).collect()
}

fn fits_none(place: String, pattern: &Pattern, catalog: &Catalog) -> Finding {
    let known: Vec<String> =
        catalog.every().map(|entry| format!("{}.{}", entry.id.toolkit, entry.id.tool)).collect();
    let meant = nearest(pattern.as_str(), known.iter().map(String::as_str));
    let remedy = meant.map_or_else(
        || "`toolmux tools` lists all tools".to_owned(),
        |meant| format!("did you mean `{meant}`?"),
    );
    Finding::warning("tools", format!("{place} matches no tool"), remedy)
}
