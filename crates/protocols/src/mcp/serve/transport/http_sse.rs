//! MCP over HTTP+SSE, the transport of 2024-11-05. `GET /sse` opens a stream of events, the first of which names
//! the address for messages; every answer, notification and question leaves on that stream. The stream is the
//! session: when it ends, so does all that was asked in it.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use toolmux_core::call::Caller;
use toolmux_core::gateway::Gateway;
use toolmux_http::serve::{Access, AskedToolset, Routes, Web, json as json_answer};
use toolmux_http::sse;

use super::conversation::{Conversation, ConversationClient};
use super::server::{not_a_message, read_request};
use super::{protected, stream};
use crate::jsonrpc::RpcMessage;
use crate::mcp::serve::request::{Outlet, SessionState};
use crate::mcp::wire::{self, Fault, INTERNAL_ERROR, INVALID_REQUEST};

/// After how long a client that was refused may try again.
const RETRY_AFTER_MS: u64 = 1_000;

pub(in crate::mcp) fn routes() -> Routes {
    let sessions = Arc::new(Sessions::default());
    let posted = Arc::clone(&sessions);
    let open = move |State(web): State<Arc<Web>>, request: Request| ready(sessions.open(&web, request));
    let message =
        async move |State(web): State<Arc<Web>>, request: Request| posted.message(&web, request).await;
    Routes::default().get("/sse", Access::Callers, open).post("/messages", Access::Callers, message)
}

/// Every session that is open at this server, by its id.
#[derive(Default)]
struct Sessions {
    session_state: Arc<SessionState>,
    open: Mutex<HashMap<Arc<str>, Arc<Conversation>>>,
}

impl Sessions {
    fn open(self: &Arc<Self>, web: &Arc<Web>, request: Request) -> Response {
        let parts = request.into_parts().0;
        let caller = match web.admit(&parts) {
            Ok(caller) => caller,
            Err(refusal) => return protected::turned_away(web, &parts, &refusal),
        };
        if web.gateway.background().is_closing() {
            return refused(StatusCode::SERVICE_UNAVAILABLE, "The server is stopping");
        }
        let (out, messages) = Outlet::channel(web.gateway.memory());
        let Some(session) = self.begin(web, caller, out) else {
            let most = web.limits.sse_sessions;
            let what = format!("The caller has {most} open sessions; close one (`limits.sse_sessions`)");
            return refused(StatusCode::TOO_MANY_REQUESTS, &what);
        };
        let endpoint = format!("{}?sessionId={}", address(&web.gateway, &parts), session.id);
        let gateway = Arc::clone(&web.gateway);
        let last = Box::pin(async move {
            gateway.background().closing().await;
            session.conversation.finished().await;
            None
        });
        stream::open(sse::encode(Some("endpoint"), None, &endpoint), last, Some(messages))
    }

    async fn message(&self, web: &Arc<Web>, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let caller = match web.admit(&parts) {
            Ok(caller) => caller,
            Err(refusal) => return protected::turned_away(web, &parts, &refusal),
        };
        // Whose session it is not learns no more than that it has none of this id.
        let Some(conversation) = self.find(&parts, &caller) else {
            return refused(StatusCode::NOT_FOUND, "The session is not known; open `/sse` again");
        };
        let body = match web.body(&parts.headers, body).await {
            Ok(body) => body,
            Err(refusal) => return protected::turned_away(web, &parts, &refusal),
        };
        match RpcMessage::read(&body) {
            Ok(RpcMessage::Request { id, method, params }) => match conversation.try_permit() {
                Some(permit) => {
                    let mut request = read_request(&parts.headers, id, &method, params);
                    request.held = body.into_held();
                    conversation.answer(request, permit);
                }
                None if conversation.try_reply(id, busy(web)) => {}
                None => return answered(StatusCode::TOO_MANY_REQUESTS, busy(web)),
            },
            Ok(RpcMessage::Notification { method, params }) => conversation.notified(&method, params),
            Ok(RpcMessage::Answer { id, answer }) => conversation.answered(id, answer),
            Err(error) => return not_a_message(&error),
        }
        StatusCode::ACCEPTED.into_response()
    }

    /// A new session, unless the caller has too many.
    fn begin(self: &Arc<Self>, web: &Arc<Web>, caller: Caller, out: Outlet) -> Option<Session> {
        // Random: whoever is told no id cannot find one.
        let id: Arc<str> = uuid::Uuid::new_v4().simple().to_string().into();
        // Counted and added under one lock: of two streams opened at a time only one can be the last that is allowed.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.values().filter(|known| known.caller.name() == caller.name()).count()
            >= web.limits.sse_sessions
        {
            return None;
        }
        let (gateway, session_state) = (Arc::clone(&web.gateway), Arc::clone(&self.session_state));
        let most_requests = web.limits.session_requests;
        let client = ConversationClient { caller, session: Arc::clone(&id), out, most_requests };
        let conversation = Arc::new(Conversation::new(gateway, session_state, client));
        open.insert(Arc::clone(&id), Arc::clone(&conversation));
        Some(Session { sessions: Arc::clone(self), id, conversation })
    }

    fn find(&self, parts: &Parts, caller: &Caller) -> Option<Arc<Conversation>> {
        let query = parts.uri.query().unwrap_or_default();
        let (_, id) = url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "sessionId")?;
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // The same caller by the same toolsets, not merely one of the same name.
        open.get(&*id).filter(|conversation| conversation.caller == *caller).cloned()
    }
}

/// A session as long as its stream is open; lives in the stream's body, which is dropped when the client leaves.
struct Session {
    sessions: Arc<Sessions>,
    id: Arc<str>,
    conversation: Arc<Conversation>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.sessions.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        // A message that arrived at this moment may still hold the conversation.
        self.conversation.end();
    }
}

/// Where messages are posted, as the caller has to write it: below what a proxy adds, and below its toolset.
fn address(gateway: &Gateway, parts: &Parts) -> String {
    let public = gateway.admission().info().public_url.and_then(|public| url::Url::parse(&public).ok());
    let prefix = public.map(|public| public.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    let toolset = parts.extensions.get::<AskedToolset>();
    let toolset = toolset.map(|asked| format!("/sets/{}", asked.0)).unwrap_or_default();
    format!("{prefix}{toolset}/messages")
}

fn busy(web: &Web) -> Fault {
    let most = web.limits.session_requests;
    let what = format!("{most} requests of this session are being answered; try again when one is");
    Fault::with_data(INTERNAL_ERROR, what, &json!({ "retryAfterMs": RETRY_AFTER_MS }))
}

fn refused(status: StatusCode, what: &str) -> Response {
    answered(status, Fault::new(INVALID_REQUEST, what))
}

fn answered(status: StatusCode, fault: Fault) -> Response {
    let mut response = json_answer(status, wire::reply(None, &Err(fault)));
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        let seconds = HeaderValue::from(RETRY_AFTER_MS / 1_000);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}
