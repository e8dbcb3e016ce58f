//! Several messages in one array, as 2025-03-26 alone has them.

use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;
use toolmux_core::call::Caller;
use toolmux_http::serve::json;

use super::server::{Server, cancellable, not_a_message, read_request, stop};
use crate::jsonrpc::{NotAMessage, RpcMessage};
use crate::mcp::serve::request::{Outlet, Peer, era};
use crate::mcp::wire::{self, Fault, INVALID_REQUEST};

/// How many messages one array may have.
const MOST: usize = 100;

pub(in crate::mcp) async fn post(
    server: &Server,
    headers: &HeaderMap,
    caller: Caller,
    body: &[u8],
) -> Response {
    let peer = match era::legacy_peer(headers, caller).and_then(|peer| server.alive(peer)) {
        Ok(peer) => peer,
        Err(stopped) => return stop(None, stopped),
    };
    let messages: Vec<&RawValue> = match serde_json::from_slice(body) {
        Ok(messages) => messages,
        Err(error) => return not_a_message(&NotAMessage::NotJson(error)),
    };
    if !peer.revision.has_batches() || era::is_modern(headers) || messages.is_empty() || messages.len() > MOST
    {
        let fault = Fault::new(INVALID_REQUEST, "Several messages in one body are not allowed here");
        return stop(None, fault.into());
    }
    let answers = join_all(messages.iter().map(|message| one(server, headers, &peer, message))).await;
    let answers: Vec<Vec<u8>> = answers.into_iter().flatten().collect();
    if answers.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    json(StatusCode::OK, [b"[", answers.join(&b',').as_slice(), b"]"].concat())
}

/// The answer to one message, if it wants one.
async fn one(server: &Server, headers: &HeaderMap, peer: &Peer, message: &RawValue) -> Option<Vec<u8>> {
    match RpcMessage::read(message.get().as_bytes()) {
        Ok(RpcMessage::Request { id, method, params }) => {
            let request = read_request(headers, id, &method, params);
            let reply = cancellable(server.exchange(peer.clone(), request, Outlet::default())).await;
            Some(wire::reply(Some(id), &reply))
        }
        Ok(RpcMessage::Notification { method, params }) => {
            server.notified(peer, &method, params);
            None
        }
        Ok(RpcMessage::Answer { id, answer }) => {
            server.session_state.answered(peer.session.as_ref()?, id, answer);
            None
        }
        Err(error) => Some(wire::reply(None, &Err(Fault::new(INVALID_REQUEST, error.to_string())))),
    }
}
