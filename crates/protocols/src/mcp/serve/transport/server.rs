//! What the transports over HTTP share: requests with what their headers say, and answers to what is not a request.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;
use toolmux_core::BoxFuture;
use toolmux_http::serve::{Web, idempotency_key, json, trace};

use crate::jsonrpc::NotAMessage;
use crate::mcp::methods;
use crate::mcp::serve::request::{
    ClientNotification, Exchange, Outlet, Peer, RpcRequest, SessionState, Stopped,
};
use crate::mcp::wire::{self, Fault, INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, Reply};

/// What all handlers need.
#[derive(Clone)]
pub(in crate::mcp) struct Server {
    pub(in crate::mcp) web: Arc<Web>,
    pub(in crate::mcp) session_state: Arc<SessionState>,
}

impl Server {
    /// The same peer, unless its session was ended here.
    pub(in crate::mcp) fn alive(&self, peer: Peer) -> Result<Peer, Stopped> {
        let over = peer.session.as_ref().is_some_and(|session| self.session_state.is_over(session));
        if over { Err(Stopped::NoSession) } else { Ok(peer) }
    }

    pub(in crate::mcp) fn exchange(&self, peer: Peer, request: RpcRequest, out: Outlet) -> Exchange {
        Exchange::new(Arc::clone(&self.web.gateway), Arc::clone(&self.session_state), peer, request, out)
    }

    /// Takes a notification of a legacy client, of which only cancellations mean anything here.
    pub(in crate::mcp) fn notified(&self, peer: &Peer, method: &str, params: Option<&RawValue>) {
        let notification = ClientNotification::read(method, params);
        if let (Some(session), Some(ClientNotification::Cancelled(id))) = (&peer.session, notification) {
            self.session_state.cancel(session, id);
        }
    }
}

/// A request, with the idempotency key and the trace that stand in its headers.
pub(in crate::mcp) fn read_request(
    headers: &HeaderMap,
    id: &RawValue,
    name: &str,
    params: Option<&RawValue>,
) -> RpcRequest {
    let mut request = methods::request(id, name, params);
    (request.call_id, request.trace) = (idempotency_key(headers), trace(headers));
    request
}

/// Answers, unless a later message of the same session says that nobody waits any more.
pub(in crate::mcp) fn cancellable(exchange: Exchange) -> BoxFuture<'static, Reply> {
    let Some(session) = exchange.peer.session.clone() else { return methods::answer(exchange) };
    Box::pin(async move {
        let session_state = Arc::clone(&exchange.session_state);
        // Dropped after the answering, whether that ends, is cancelled by its client, or is dropped with the connection.
        let begun = session_state.begin(&exchange.gateway, &session, &exchange.request.id);
        let answer = begun.token.run_until_cancelled(methods::answer(exchange)).await;
        answer.unwrap_or_else(|| Err(Fault::new(INTERNAL_ERROR, "The request was cancelled")))
    })
}

pub(in crate::mcp) fn stop(id: Option<&RawValue>, stopped: Stopped) -> Response {
    match stopped {
        Stopped::Fault(fault) => json(fault.status(), wire::reply(id, &Err(fault))),
        Stopped::NoSession => {
            let fault = Fault::new(INVALID_REQUEST, "The session is not known; begin with `initialize`");
            json(StatusCode::NOT_FOUND, wire::reply(id, &Err(fault)))
        }
    }
}

pub(in crate::mcp) fn not_a_message(error: &NotAMessage) -> Response {
    stop(None, not_read(error).into())
}

/// The error that a message is answered with which is none.
pub(in crate::mcp) fn not_read(error: &NotAMessage) -> Fault {
    let code = match error {
        NotAMessage::NotJson(_) => PARSE_ERROR,
        NotAMessage::NotRpc => INVALID_REQUEST,
    };
    Fault::new(code, error.to_string())
}
