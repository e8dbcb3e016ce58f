//! Streamable HTTP: every message a post, every answer JSON or a stream of events. Each request has an exchange of HTTP
//! of its own. Callers share the session, the counter of ids, and the stream on which servers of the handshake era tell
//! and ask what belongs to no request.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::{HeaderMap, StatusCode, header};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::broadcast;
use tokio_util::task::TaskTracker;
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::message::Message as Text;
use toolmux_core::ports::source::Relayed;
use toolmux_http::client::{Answer, HttpClient, HttpError, StatusAnswer};
use toolmux_http::sse::{Decoder, EVENT_STREAM};
use url::Url;

use super::answer_stream::{answer_question, follow, not_ours, pong};
use super::broken::Broken;
use super::follow::{Following, unasked};
use super::http_sender::HttpSender;
use super::outgoing::reply;
use super::pending_callers::{PendingCallers, Question};
use super::request_headers::{ConnectionCredentials, RequestHeaders};
use super::upstream_request::{INITIALIZE, UpstreamRequest};
use crate::jsonrpc::{self, NotTheAnswer, RpcMessage, read_answer};
use crate::mcp::client::auth::authorization::TokenWanted;
use crate::mcp::headers::SESSION_HEADER;
use crate::mcp::methods::PING;
use crate::mcp::notifications::{CANCELLED, RESOURCE_UPDATED};

/// How many updates of resources wait for a slow follower.
const UPDATES: usize = 64;

pub(in crate::mcp) struct StreamableHttp {
    sender: HttpSender,
    next: AtomicU64,
    /// For questions on the stream that belongs to no request.
    pending_callers: PendingCallers,
    /// What a server of the handshake era tells of resources that changed.
    pub(in crate::mcp) resource_updates: broadcast::Sender<RawJson>,
    /// Messages that nobody waits for.
    tasks: TaskTracker,
}

impl StreamableHttp {
    pub(in crate::mcp) fn new(
        client: HttpClient,
        url: &Url,
        most: usize,
        credentials: ConnectionCredentials,
    ) -> Result<Self, HttpError> {
        Ok(StreamableHttp {
            sender: HttpSender::new(client, url, most, credentials)?,
            next: AtomicU64::new(1),
            pending_callers: PendingCallers::default(),
            resource_updates: broadcast::Sender::new(UPDATES),
            tasks: TaskTracker::new(),
        })
    }

    pub(in crate::mcp) fn headers(&self) -> &RequestHeaders {
        &self.sender.headers
    }

    /// An id that no other request of this connection has. Relaxed: ids have to differ, their order says nothing.
    pub(in crate::mcp) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request and waits for its answer. Dropping the future closes the exchange, which cancels it; a legacy
    /// server is sent a notification too, because to it a closed exchange means nothing.
    pub(in crate::mcp) async fn request(
        &self,
        mut request: UpstreamRequest<'_>,
        following: &Following<'_>,
    ) -> Result<Relayed, Broken> {
        let message = request.take_message();
        let request = &request;
        // Made before anything is sent: from the first byte on the server may have the request, and whoever drops this
        // future must cancel it there.
        let mut waiting =
            Waiting { http: self, id: request.id, credentials: request.credentials, open: true };
        let exchange = pin!(async {
            let answer = self.sender.post(message, self.headers().of(request)).await?;
            self.read(request, answer, following).await
        });
        // A server of the handshake era may ask on another stream, where nothing says for which request. Every request
        // of a caller is counted there while it runs, also one whose caller cannot be asked: with two callers in flight
        // nobody is asked, because the question could be about the other one's call.
        let answer = match following.caller.filter(|_| self.headers().is_legacy()) {
            Some(caller) if following.answers() => {
                Box::pin(self.answering(request, caller, exchange, following)).await
            }
            Some(caller) => {
                let _in_flight = self.pending_callers.enter(request.id, caller);
                exchange.await
            }
            None => exchange.await,
        };
        // Answered or failed: in both cases there is nothing left to cancel.
        waiting.open = false;
        answer
    }

    /// Answers questions that come on another stream until the exchange is over.
    async fn answering(
        &self,
        request: &UpstreamRequest<'_>,
        caller: &Arc<str>,
        mut exchange: Pin<&mut impl Future<Output = Result<Relayed, Broken>>>,
        following: &Following<'_>,
    ) -> Result<Relayed, Broken> {
        let (joined, mut questions) = self.pending_callers.join(request.id, caller);
        let mut answers = FuturesUnordered::new();
        loop {
            tokio::select! {
                // Questions that are not answered yet are dropped with the exchange: the server waits for them no more.
                answer = &mut exchange => return answer,
                Some(question) = questions.recv() => answers.push(async move {
                    let answer = answer_question(following, &question.method, question.params.as_deref()).await;
                    (question.id, answer)
                }),
                Some((id, answer)) = answers.next() => {
                    // Counted as answered before it is sent: the server may ask the next question as soon as it has it.
                    joined.answered();
                    self.send(reply(&id, &answer), request.credentials).await;
                }
            }
        }
    }

