//! `initialize`, by which a client of the handshake era begins. Transports answer it, because each keeps in its own way
//! what was agreed.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::raw_of;

use super::capabilities::capabilities;
use super::instructions::instructions;
use crate::mcp::revision::Revision;
use crate::mcp::serve::request::{Peer, RpcRequest};
use crate::mcp::wire::{Capabilities, Reply, US, text_of};

/// What the client proposes.
pub(in crate::mcp) fn proposal(request: &RpcRequest) -> (Revision, Capabilities) {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Proposal<'a> {
        protocol_version: String,
        #[serde(borrow)]
        capabilities: Option<&'a RawValue>,
    }
    let params = request.text.as_deref().map_or("{}", RawValue::get);
    let proposal: Proposal<'_> = serde_json::from_str(params).unwrap_or_default();
    (Revision::negotiated(&proposal.protocol_version), Capabilities::new(proposal.capabilities))
}

/// What was agreed and what we have, which is known only once sources have been heard of.
pub(in crate::mcp) async fn answer(gateway: &Arc<Gateway>, peer: &Peer) -> Reply {
    gateway.sources().wait_until_started().await;
    Ok(text_of(raw_of(&json!({
        "protocolVersion": peer.revision.text(),
        "capabilities": capabilities(gateway, peer.revision),
        "serverInfo": US,
        "instructions": instructions(gateway, &peer.caller),
    }))))
}
