//! Resources that change, told to who follows them: `resources/subscribe` of the handshake era, and
//! `resourceSubscriptions` of 2026-07-28.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::sleep;
use toolmux_core::gateway::{Gateway, Offer};
use toolmux_core::json_text::raw_of;
use toolmux_core::ports::source::Relay;
use toolmux_core::progress::{Progress, Update};
use toolmux_core::refusal::Refusal;

use super::exchange::{Exchange, Outlet, Peer};
use super::session_state::{MOST_SUBSCRIPTIONS, SUBSCRIPTION_BYTES, SessionState};
use super::{encode, methods, offers};
use crate::mcp::members::Members;
use crate::mcp::prompts_and_resources::PromptsAndResources;
use crate::mcp::wire::{Fault, INVALID_PARAMS, INVALID_REQUEST, Reply};
use crate::mcp::{LISTEN, MCP};

/// How long a source that no longer tells is left alone before it is asked again.
const AGAIN: Duration = Duration::from_secs(2);

/// How many resources of one request are looked for.
const MOST_ASKED: usize = 10 * MOST_SUBSCRIPTIONS;

/// A legacy client follows a resource, or no longer does.
pub(super) async fn subscribe(exchange: &Exchange) -> Reply {
    let params = exchange.params()?;
    let uri = params.uri.as_deref().ok_or_else(|| Fault::new(INVALID_PARAMS, "`uri` is missing"))?;
    offers::check_length(uri)?;
    if !offers::Offered::of(&exchange.gateway).subscriptions {
        return Err(Fault::no_method(&exchange.asked.method));
    }
    let session = exchange.peer.session.as_ref();
    let session = session.ok_or_else(|| Fault::new(INVALID_REQUEST, "Subscriptions need a session"))?;
    if exchange.asked.method == "resources/unsubscribe" {
        exchange.session_state.unsubscribe(session, uri);
        return Ok(methods::empty());
    }
    let (gateway, peer) = (&exchange.gateway, &exchange.peer);
    let all = gateway.offers_for(&peer.caller, MCP).await;
    let source = offers::holder(gateway, &peer.caller, &all, uri).and_then(followed_at);
    let source = source.ok_or_else(|| offers::not_found(exchange, uri))?;
    match gateway.check_relay(&peer.caller, &source, uri).await {
        Ok(()) => {}
        Err(Refusal::NotPermitted { .. }) => return Err(offers::not_found(exchange, uri)),
        Err(refusal) => return encode::relay_refused(&refusal, peer),
    }
    if exchange.session_state.subscribe(session, uri) {
        return Ok(methods::empty());
    }
    let why = format!(
        "The session follows too many resources: {MOST_SUBSCRIPTIONS} of {SUBSCRIPTION_BYTES} bytes together are the limit; unsubscribe from one"
    );
    Err(Fault::new(INVALID_REQUEST, why))
}

/// Those of the resources that can be followed. One of a source whose token the user has not allowed cannot.
pub(super) async fn followable(exchange: &Exchange, mut uris: Vec<String>) -> Vec<String> {
    if uris.is_empty() {
        return uris;
    }
    // Before they are looked for: each is compared with everything that all sources offer.
    uris.retain(|uri| offers::check_length(uri).is_ok());
    uris.truncate(MOST_ASKED);
    let (gateway, caller) = (&exchange.gateway, &exchange.peer.caller);
    let offers = gateway.offers_for(caller, MCP).await;
    uris.retain(|uri| {
        let holder = offers::permitted_holder(gateway, caller, &offers, uri);
        holder.is_some_and(|holder| !holder.locked && PromptsAndResources::read(&holder.said).subscriptions)
    });
    uris.truncate(MOST_SUBSCRIPTIONS);
    let mut bytes = 0;
    uris.retain(|uri| {
        bytes += uri.len();
        bytes <= SUBSCRIPTION_BYTES
    });
    uris
}

async fn source_of(gateway: &Gateway, peer: &Peer, uri: &str) -> Option<String> {
    let offers = gateway.offers_for(&peer.caller, MCP).await;
    offers::permitted_holder(gateway, &peer.caller, &offers, uri).and_then(followed_at)
}

/// The source of an offer, if it tells of resources that change.
fn followed_at(holder: &Offer) -> Option<String> {
    PromptsAndResources::read(&holder.said).subscriptions.then(|| holder.source.clone())
}

/// Who is told, and how.
pub(super) struct ResourceNotifier<'a> {
    pub(super) gateway: &'a Arc<Gateway>,
    pub(super) peer: &'a Peer,
    pub(super) out: &'a Outlet,
    /// `_meta` of every notification.
    pub(super) tag: Option<&'a RawValue>,
}

impl ResourceNotifier<'_> {
    /// Tells of these resources for ever.
    pub(super) async fn notify_of(&self, uris: impl Iterator<Item = &String>) {
        join_all(uris.map(|uri| self.tell_one(uri))).await;
        std::future::pending::<()>().await;
    }

    /// Tells of what a session follows, whatever that is at the time, for ever.
    pub(super) async fn notify_session(&self, session_state: &SessionState) {
        let Some(session) = &self.peer.session else { return std::future::pending().await };
        let mut changes = session_state.subscribed();
        loop {
            let uris = session_state.subscriptions(session);
            let mut notifying = std::pin::pin!(self.notify_of(uris.iter()));
            while session_state.subscriptions(session) == uris {
                tokio::select! {
                    () = &mut notifying => {}
                    _ = changes.changed() => {}
                }
            }
        }
    }

    async fn tell_one(&self, uri: &str) {
        loop {
            if let Some(source) = source_of(self.gateway, self.peer, uri).await {
                self.follow(&source, uri).await;
            }
            sleep(AGAIN).await;
        }
    }

    /// Ends when the source does not tell any more.
    async fn follow(&self, source: &str, uri: &str) {
        let (progress, mut updates) = Progress::channel();
        let params = raw_of(&json!({ "notifications": { "resourceSubscriptions": [uri] } }));
        let caller = Arc::clone(self.peer.caller.shared_name());
        let item = uri.to_owned();
        let relay = Relay { protocol: MCP, caller, method: LISTEN.to_owned(), item, params };
        let mut listening = std::pin::pin!(self.gateway.listen(&self.peer.caller, source, &relay, &progress));
        loop {
            tokio::select! {
                Some(update) = updates.recv() => if let Update::Data(told) = update {
                    self.notify(&told).await;
                },
                _ = &mut listening => return,
            }
        }
    }

    async fn notify(&self, told: &RawValue) {
        let mut params = Members::read_or_empty(Some(told));
        match self.tag {
            Some(tag) => params.put_raw("_meta", tag.to_owned()),
            None => params.remove("_meta"),
        }
        self.out.notify("notifications/resources/updated", &params.write()).await;
    }
}
