//! The answer to `tools/call`. What an MCP source answered is passed on as it came.

use toolmux_core::outcome::Outcome;
use toolmux_core::refusal::Refusal;

use super::refusal::refused;
use super::result::{Structure, failed, returned};
use super::upstream::{relayed, relayed_error};
use crate::mcp::serve::request::Peer;
use crate::mcp::wire::{Reply, text_of};
use crate::mcp::{MCP, MCP_ERROR};

pub(in crate::mcp) fn answer(answer: Result<Outcome, Refusal>, structure: Structure, peer: &Peer) -> Reply {
    match answer {
        Ok(Outcome::Returned(output)) => Ok(text_of(match output.extra.of_protocol(MCP) {
            Some(result) => relayed(result, peer)?,
            None => returned(&output, structure, peer.revision),
        })),
        Ok(Outcome::Failed(error)) => {
            match (error.extra.of_protocol(MCP), error.extra.of_protocol(MCP_ERROR)) {
                (Some(result), _) => Ok(text_of(relayed(result, peer)?)),
                (None, Some(error)) => relayed_error(error, peer),
                (None, None) => Ok(text_of(failed(&error, peer.revision))),
            }
        }
        Err(refusal) => refused(&refusal, peer),
    }
}
