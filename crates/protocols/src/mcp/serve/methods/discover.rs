//! `server/discover`: what a client of 2026-07-28 asks before anything else.

use serde_json::json;
use toolmux_core::json_text::raw_of;

use super::capabilities::capabilities;
use super::instructions::instructions;
use crate::mcp::revision::Revision;
use crate::mcp::serve::encode::page::Freshness;
use crate::mcp::serve::request::Exchange;
use crate::mcp::wire::{Reply, our_meta, text_of};

/// What there is besides tools is known only once sources have been heard of.
pub(in crate::mcp) async fn answer(exchange: Exchange) -> Reply {
    let (gateway, peer) = (&exchange.gateway, &exchange.peer);
    gateway.sources().wait_until_started().await;
    let freshness = Freshness::of(gateway);
    Ok(text_of(raw_of(&json!({
        "resultType": "complete",
        "supportedVersions": [Revision::MODERN.text()],
        "capabilities": capabilities(gateway, peer.revision),
        "instructions": instructions(gateway, &peer.caller),
        "ttlMs": freshness.ttl_ms(),
        "cacheScope": "private",
        "_meta": our_meta(),
    }))))
}
