//! What a client is told about how to use the tools: a sentence of ours, then the instructions of the MCP servers of
//! whose tools the caller may see any.

use std::collections::HashSet;
use std::sync::Arc;

use toolmux_core::call::Caller;
use toolmux_core::gateway::Gateway;

use crate::mcp::MCP;
use crate::mcp::prompts_and_resources::PromptsAndResources;

/// What every client is told.
const OURS: &str = "Tools of several sources behind one server.";
/// How many letters of one server's instructions are passed on.
const MOST_OF_ONE: usize = 4_000;
/// How many letters there are in all before further servers are left out.
const MOST_OF_ALL: usize = 32_000;

/// The instructions for this caller, each server's under the name of its toolkit.
pub(in crate::mcp) fn instructions(gateway: &Arc<Gateway>, caller: &Caller) -> String {
    let catalog = gateway.catalog();
    let seen: HashSet<&str> = catalog.newest(caller).map(|entry| entry.source()).collect();
    let mut text = OURS.to_owned();
    for offer in gateway.relays().offers(MCP) {
        let instructions = PromptsAndResources::read(&offer.passthrough).instructions;
        let Some(instructions) = instructions.filter(|_| seen.contains(&*offer.source)) else { continue };
        // A server of this program begins with the same sentence.
        let instructions = instructions.strip_prefix(OURS).unwrap_or(&instructions).trim_start();
        if instructions.is_empty() {
            continue;
        }
        let part = match instructions.char_indices().nth(MOST_OF_ONE) {
            Some((end, _)) => format!("\n\n# {}\n{}…", offer.toolkit, &instructions[..end]),
            None => format!("\n\n# {}\n{instructions}", offer.toolkit),
        };
        if text.len() + part.len() > MOST_OF_ALL {
            break;
        }
        text.push_str(&part);
    }
    text
}
