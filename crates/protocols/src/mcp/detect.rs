//! How an MCP server is recognised on a command line: by its address, or as a command that is started.

use serde_json::json;

use crate::registry::{AddressHook, AddressTables, CommandHook, Detection};

pub(super) const DETECTION: Detection = Detection {
    address: Some(AddressHook { what: "an MCP server", tables: of_address }),
    command: Some(CommandHook {
        what: "a command that speaks MCP",
        table: |argv| json!({ "command": argv }),
    }),
    file: None,
};

/// A server may be at any path: where an address does not end as is usual, the usual path below it is tried first.
fn of_address(url: &str) -> AddressTables {
    let base = url.trim_end_matches('/');
    if base.ends_with("/mcp") || base.ends_with("/sse") {
        return AddressTables::Certain(json!({ "url": url }));
    }
    AddressTables::Possible(vec![json!({ "url": format!("{base}/mcp") }), json!({ "url": url })])
}
