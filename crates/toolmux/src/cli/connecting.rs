//! The wait for sources, with a line on the terminal that says who is still awaited.

use std::time::{Duration, Instant};

use toolmux_core::gateway::Gateway;
use toolmux_core::names::ToolRef;
use toolmux_core::sources::{SourceReport, SourceStatus};

use super::needed::steps_of;
use super::terminal::{Form, Terminal, note};
use crate::config::{Config, SourceConfig};

/// How long a wait is silent where there is no line that changes.
const QUIET: Duration = Duration::from_secs(2);
/// How often the line is drawn again.
const EVERY: Duration = Duration::from_millis(250);

/// Waits until every source has been heard of, but not longer than `patience`.
pub(super) async fn connected(gateway: &Gateway, terminal: &Terminal, patience: Duration) {
    let began = Instant::now();
    let drawing = async {
        loop {
            tokio::time::sleep(EVERY).await;
            terminal.show(&line(gateway, began.elapsed()));
        }
    };
    tokio::select! {
        () = gateway.sources().settled(patience) => {}
        () = drawing, if terminal.is_live() => {}
        () = announced(gateway, patience), if !terminal.is_live() && terminal.notes == Form::People => {}
    }
    terminal.clear();
}

/// Prints once who is awaited and for how long at most; does not end.
async fn announced(gateway: &Gateway, patience: Duration) {
    tokio::time::sleep(QUIET).await;
    let sources = gateway.sources().reports();
    let awaited = awaited(&sources);
    if !awaited.is_empty() {
        note(&format!("waiting for {}, at most {} s", awaited.join(", "), patience.as_secs()));
    }
    std::future::pending::<()>().await;
}

/// Waits for a tool and, when it is a workflow, for the tools that it calls; for each until every source has
/// been heard of, and for all together not longer than `limits.list_timeout`, which is what sources get, or
/// `limits.start_wait`, for which a call waits.
pub(super) async fn there(gateway: &Gateway, config: &Config, tool: &ToolRef, terminal: &Terminal) {
    let patience = config.limits.list_timeout.max(config.limits.start_wait);
    let (mut wanted, mut waited) = (vec![tool.clone()], Vec::new());
    let all = async {
        while let Some(tool) = wanted.pop() {
            if !waited.contains(&tool) {
                tokio::select! {
                    () = appeared(gateway, &tool) => {}
                    () = connected(gateway, terminal, patience) => {}
                }
                wanted.extend(steps(gateway, &config.sources, &tool));
                waited.push(tool);
            }
        }
    };
    tokio::time::timeout(patience, all).await.ok();
    terminal.clear();
}

async fn appeared(gateway: &Gateway, tool: &ToolRef) {
    let mut revision = gateway.sources().revision();
    while gateway.catalog().find(tool).is_none() {
        if revision.changed().await.is_err() {
            return;
        }
    }
}

/// The tools that a tool calls, when it is a workflow.
fn steps(gateway: &Gateway, sources: &[SourceConfig], tool: &ToolRef) -> Vec<ToolRef> {
    let catalog = gateway.catalog();
    let Some(place) = catalog.find(tool) else { return Vec::new() };
    let name = catalog.entry(place).source();
    let source = sources.iter().find(|source| source.name == name);
    source.map(steps_of).unwrap_or_default()
}

fn line(gateway: &Gateway, waited: Duration) -> String {
    let sources = gateway.sources().reports();
    let awaited = awaited(&sources);
    let heard = sources.len() - awaited.len();
    format!(
        "{heard}/{} sources, {:.0?} s: waiting for {}",
        sources.len(),
        waited.as_secs(),
        awaited.join(", ")
    )
}

/// The names of sources that have not been heard of.
fn awaited(sources: &[SourceReport]) -> Vec<&str> {
    let connecting = sources.iter().filter(|source| source.status == SourceStatus::Connecting);
    connecting.map(|source| source.name.as_str()).collect()
}
