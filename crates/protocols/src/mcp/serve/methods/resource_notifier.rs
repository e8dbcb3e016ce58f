//! Resources that change, told to whoever follows them: a session of the handshake era, or a subscription of 2026-07-28.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::sleep;
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::raw_of;
use toolmux_core::ports::source::Relay;
use toolmux_core::progress::{Progress, Update};

use super::subscriptions::source_of;
use crate::mcp::members::Members;
use crate::mcp::notifications::RESOURCE_UPDATED;
use crate::mcp::serve::request::{Outlet, Peer, SessionState};
use crate::mcp::{LISTEN, MCP};

/// How long a source that no longer tells is left alone before it is asked again.
const AGAIN: Duration = Duration::from_secs(2);

/// Who is told, and how.
pub(in crate::mcp) struct ResourceNotifier<'a> {
    pub(in crate::mcp) gateway: &'a Arc<Gateway>,
    pub(in crate::mcp) peer: &'a Peer,
    pub(in crate::mcp) out: &'a Outlet,
    /// `_meta` of every notification.
    pub(in crate::mcp) tag: Option<&'a RawValue>,
}

impl ResourceNotifier<'_> {
    /// Tells of these resources for ever.
    pub(in crate::mcp) async fn notify_of(&self, uris: impl Iterator<Item = &String>) {
        join_all(uris.map(|uri| self.notify_of_one(uri))).await;
        std::future::pending::<()>().await;
    }

    /// Tells of what a session follows, whatever that is at the time, for ever.
    pub(in crate::mcp) async fn notify_session(&self, session_state: &SessionState) {
        let Some(session) = &self.peer.session else { return std::future::pending().await };
        // Subscribed before the set is read: a change that comes in between is seen by the first `changed`.
        let mut changes = session_state.subscribed();
        loop {
            let uris = session_state.subscriptions(session);
            let mut notifying = std::pin::pin!(self.notify_of(uris.iter()));
            // Other sessions wake this one too. What it follows goes on unless its own set is another.
            while session_state.subscriptions(session) == uris {
                tokio::select! {
                    () = &mut notifying => {}
                    _ = changes.changed() => {}
                }
            }
        }
    }

    async fn notify_of_one(&self, uri: &str) {
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
        let relay = Relay { protocol: MCP, caller, method: LISTEN.to_owned(), item, trace: None, params };
        let mut listening =
            std::pin::pin!(self.gateway.relays().listen(&self.peer.caller, source, &relay, &progress));
        loop {
            tokio::select! {
                Some(update) = updates.recv() => if let Update::Data(params) = update {
                    self.notify(&params).await;
                },
                _ = &mut listening => return,
            }
        }
    }

    async fn notify(&self, params: &RawValue) {
        let mut params = Members::read_or_empty(Some(params));
        match self.tag {
            Some(tag) => params.put_raw("_meta", tag.to_owned()),
            None => params.remove("_meta"),
        }
        self.out.notify(RESOURCE_UPDATED, &params.write()).await;
    }
}
