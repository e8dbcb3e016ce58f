//! MCP over streamable HTTP: one address, both eras.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::value::RawValue;
use toolmux_core::call::Caller;
use toolmux_core::memory_budget::Reservation;
use toolmux_http::serve::json;
use toolmux_http::sse;

use super::server::{Server, cancellable, not_a_message, read_request, stop};
use super::stream::{self, Answering};
use super::{batch, protected};
use crate::jsonrpc::RpcMessage;
use crate::mcp::headers::SESSION_HEADER;
use crate::mcp::serve::methods::{initialize, listen};
use crate::mcp::serve::request::{Opens, Outlet, Peer, RpcRequest, era, mirrored_headers, session_id};
use crate::mcp::wire;

pub(in crate::mcp) async fn post(server: Server, request: Request) -> Response {
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
    match RpcMessage::read(&body) {
        Ok(RpcMessage::Request { id, method, params }) => {
            let request = read_request(headers, id, &method, params);
            // The request has what it needs of the body, whose bytes are freed before it is answered.
            answer(&server, headers, caller, request, body.into_held()).await
        }
        Ok(RpcMessage::Notification { method, params }) => {
            notified(&server, headers, caller, &method, params)
        }
        Ok(RpcMessage::Answer { id, answer }) => match era::legacy_peer(headers, caller) {
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
pub(in crate::mcp) fn get(server: Server, request: Request) -> Response {
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
pub(in crate::mcp) fn delete(server: Server, request: Request) -> Response {
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

/// `held` is what the body takes of the memory for all requests, until the answer is there.
async fn answer(
    server: &Server,
    headers: &HeaderMap,
    caller: Caller,
    mut request: RpcRequest,
    held: Option<Reservation>,
) -> Response {
    if request.method.opens == Opens::Session && !era::is_modern(headers) && !request.names_version() {
        return initialized(server, caller, &request).await;
    }
    let id = request.id.clone();
    let peer = match era::peer(headers, &mut request, caller).and_then(|peer| server.alive(peer)) {
        Ok(peer) => peer,
        Err(stopped) => return stop(Some(&id), stopped),
    };
    let (revision, takes_streams) = (peer.revision, takes_streams(headers));
    let (out, messages) = if takes_streams && request.may_stream(&peer) {
        let (out, messages) = Outlet::channel(server.web.gateway.memory());
        (out, Some(messages))
    } else {
        (Outlet::default(), None)
    };
    let mut exchange = server.exchange(peer, request, out);
    if let Err(fault) = mirrored_headers::check(headers, &mut exchange).await {
        return stop(Some(&id), fault.into());
    }
    let work = cancellable(exchange);
    Answering { id, work, messages, takes_streams, revision, held }.respond().await
}

/// The answer to `initialize`: what was agreed is in the id of the session.
async fn initialized(server: &Server, caller: Caller, request: &RpcRequest) -> Response {
    let (revision, capabilities) = initialize::proposal(request);
    let id = session_id::seal(revision, &capabilities, &caller);
    let peer = Peer { caller, revision, capabilities, session: None };
    let reply = initialize::answer(&server.web.gateway, &peer).await;
    let mut response = json(StatusCode::OK, wire::reply(Some(&request.id), &reply));
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(&SESSION_HEADER, id);
    }
    response
}

fn notified(
    server: &Server,
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
            server.notified(&peer, method, params);
            StatusCode::ACCEPTED.into_response()
        }
        Err(stopped) => stop(None, stopped),
    }
}

/// The specification wants both kinds named; only an explicit wish for JSON alone keeps us from streaming.
fn takes_streams(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains(sse::EVENT_STREAM)
}

fn not_allowed() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")]).into_response()
}
