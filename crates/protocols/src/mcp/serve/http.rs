//! MCP over streamable HTTP: one address, both eras.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::value::RawValue;
use toolmux_core::BoxFuture;
use toolmux_core::call::Caller;
use toolmux_core::json_text::raw_of;
use toolmux_core::names::ToolRef;
use toolmux_http::serve::{Web, idempotency_key, json, trace};
use toolmux_http::sse;

use super::era::{self, SESSION_HEADER, Stopped};
use super::exchange::{Exchange, Outlet, Peer, RpcRequest};
use super::session_state::SessionState;
use super::stream::{self, Answering};
use super::{batch, listen, methods, protected, session};
use crate::jsonrpc::{Message, NotAMessage};
use crate::mcp::wire::{self, Fault, INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, Params, Reply, text_of};

/// What all handlers need.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) web: Arc<Web>,
    pub(super) session_state: Arc<SessionState>,
}

pub(super) async fn post(server: Server, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let caller = match server.web.admit(&parts) {
        Ok(caller) => caller,
        Err(refusal) => return protected::turned_away(&server.web, &parts, &refusal),
    };
    let headers = &parts.headers;
    let body = match server.web.body(headers, body).await {
        Ok(body) => body,
        Err(refusal) => return protected::turned_away(&server.web, &parts, &refusal),
    };
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return batch::post(&server, headers, caller, &body).await;
    }
    match Message::read(&body) {
        Ok(Message::Request { id, method, params }) => {
            let asked = asked(headers, id, &method, params);
            let params = Params::read(params);
            let is_modern = || params.as_ref().is_ok_and(|params| params.meta().version.is_some());
            if method == "initialize" && !era::is_modern(headers) && !is_modern() {
                return server.initialize(caller, &asked).await;
            }
            let params = match params {
                Ok(params) => params,
                Err(fault) => return stop(Some(id), fault.into()),
            };
            match era::peer(headers, &method, &params, caller).and_then(|peer| server.alive(peer)) {
                Ok(peer) => {
                    let answering = server.answer(headers, peer, asked, &params).await;
                    let held = body.into_held();
                    match answering {
                        Ok(answering) => Answering { held, ..answering }.respond().await,
                        Err(response) => *response,
                    }
                }
                Err(stopped) => stop(Some(id), stopped),
            }
        }
        Ok(Message::Notification { method, params }) => server.noticed(headers, caller, &method, params),
        Ok(Message::Answer { id, answer }) => match era::legacy_peer(headers, caller) {
            Ok(Peer { session: Some(session), .. }) => {
                server.session_state.answered(&session, id, answer);
                StatusCode::ACCEPTED.into_response()
            }
            Ok(_) => StatusCode::ACCEPTED.into_response(),
            Err(stopped) => stop(None, stopped),
        },
        Err(error) => not_a_message(&error),
    }
}

/// A stream on which legacy clients hear of changes.
pub(super) fn get(server: Server, request: Request) -> Response {
    let parts = request.into_parts().0;
    let caller = match server.web.admit(&parts) {
        Ok(caller) => caller,
        Err(refusal) => return protected::turned_away(&server.web, &parts, &refusal),
    };
    if era::is_modern(&parts.headers) || !takes_streams(&parts.headers) {
        return not_allowed();
    }
    let peer = match era::legacy_peer(&parts.headers, caller).and_then(|peer| server.alive(peer)) {
        Ok(peer) => peer,
        Err(stopped) => return stop(None, stopped),
    };
    let (out, messages) = Outlet::channel(server.web.gateway.memory());
    let (gateway, session_state) = (Arc::clone(&server.web.gateway), Arc::clone(&server.session_state));
    let last = Box::pin(async move {
        listen::follow_all(&gateway, &session_state, &peer, &out).await;
        None
    });
    stream::open(Bytes::from_static(sse::KEEP_ALIVE), last, Some(messages))
}

/// A session lives in its id; this server remembers that it is over.
pub(super) fn delete(server: Server, request: Request) -> Response {
    let parts = request.into_parts().0;
    let caller = match server.web.admit(&parts) {
        Ok(caller) => caller,
        Err(refusal) => return protected::turned_away(&server.web, &parts, &refusal),
    };
    if era::is_modern(&parts.headers) {
        return not_allowed();
    }
    match era::legacy_peer(&parts.headers, caller).and_then(|peer| server.alive(peer)) {
        Ok(peer) => {
            peer.session.iter().for_each(|session| server.session_state.end(&server.web.gateway, session));
            StatusCode::NO_CONTENT.into_response()
        }
        Err(stopped) => stop(None, stopped),
    }
}

