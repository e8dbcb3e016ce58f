//! Requests that are passed on to the source they are about, and what it answers in the form of the caller's era.

use std::sync::Arc;

use toolmux_core::BoxFuture;
use toolmux_core::json_text::RawJson;
use toolmux_core::ports::source::{Relay, Relayed};
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;

use crate::mcp::MCP;
use crate::mcp::members::Members;
use crate::mcp::serve::encode::page::{Freshness, cacheable};
use crate::mcp::serve::encode::{refusal, upstream};
use crate::mcp::serve::questions::suspended;
use crate::mcp::serve::request::{Exchange, Peer, RunningCall};
use crate::mcp::wire::{Fault, INVALID_PARAMS, Reply, text_of};

/// Servers of the handshake era have a code of their own for a resource that is not there.
pub(in crate::mcp) const LEGACY_NOT_FOUND: i64 = -32002;

/// Whether a result of 2026-07-28 says for how long it may be kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum Caching {
    Said,
    Unsaid,
}

/// A prompt or a resource that a request is about.
pub(in crate::mcp) struct FoundItem {
    pub(in crate::mcp) source: String,
    /// The source's own name for it.
    pub(in crate::mcp) item: String,
    /// What is answered when it does not exist for the caller.
    pub(in crate::mcp) missing: Fault,
}

/// Passes a request on. Dropping the future cancels it at the source.
pub(in crate::mcp) async fn relay(
    exchange: &Exchange,
    found: FoundItem,
    params: RawJson,
    caching: Caching,
) -> Reply {
    let (peer, method) = (exchange.peer.clone(), exchange.request.method.name.to_owned());
    let FoundItem { source, item, missing } = found;
    let trace = exchange.params().ok().and_then(|params| params.meta.traceparent.clone());
    let trace = trace.or_else(|| exchange.request.trace.clone());
    let caller = Arc::clone(peer.caller.shared_name());
    let relay = Relay { protocol: MCP, caller, method, item, trace, params };
    let gateway = Arc::clone(&exchange.gateway);
    if !exchange.out.is_open() && !peer.capabilities.can_be_asked() {
        let answer = gateway.relays().send(&peer.caller, &source, &relay, &Progress::unheard()).await;
        return encode(answer, &peer, caching, missing);
    }
    let work = |progress: Progress| -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let answer = gateway.relays().send(&peer.caller, &source, &relay, &progress).await;
            encode(answer, &peer, caching, missing)
        })
    };
    let running = RunningCall::begin(&exchange.peer.capabilities, exchange.params()?.name_or_uri(), work);
    suspended::drive(running, exchange).await
}

fn encode(answer: Result<Relayed, Refusal>, peer: &Peer, caching: Caching, missing: Fault) -> Reply {
    match answer {
        Ok(Ok(result)) => {
            let result = upstream::relayed(&result, peer)?;
            if peer.revision.is_modern() && caching == Caching::Said {
                let mut members = Members::read_or_empty(Some(&result));
                // A result that asks something is not the resource yet.
                if !members.has("inputRequests") {
                    cacheable(&mut members, Freshness::Complete);
                    return Ok(text_of(members.write()));
                }
            }
            Ok(text_of(result))
        }
        Ok(Err(error)) => upstream::relayed_error(&error, peer).map_err(|fault| in_era(fault, peer)),
        Err(Refusal::NotPermitted { .. }) => Err(missing),
        Err(refusal) => refusal::relay_refused(&refusal, peer),
    }
}

/// "Not found" has a code of its own before 2026-07-28, and none since.
fn in_era(fault: Fault, peer: &Peer) -> Fault {
    if fault.code != LEGACY_NOT_FOUND || !peer.revision.is_modern() {
        return fault;
    }
    let mut members = Members::read_or_empty(Some(&fault.object));
    members.put("code", &INVALID_PARAMS);
    Fault { code: INVALID_PARAMS, object: members.write() }
}
