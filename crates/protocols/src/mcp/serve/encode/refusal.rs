//! Refusals in the form of MCP: an error, a result that a model can read, or a result that asks the user.

use std::time::Duration;

use serde_json::json;
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::millis::millis;
use toolmux_core::outcome::ToolError;
use toolmux_core::refusal::{Challenge, Refusal};

use super::result::failed;
use crate::mcp::serve::request::Peer;
use crate::mcp::wire::{
    ELICITATION, Fault, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Reply, our_meta, text_of,
};

/// A refusal of `tools/call`.
pub(in crate::mcp) fn refused(refusal: &Refusal, peer: &Peer) -> Reply {
    let (text, revision) = (refusal.message().public, peer.revision);
    match refusal {
        Refusal::Malformed(_) | Refusal::Unauthenticated(_) => Err(Fault::new(INVALID_REQUEST, text)),
        Refusal::UnknownTool { .. } | Refusal::NotPermitted { .. } | Refusal::Conflict { .. } => {
            Err(Fault::new(INVALID_PARAMS, text))
        }
        Refusal::Challenged { authorization, secrets, user_id } => {
            let by_url = secrets.is_empty() && !user_id;
            let asked = if revision.is_modern() && peer.capabilities.opens_urls() && by_url {
                input_required(authorization, &text)
            } else {
                None
            };
            Ok(text_of(asked.unwrap_or_else(|| failed(&ToolError::new(text), revision))))
        }
        Refusal::Invalid { .. } => Ok(text_of(failed(&ToolError::new(text), revision))),
        Refusal::Busy { retry_after, .. } => Err(unavailable(text, Some(*retry_after))),
        Refusal::Unavailable { retry_after, .. } => Err(unavailable(text, *retry_after)),
        Refusal::Internal(_) => Err(unavailable(text, None)),
    }
}

/// The same for what is passed on to a source: its result is not a tool's, so a challenge that cannot be put into it is
/// an error.
pub(in crate::mcp) fn relay_refused(refusal: &Refusal, peer: &Peer) -> Reply {
    let Refusal::Challenged { authorization, .. } = refusal else { return refused(refusal, peer) };
    let text = refusal.message().public;
    let may_ask = peer.revision.is_modern() && peer.capabilities.opens_urls();
    let asked = if may_ask { input_required(authorization, &text) } else { None };
    asked.map(text_of).ok_or_else(|| Fault::new(INVALID_REQUEST, text))
}

fn unavailable(text: String, retry_after: Option<Duration>) -> Fault {
    match retry_after {
        Some(pause) => Fault::with_data(INTERNAL_ERROR, text, &json!({ "retryAfterMs": millis(pause) })),
        None => Fault::new(INTERNAL_ERROR, text),
    }
}

/// Asks the user to open every address; the client calls again when that is done.
fn input_required(authorization: &[Challenge], text: &str) -> Option<RawJson> {
    let mut requests = serde_json::Map::new();
    for challenge in authorization {
        let params = json!({ "mode": "url", "message": text, "url": challenge.url.as_ref()?, "elicitationId": challenge.id });
        requests.insert(challenge.id.clone(), json!({ "method": ELICITATION, "params": params }));
    }
    Some(raw_of(&json!({ "resultType": "input_required", "inputRequests": requests, "_meta": our_meta() })))
}
