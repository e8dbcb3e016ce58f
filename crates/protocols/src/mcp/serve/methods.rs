//! What each method is answered with, in either era.

use std::future::ready;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolmux_core::BoxFuture;
use toolmux_core::json_text::raw_of;

use super::exchange::{Exchange, RpcRequest};
use super::instructions::instructions;
use super::page::Freshness;
use super::{listen, offers, tasks, tools, updated};
use crate::mcp::revision::Revision;
use crate::mcp::wire::{Capabilities, Fault, INVALID_PARAMS, Reply, TASKS, US, our_meta, text_of};

/// Answers any request but `initialize`, which belongs to the transport. Dropping the future cancels it.
pub(super) fn answer(exchange: Exchange) -> BoxFuture<'static, Reply> {
    let modern = exchange.peer.revision.is_modern();
    let at_once = match exchange.asked.method.as_str() {
        "tools/call" => return Box::pin(tools::call(exchange)),
        "tools/list" => return Box::pin(async move { tools::list(&exchange).await }),
        "server/discover" if modern => return Box::pin(async move { Ok(discover(&exchange).await) }),
        "subscriptions/listen" if modern => return Box::pin(listen::listen(exchange)),
        "ping" if !modern => Ok(empty()),
        "logging/setLevel" if !modern => set_level(&exchange),
        "resources/subscribe" | "resources/unsubscribe" if !modern => {
            return Box::pin(async move { updated::subscribe(&exchange).await });
        }
        "prompts/list"
        | "prompts/get"
        | "resources/list"
        | "resources/templates/list"
        | "resources/read"
        | "completion/complete" => return Box::pin(async move { offers::answer(&exchange).await }),
        "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result" | "tasks/list" => {
            return Box::pin(async move { tasks::answer(&exchange).await });
        }
        other => Err(Fault::no_method(other)),
    };
    Box::pin(ready(at_once))
}

/// What `initialize` proposes.
pub(super) fn proposal(asked: &RpcRequest) -> (Revision, Capabilities) {
    #[derive(serde::Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Proposal<'a> {
        protocol_version: String,
        #[serde(borrow)]
        capabilities: Option<&'a RawValue>,
    }
    let params = asked.params.as_deref().map_or("{}", RawValue::get);
    let proposal: Proposal<'_> = serde_json::from_str(params).unwrap_or_default();
    (Revision::negotiated(&proposal.protocol_version), Capabilities::new(proposal.capabilities))
}

/// The id in a `notifications/cancelled`.
pub(super) fn cancelled(params: Option<&RawValue>) -> Option<&RawValue> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancelled<'a> {
        #[serde(borrow)]
        request_id: &'a RawValue,
    }
    serde_json::from_str(params?.get()).ok().map(|said: Cancelled<'_>| said.request_id)
}

/// The result of `initialize`.
pub(super) fn initialized(exchange: &Exchange) -> Value {
    json!({
        "protocolVersion": exchange.peer.revision.text(),
        "capabilities": capabilities(exchange),
        "serverInfo": US,
        "instructions": instructions(exchange),
    })
}

/// What there is beside tools is known only once sources have been heard of.
async fn discover(exchange: &Exchange) -> bytes::Bytes {
    exchange.gateway.sources().wait_until_started().await;
    let freshness = Freshness::of(&exchange.gateway);
    text_of(raw_of(&json!({
        "resultType": "complete",
        "supportedVersions": [Revision::MODERN.text()],
        "capabilities": capabilities(exchange),
        "instructions": instructions(exchange),
        "ttlMs": freshness.ttl_ms(),
        "cacheScope": "private",
        "_meta": our_meta(),
    })))
}

/// Prompts, resources and completions are there only when a source has them.
fn capabilities(exchange: &Exchange) -> Value {
    let offered = offers::Offered::of(&exchange.gateway);
    let modern = exchange.peer.revision.is_modern();
    let mut capabilities = json!({ "tools": { "listChanged": true }, "logging": {} });
    if offered.prompts {
        capabilities["prompts"] = json!({ "listChanged": true });
    }
    if offered.resources {
        capabilities["resources"] = json!({ "listChanged": true, "subscribe": offered.subscriptions });
    }
    if offered.completions {
        capabilities["completions"] = json!({});
    }
    if modern {
        capabilities["extensions"] = json!({ TASKS: {} });
    } else if exchange.peer.revision.has_tasks() {
        capabilities["tasks"] = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    capabilities
}

/// No level has a longer name.
const LONGEST_LEVEL: usize = 32;

fn set_level(exchange: &Exchange) -> Reply {
    let level = exchange.asked.params.as_ref().and_then(|params| {
        let params: Value = serde_json::from_str(params.get()).ok()?;
        params["level"].as_str().map(str::to_owned)
    });
    let level = level.ok_or_else(|| Fault::new(INVALID_PARAMS, "`level` is missing"))?;
    if level.len() > LONGEST_LEVEL {
        return Err(Fault::new(INVALID_PARAMS, "`level` is not a log level such as `info` or `error`"));
    }
    if let Some(session) = &exchange.peer.session {
        exchange.session_state.set_level(session, level);
    }
    Ok(empty())
}

pub(super) fn empty() -> bytes::Bytes {
    bytes::Bytes::from_static(b"{}")
}
