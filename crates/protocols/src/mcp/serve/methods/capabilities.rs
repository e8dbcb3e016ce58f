//! What we declare that we can do.

use std::sync::Arc;

use serde_json::{Value, json};
use toolmux_core::gateway::Gateway;

use super::offers::Offered;
use crate::mcp::revision::Revision;
use crate::mcp::serve::request::Capability;
use crate::mcp::wire::TASKS;

/// Prompts, resources and completions are there only when a source has them.
pub(in crate::mcp) fn capabilities(gateway: &Arc<Gateway>, revision: Revision) -> Value {
    let offered = Offered::of(gateway);
    let mut capabilities = json!({ "tools": { "listChanged": true }, "logging": {} });
    if offered.has(Capability::Prompts) {
        capabilities["prompts"] = json!({ "listChanged": true });
    }
    if offered.has(Capability::Resources) {
        let subscribe = offered.has(Capability::Subscriptions);
        capabilities["resources"] = json!({ "listChanged": true, "subscribe": subscribe });
    }
    if offered.has(Capability::Completions) {
        capabilities["completions"] = json!({});
    }
    if revision.is_modern() {
        capabilities["extensions"] = json!({ TASKS: {} });
    } else if revision.has_tasks() {
        capabilities["tasks"] = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    capabilities
}
