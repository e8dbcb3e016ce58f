//! `resources/subscribe` and `resources/unsubscribe` of the handshake era, and which resources can be followed in either.

use std::sync::Arc;

use toolmux_core::gateway::{Gateway, Offer};
use toolmux_core::refusal::Refusal;

use super::offers::Offered;
use super::resources;
use crate::mcp::MCP;
use crate::mcp::prompts_and_resources::PromptsAndResources;
use crate::mcp::serve::encode::refusal;
use crate::mcp::serve::request::{Exchange, MOST_SUBSCRIPTIONS, Peer, SUBSCRIPTION_BYTES, SessionKey};
use crate::mcp::wire::{Fault, INVALID_PARAMS, INVALID_REQUEST, Reply, empty_result};

/// How many resources of one request are looked for.
const MOST_ASKED: usize = 10 * MOST_SUBSCRIPTIONS;

/// A legacy client follows a resource.
pub(in crate::mcp) async fn subscribe(exchange: Exchange) -> Reply {
    let (uri, session) = named(&exchange)?;
    let (gateway, peer) = (&exchange.gateway, &exchange.peer);
    let offers = gateway.relays().offers_for(&peer.caller, MCP).await;
    let source = resources::holder(gateway, &peer.caller, &offers, uri).and_then(followed_at);
    let source = source.ok_or_else(|| resources::not_found(&exchange, uri))?;
    match gateway.relays().check(&peer.caller, &source, uri).await {
        Ok(()) => {}
        Err(Refusal::NotPermitted { .. }) => return Err(resources::not_found(&exchange, uri)),
        Err(refusal) => return refusal::relay_refused(&refusal, peer),
    }
    if exchange.session_state.subscribe(session, uri) {
        return Ok(empty_result());
    }
    let why = format!(
        "The session follows too many resources: {MOST_SUBSCRIPTIONS} of {SUBSCRIPTION_BYTES} bytes together are the limit; unsubscribe from one"
    );
    Err(Fault::new(INVALID_REQUEST, why))
}

/// A legacy client no longer follows a resource.
pub(in crate::mcp) fn unsubscribe(exchange: &Exchange) -> Reply {
    let (uri, session) = named(exchange)?;
    exchange.session_state.unsubscribe(session, uri);
    Ok(empty_result())
}

/// The resource that a request names, and the session that it is of.
fn named(exchange: &Exchange) -> Result<(&str, &SessionKey), Fault> {
    let uri = exchange.params()?.uri.as_deref();
    let uri = uri.ok_or_else(|| Fault::new(INVALID_PARAMS, "`uri` is missing"))?;
    resources::check_length(uri)?;
    Offered::of(&exchange.gateway).check(exchange)?;
    let session = exchange.peer.session.as_ref();
    let session = session.ok_or_else(|| Fault::new(INVALID_REQUEST, "Subscriptions need a session"))?;
    Ok((uri, session))
}

/// Those of the resources that can be followed. One of a source whose token the user has not allowed cannot.
pub(in crate::mcp) async fn followable(exchange: &Exchange, mut uris: Vec<String>) -> Vec<String> {
    if uris.is_empty() {
        return uris;
    }
    // Before they are looked for: each is compared with everything that all sources offer.
    uris.retain(|uri| resources::check_length(uri).is_ok());
    uris.truncate(MOST_ASKED);
    let (gateway, caller) = (&exchange.gateway, &exchange.peer.caller);
    let offers = gateway.relays().offers_for(caller, MCP).await;
    uris.retain(|uri| {
        let holder = resources::permitted_holder(gateway, caller, &offers, uri);
        holder.is_some_and(|holder| {
            !holder.locked && PromptsAndResources::read(&holder.passthrough).subscriptions
        })
    });
    uris.truncate(MOST_SUBSCRIPTIONS);
    let mut bytes = 0;
    uris.retain(|uri| {
        bytes += uri.len();
        bytes <= SUBSCRIPTION_BYTES
    });
    uris
}

/// The source that a resource can be followed at.
pub(in crate::mcp) async fn source_of(gateway: &Arc<Gateway>, peer: &Peer, uri: &str) -> Option<String> {
    let offers = gateway.relays().offers_for(&peer.caller, MCP).await;
    resources::permitted_holder(gateway, &peer.caller, &offers, uri).and_then(followed_at)
}

/// The source of an offer, if it tells of resources that change.
fn followed_at(holder: &Offer) -> Option<String> {
    PromptsAndResources::read(&holder.passthrough).subscriptions.then(|| holder.source.clone())
}
