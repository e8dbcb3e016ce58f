//! What carries messages to a server: one connection for all of them, or an exchange of HTTP for each.

use tokio::sync::broadcast;
use toolmux_core::json_text::RawJson;
use toolmux_core::ports::source::Relayed;

use super::broken::Broken;
use super::duplex::Duplex;
use super::follow::Following;
use super::streamable_http::StreamableHttp;
use super::upstream_request::UpstreamRequest;
use crate::jsonrpc;

pub(in crate::mcp) enum Channel {
    /// A child's standard streams, or HTTP+SSE.
    Duplex(Duplex),
    Http(Box<StreamableHttp>),
}

impl Channel {
    /// What a server of the handshake era tells of resources that changed.
    pub(in crate::mcp) fn resource_updates(&self) -> broadcast::Receiver<RawJson> {
        match self {
            Channel::Duplex(duplex) => duplex.messages.resource_updates.subscribe(),
            Channel::Http(http) => http.resource_updates.subscribe(),
        }
    }

    pub(in crate::mcp) fn next_id(&self) -> u64 {
        match self {
            Channel::Duplex(duplex) => duplex.messages.next_id(),
            Channel::Http(http) => http.next_id(),
        }
    }

    /// Sends a request and waits for its answer. Dropping the future tells the server that nobody waits.
    pub(in crate::mcp) async fn request(
        &self,
        request: UpstreamRequest<'_>,
        following: &Following<'_>,
    ) -> Result<Relayed, Broken> {
        match self {
            Channel::Duplex(duplex) => duplex.request(request, following).await,
            Channel::Http(http) => http.request(request, following).await,
        }
    }

    pub(in crate::mcp) async fn notify(&self, method: &str) {
        match self {
            Channel::Duplex(duplex) => duplex.messages.notify(method, None).await,
            Channel::Http(http) => http.send(jsonrpc::ask(None, method, None).into_bytes(), None).await,
        }
    }

    /// True when no request can be sent any more; an exchange of HTTP begins a new connection if it must.
    pub(in crate::mcp) fn is_closed(&self) -> bool {
        match self {
            Channel::Duplex(duplex) => duplex.messages.is_closed(),
            Channel::Http(_) => false,
        }
    }

    /// Ends with the connection; one over HTTP has no end of its own.
    pub(in crate::mcp) async fn closed(&self) {
        match self {
            Channel::Duplex(duplex) => duplex.messages.closed().await,
            Channel::Http(_) => std::future::pending().await,
        }
    }

    pub(in crate::mcp) async fn close(&self) {
        match self {
            Channel::Duplex(duplex) => duplex.close().await,
            Channel::Http(http) => http.close().await,
        }
    }
}