impl Server {
    /// What there is beside tools is known only once sources have been heard of.
    async fn initialize(&self, caller: Caller, asked: &RpcRequest) -> Response {
        self.web.gateway.sources().wait_until_started().await;
        let (revision, capabilities) = methods::proposal(asked);
        let id = session::seal(revision, &capabilities, &caller);
        let peer = Peer { caller, revision, capabilities, session: None };
        let exchange =
            self.exchange(peer, RpcRequest::new(&asked.id, &asked.method, None), Outlet::default());
        let result = text_of(raw_of(&methods::initialized(&exchange)));
        let mut response = json(StatusCode::OK, wire::reply(Some(&asked.id), &Ok(result)));
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(&SESSION_HEADER, id);
        }
        response
    }

    /// Begins to answer a request; what comes of it does not need the body any more.
    async fn answer(
        &self,
        headers: &HeaderMap,
        peer: Peer,
        asked: RpcRequest,
        params: &Params<'_>,
    ) -> Result<Answering, Box<Response>> {
        let (id, revision) = (asked.id.clone(), peer.revision);
        let is_modern_call = asked.method == "tools/call" && revision.is_modern();
        if let Some(name) = params.name.as_deref().filter(|_| is_modern_call) {
            self.web.gateway.wait_for_tool(&peer.caller, &ToolRef::flat(name)).await;
        }
        if is_modern_call
            && let Err(fault) = era::mirrored(headers, params, &peer, &self.web.gateway.catalog())
        {
            return Err(Box::new(stop(Some(&id), fault.into())));
        }
        let takes_streams = takes_streams(headers);
        let (out, messages) = if takes_streams && asked.may_stream(&peer, params) {
            let (out, messages) = Outlet::channel(self.web.gateway.memory());
            (out, Some(messages))
        } else {
            (Outlet::default(), None)
        };
        let work = cancellable(self.exchange(peer, asked, out));
        Ok(Answering { id, work, messages, takes_streams, revision, held: None })
    }

    fn noticed(
        &self,
        headers: &HeaderMap,
        caller: Caller,
        method: &str,
        params: Option<&RawValue>,
    ) -> Response {
        if era::is_modern(headers) {
            return StatusCode::ACCEPTED.into_response();
        }
        match era::legacy_peer(headers, caller) {
            Ok(peer) => {
                if let (Some(session), "notifications/cancelled") = (&peer.session, method)
                    && let Some(id) = methods::cancelled(params)
                {
                    self.session_state.cancel(session, id);
                }
                StatusCode::ACCEPTED.into_response()
            }
            Err(stopped) => stop(None, stopped),
        }
    }

    /// The same peer, unless its session was ended here.
    pub(super) fn alive(&self, peer: Peer) -> Result<Peer, Stopped> {
        let over = peer.session.as_ref().is_some_and(|session| self.session_state.is_over(session));
        if over { Err(Stopped::NoSession) } else { Ok(peer) }
    }

    pub(super) fn exchange(&self, peer: Peer, asked: RpcRequest, out: Outlet) -> Exchange {
        let (gateway, session_state) = (Arc::clone(&self.web.gateway), Arc::clone(&self.session_state));
        Exchange { gateway, session_state, peer, asked, out }
    }
}

/// Answers, unless a later message of the same session says that nobody waits any more.
pub(super) fn cancellable(exchange: Exchange) -> BoxFuture<'static, Reply> {
    let Some(session) = exchange.peer.session.clone() else { return methods::answer(exchange) };
    Box::pin(async move {
        let session_state = Arc::clone(&exchange.session_state);
        let begun = session_state.begin(&exchange.gateway, &session, &exchange.asked.id);
        let answer = begun.token.run_until_cancelled(methods::answer(exchange)).await;
        answer.unwrap_or_else(|| Err(Fault::new(INTERNAL_ERROR, "The request was cancelled")))
    })
}

pub(super) fn asked(
    headers: &HeaderMap,
    id: &RawValue,
    method: &str,
    params: Option<&RawValue>,
) -> RpcRequest {
    let trace = trace(headers);
    RpcRequest { call_id: idempotency_key(headers), trace, ..RpcRequest::new(id, method, params) }
}

/// The specification wants both kinds named; only an explicit wish for JSON alone keeps us from streaming.
pub(super) fn takes_streams(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("text/event-stream")
}

pub(super) fn stop(id: Option<&RawValue>, stopped: Stopped) -> Response {
    match stopped {
        Stopped::Fault(fault) => json(fault.status(), wire::reply(id, &Err(fault))),
        Stopped::NoSession => {
            let fault = Fault::new(INVALID_REQUEST, "The session is not known; begin with `initialize`");
            json(StatusCode::NOT_FOUND, wire::reply(id, &Err(fault)))
        }
    }
}

pub(super) fn not_a_message(error: &NotAMessage) -> Response {
    let code = match error {
        NotAMessage::NotJson(_) => PARSE_ERROR,
        NotAMessage::NotRpc => INVALID_REQUEST,
    };
    stop(None, Fault::new(code, error.to_string()).into())
}

fn not_allowed() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")]).into_response()
}
