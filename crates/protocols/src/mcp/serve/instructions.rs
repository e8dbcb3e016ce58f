//! What a client is told about how to use the tools: a sentence of ours, then what the MCP servers say of whose tools
//! the caller may see any.

use std::collections::HashSet;

use super::exchange::Exchange;
use crate::mcp::MCP;
use crate::mcp::prompts_and_resources::PromptsAndResources;

/// What every client is told.
const OURS: &str = "Tools of several sources behind one server.";
/// How many letters of one server's instructions are passed on.
const MOST_OF_ONE: usize = 4_000;
/// How many letters there are in all before further servers are left out.
const MOST_OF_ALL: usize = 32_000;

/// The instructions for this caller, each server's under the name of its toolkit.
pub(super) fn instructions(exchange: &Exchange) -> String {
    let catalog = exchange.gateway.catalog();
    let seen: HashSet<&str> = catalog.newest(&exchange.peer.caller).map(|entry| entry.source()).collect();
    let mut text = OURS.to_owned();
    for offer in exchange.gateway.offers(MCP) {
        let Some(said) =
            PromptsAndResources::read(&offer.said).instructions.filter(|_| seen.contains(&*offer.source))
        else {
            continue;
        };
        let end = said.char_indices().nth(MOST_OF_ONE);
        let part = match end {
            Some((end, _)) => format!("\n\n# {}\n{}…", offer.toolkit, &said[..end]),
            None => format!("\n\n# {}\n{said}", offer.toolkit),
        };
        if text.len() + part.len() > MOST_OF_ALL {
            break;
        }
        text.push_str(&part);
    }
    text
}
