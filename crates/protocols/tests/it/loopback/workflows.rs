//! Workflows as sources: each is one tool over the tools of the same gateway.

use std::path::Path;
use std::sync::{Arc, Weak};

use serde_json::{Value, json};
use toolmux_core::gateway::Gateway;
use toolmux_core::sources::{Mount, Naming};

use super::contract::{OtherSide, Tools, check, gateway};
use super::open;
use crate::oxp::SETTLE;
use crate::scripted_source::Scripted;

const TOOLS: Tools = Tools {
    add: "adds",
    sum: "3.0",
    fail: "fails",
    why: "It is not there",
    slow: "waits",
    leaves: "leaves",
    left: "unknown_tool",
    late: None,
};

/// A workflow runs in the gateway itself, so that its other side is the same gateway, as long as that lives.
struct Steps(Weak<Gateway>);

impl OtherSide for Steps {
    /// A workflow that waits for its step is two calls.
    fn running(&self) -> usize {
        self.0.upgrade().map_or(0, |gateway| gateway.sources().calls_in_flight() / 2)
    }

    async fn shrink(&self, gateway: &Arc<Gateway>) {
        gateway.sources().unmount(TOOLS.leaves);
    }
}

/// A workflow of one step.
fn workflow(gateway: &Arc<Gateway>, folder: &Path, (title, function, arguments): (&str, &str, Value)) {
    let step = json!({ "function": function, "arguments": arguments, "results": {}, "next": null });
    let info = json!({ "title": title, "version": "1.0.0" });
    let document = json!({ "openworkflow": "1.0.0", "info": info, "workflow": { "start": step } });
    let file = folder.join(format!("{title}.json"));
    std::fs::write(&file, document.to_string()).expect("written");
    let source = open("workflow", json!({ "document": file }));
    gateway.sources().mount(Mount::new(title, title, Naming::Bare, source));
}

#[tokio::test]
async fn workflows_are_sources() {
    let folder = tempfile::tempdir().expect("a folder");
    let gateway = gateway(Scripted::lowercase()).await;
    for row in [
        (TOOLS.add, "add", json!({ "a": 0, "b": 0 })),
        (TOOLS.fail, "fail", json!({})),
        (TOOLS.slow, "slow", json!({})),
        (TOOLS.leaves, "text", json!({})),
    ] {
        workflow(&gateway, folder.path(), row);
    }
    gateway.sources().settled(SETTLE).await;
    let steps = Steps(Arc::downgrade(&gateway));
    check(gateway, TOOLS, steps).await;
}