    /// Reads what a request was answered with.
    async fn read(
        &self,
        request: &UpstreamRequest<'_>,
        answer: Answer,
        following: &Following<'_>,
    ) -> Result<Relayed, Broken> {
        if request.method == INITIALIZE
            && let Some(session) = answer.headers().get(&SESSION_HEADER)
        {
            self.headers().set_session(session.clone());
        }
        let status = answer.status();
        if status == StatusCode::NOT_FOUND && self.headers().has_session() {
            return Err(Broken::SessionGone);
        }
        if let Some(wanted) = TokenWanted::read(status, answer.headers()) {
            return Err(Broken::Unauthorized(wanted));
        }
        let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if status.is_success() && kind.is_some_and(|kind| kind.starts_with(EVENT_STREAM)) {
            return Box::pin(follow(&self.sender, request, answer, following)).await;
        }
        let without_answer = StatusAnswer::of(&answer);
        let body = answer.body().await?;
        match read_answer(&body, |id| id.parse() == Ok(request.id)) {
            Ok(answer) => Ok(answer.map(ToOwned::to_owned).map_err(ToOwned::to_owned)),
            Err(NotTheAnswer::Unreadable) => Err(Broken::Status(without_answer)),
            Err(foreign) => Err(not_ours(&foreign)),
        }
    }

    /// Ends when the server tells of changed lists, or when the stream ends.
    pub(in crate::mcp) async fn changed(&self, listen: Option<UpstreamRequest<'_>>) -> Result<(), Broken> {
        let mut answer = match listen {
            Some(mut request) => {
                let message = request.take_message();
                self.sender.post(message, self.headers().of(&request)).await?
            }
            None => self.sender.get().await?,
        };
        if !answer.status().is_success() {
            return Err(Broken::Status(StatusAnswer::of(&answer)));
        }
        let mut decoder = Decoder::new(self.sender.most);
        loop {
            let Ok(Some(piece)) = answer.piece().await else {
                // Resumed after the last event that had an id: what the server sent between two streams comes again.
                let ended = || Broken::Lost(Text::public("The stream ended"));
                answer = self.sender.resume(&mut decoder, None).await.ok_or_else(ended)?;
                continue;
            };
            let Ok(events) = decoder.push(&piece) else { return Ok(()) };
            for event in events {
                match RpcMessage::read(event.data.as_bytes()) {
                    Ok(RpcMessage::Notification { method, .. }) if method.ends_with("/list_changed") => {
                        return Ok(());
                    }
                    Ok(RpcMessage::Notification { method, params: Some(params) })
                        if method == RESOURCE_UPDATED =>
                    {
                        self.resource_updates.send(params.to_owned()).ok();
                    }
                    Ok(RpcMessage::Request { id, method, params }) => self.asked(id, &method, params).await,
                    _ => {}
                }
            }
        }
    }

    /// A question that does not say which call it belongs to. It is handed over, not waited for: the stream is read on
    /// while the caller thinks.
    async fn asked(&self, id: &RawValue, method: &str, params: Option<&RawValue>) {
        if method == PING {
            return self.send(reply(id, &Ok(pong())), None).await;
        }
        let question =
            Question { id: id.to_owned(), method: method.to_owned(), params: params.map(ToOwned::to_owned) };
        if let Err(question) = self.pending_callers.hand(question) {
            self.send(reply(&question.id, &unasked(method)), None).await;
        }
    }

    /// Sends a message that has no answer, under the credentials of the request that it belongs to.
    pub(in crate::mcp) async fn send(&self, message: Vec<u8>, credentials: Option<&HeaderMap>) {
        self.sender.send(message, credentials).await;
    }

    /// Ends the session, then waits for what was still being sent: cancellations of calls that were dropped before.
    pub(in crate::mcp) async fn close(&self) {
        self.sender.end_session().await;
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// A request that waits for its answer.
struct Waiting<'a> {
    http: &'a StreamableHttp,
    id: u64,
    credentials: Option<&'a HeaderMap>,
    open: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.open || !self.http.headers().is_legacy() {
            return;
        }
        let params = raw_of(&json!({ "requestId": self.id }));
        let message = jsonrpc::ask(None, CANCELLED, Some(params.get())).into_bytes();
        // A drop cannot wait, so it is sent in the background; `close` waits for it.
        let sending = self.http.sender.post(message, self.http.headers().with(self.credentials));
        self.http.tasks.spawn(async move { sending.await.ok() });
    }
}
