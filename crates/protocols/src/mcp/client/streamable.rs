//! Streamable HTTP: every message a post, every answer JSON or a stream of events.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::value::RawValue;
use tokio::sync::broadcast;
use tokio_util::task::TaskTracker;
use toolmux_core::BoxFuture;
use toolmux_core::answer_memory::answer_takes;
use toolmux_core::json_text::RawJson;
use toolmux_core::message::Message as Words;
use toolmux_core::ports::source::Relayed;
use toolmux_http::client::{Answer, HttpClient, HttpError, StatusAnswer, Target};
use toolmux_http::sse::Decoder;
use url::Url;

use super::authorization::{Authorization, TokenWanted};
use super::connection::{Broken, UpstreamRequest};
use super::follow::{Following, unasked};
use super::outgoing::reply;
use super::pending_callers::{PendingCallers, Question};
use super::request_headers::VERSION;
use crate::jsonrpc::{self, Message, NotTheAnswer, read_answer};
use crate::mcp::revision::Revision;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The pause before a stream is resumed, unless the server names one.
const RETRY: Duration = Duration::from_secs(1);

/// How many updates of resources wait for a slow follower.
const UPDATES: usize = 64;

pub(super) struct Streamable {
    client: HttpClient,
    /// With the headers of every request.
    pub(super) target: Target,
    most: usize,
    next: AtomicU64,
    pub(super) session: ArcSwapOption<HeaderValue>,
    /// The server's revision, and the headers that name it beside those of every request.
    pub(super) greeted: OnceLock<(Revision, HeaderMap)>,
    /// Has the token that lists are read with, where the server wants one.
    pub(super) authorization: Option<Arc<Authorization>>,
    /// The token of the request that the connection is opened for, forgotten once it is open.
    pub(super) opened_with: ArcSwapOption<HeaderValue>,
    /// For questions on the stream that belongs to no request.
    pending_callers: PendingCallers,
    /// What a server of the handshake era tells of resources that changed.
    pub(super) updated: broadcast::Sender<RawJson>,
    /// Messages that nobody waits for.
    tasks: TaskTracker,
}

impl Streamable {
    pub(super) fn new(
        client: HttpClient,
        url: &Url,
        mut headers: HeaderMap,
        most: usize,
    ) -> Result<Self, HttpError> {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        Ok(Streamable {
            target: client.target(url, headers)?,
            client,
            most,
            next: AtomicU64::new(1),
            session: ArcSwapOption::empty(),
            greeted: OnceLock::new(),
            authorization: None,
            opened_with: ArcSwapOption::empty(),
            pending_callers: PendingCallers::default(),
            updated: broadcast::Sender::new(UPDATES),
            tasks: TaskTracker::new(),
        })
    }

    /// Says what the server turned out to speak.
    pub(super) fn greet(&self, revision: Revision) {
        let mut headers = self.target.headers.clone();
        headers.insert(VERSION, HeaderValue::from_static(revision.text()));
        self.greeted.set((revision, headers)).ok();
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request and waits for its answer. Dropping the future closes the exchange, which cancels it;
    /// a legacy server is told in words.
    pub(super) async fn request(
        &self,
        mut ask: UpstreamRequest<'_>,
        following: &Following<'_>,
    ) -> Result<Relayed, Broken> {
        let text = jsonrpc::ask(Some(&ask.id.to_string()), ask.method, Some(&ask.params));
        // They may be long, and the answer late.
        ask.params = String::new();
        let ask = &ask;
        let mut waiting = Waiting { http: self, id: ask.id, credentials: ask.credentials, open: true };
        let exchange = pin!(async {
            let answer = self.post(text, self.headers_of(ask)).await?;
            self.answered(ask, answer, following).await
        });
        let relayed = match following.caller.filter(|_| self.is_legacy()) {
            Some(caller) if following.answers() => {
                Box::pin(self.answering((ask, caller), exchange, following)).await
            }
            Some(caller) => {
                let _in_flight = self.pending_callers.enter(ask.id, caller);
                exchange.await
            }
            None => exchange.await,
        };
        waiting.open = false;
        relayed
    }

    /// Answers questions that come on another stream until the exchange is over.
    async fn answering(
        &self,
        (ask, caller): (&UpstreamRequest<'_>, &Arc<str>),
        mut exchange: Pin<&mut impl Future<Output = Result<Relayed, Broken>>>,
        following: &Following<'_>,
    ) -> Result<Relayed, Broken> {
        let (joined, mut questions) = self.pending_callers.join(ask.id, caller);
        let mut said = FuturesUnordered::new();
        loop {
            tokio::select! {
                relayed = &mut exchange => return relayed,
                Some(question) = questions.recv() => said.push(async move {
                    let said = answer_to(following, &question.method, question.params.as_deref()).await;
                    (question.id, said)
                }),
                Some((id, said)) = said.next() => {
                    joined.answered();
                    self.tell(reply(&id, &said), ask.credentials).await;
                }
            }
        }
    }

    fn is_legacy(&self) -> bool {
        self.greeted.get().is_some_and(|(revision, _)| !revision.is_modern())
    }

    async fn answered(
        &self,
        ask: &UpstreamRequest<'_>,
        answer: Answer,
        following: &Following<'_>,
    ) -> Result<Relayed, Broken> {
        if ask.method == "initialize"
            && let Some(session) = answer.headers().get(SESSION)
        {
            self.session.store(Some(Arc::new(session.clone())));
        }
        let status = answer.status();
        if status == StatusCode::NOT_FOUND && self.session.load().is_some() {
            return Err(Broken::SessionGone);
        }
        if let Some(wanted) = TokenWanted::read(status, answer.headers()) {
            return Err(Broken::Unauthorized(wanted));
        }
        let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if status.is_success() && kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return Box::pin(self.follow(ask, answer, following)).await;
        }
        let told = StatusAnswer::of(&answer);
        let body = answer.body().await?;
        match read_answer(&body, |said| said.parse() == Ok(ask.id)) {
            Ok(answer) => Ok(answer.map(ToOwned::to_owned).map_err(ToOwned::to_owned)),
            Err(NotTheAnswer::Unreadable) => Err(Broken::Status(told)),
            Err(foreign) => Err(not_ours(&foreign)),
        }
    }

    /// Reads events until the answer is among them.
    async fn follow(
        &self,
        ask: &UpstreamRequest<'_>,
        mut answer: Answer,
        following: &Following<'_>,
    ) -> Result<Relayed, Broken> {
        let mut decoder = Decoder::new(self.most);
        let mut questions = FuturesUnordered::<BoxFuture<'_, (RawJson, Relayed)>>::new();
        loop {
            let piece = tokio::select! {
                piece = answer.piece() => piece,
                Some((id, said)) = questions.next() => {
                    self.tell(reply(&id, &said), ask.credentials).await;
                    continue;
                }
            };
            let ended = || Broken::Lost(Words::public("The server closed the stream before it answered"));
            let piece = match piece {
                Ok(Some(piece)) => piece,
                over => {
                    let broken = over.map_or_else(Broken::from, |_| ended());
                    answer = self.resume(&mut decoder, ask.credentials).await.ok_or(broken)?;
                    continue;
                }
            };
            let events = decoder
                .push(&piece)
                .map_err(|error| Broken::Lost(Words::public("The answer is too long").caused_by(&error)))?;
            answer_takes(decoder.held())
                .map_err(|error| Broken::Lost(Words::public("The answer was dropped").caused_by(&error)))?;
            for event in events {
                match Message::read(event.data.as_bytes()) {
                    Ok(Message::Notification { method, params }) => following.heard(&method, params).await,
                    Ok(Message::Request { id, method, params }) => {
                        let (id, method) = (id.to_owned(), method.into_owned());
                        let params = params.map(ToOwned::to_owned);
                        questions.push(Box::pin(async move {
                            let said = answer_to(following, &method, params.as_deref()).await;
                            (id, said)
                        }));
                    }
                    Ok(Message::Answer { .. }) | Err(_) => {
                        match read_answer(event.data.as_bytes(), |said| said.parse() == Ok(ask.id)) {
                            Ok(answer) => {
                                return Ok(answer.map(ToOwned::to_owned).map_err(ToOwned::to_owned));
                            }
                            Err(NotTheAnswer::Unreadable) => {}
                            Err(foreign) => return Err(not_ours(&foreign)),
                        }
                    }
                }
            }
        }
    }

    /// The stream that goes on where another ended; none when the server did not say that it could.
    async fn resume(&self, decoder: &mut Decoder, credentials: Option<&HeaderMap>) -> Option<Answer> {
        let last = HeaderValue::from_str(decoder.last_id().filter(|_| self.is_legacy())?).ok()?;
        tokio::time::sleep(decoder.retry().unwrap_or(RETRY)).await;
        decoder.resume();
        let mut headers = self.headers_with(credentials);
        headers.insert(LAST_EVENT, last);
        let answer = self.client.send_to(Method::GET, &self.target, headers, Bytes::new()).await.ok()?;
        answer.status().is_success().then_some(answer)
    }

    /// Ends when the server tells of changed lists, or when the stream ends.
    pub(super) async fn changed(&self, listen: Option<UpstreamRequest<'_>>) -> Result<(), Broken> {
        let mut answer = match listen {
            Some(ask) => {
                let text = jsonrpc::ask(Some(&ask.id.to_string()), ask.method, Some(&ask.params));
                self.post(text, self.headers_of(&ask)).await?
            }
            None => {
                let headers = self.headers_with(None);
                self.client.send_to(Method::GET, &self.target, headers, Bytes::new()).await?
            }
        };
        if !answer.status().is_success() {
            return Err(Broken::Status(StatusAnswer::of(&answer)));
        }
        let mut decoder = Decoder::new(self.most);
        loop {
            let Ok(Some(piece)) = answer.piece().await else {
                let ended = || Broken::Lost(Words::public("The stream ended"));
                answer = self.resume(&mut decoder, None).await.ok_or_else(ended)?;
                continue;
            };
            let Ok(events) = decoder.push(&piece) else { return Ok(()) };
            for event in events {
                match Message::read(event.data.as_bytes()) {
                    Ok(Message::Notification { method, .. }) if method.ends_with("/list_changed") => {
                        return Ok(());
                    }
                    Ok(Message::Notification { method, params: Some(params) })
                        if method == "notifications/resources/updated" =>
                    {
                        self.updated.send(params.to_owned()).ok();
                    }
                    Ok(Message::Request { id, method, params }) => self.asked(id, &method, params).await,
                    _ => {}
                }
            }
        }
    }

    /// A question that does not say which call it belongs to.
    async fn asked(&self, id: &RawValue, method: &str, params: Option<&RawValue>) {
        if method == "ping" {
            return self.tell(reply(id, &Ok(empty())), None).await;
        }
        let question =
            Question { id: id.to_owned(), method: method.to_owned(), params: params.map(ToOwned::to_owned) };
        if let Err(question) = self.pending_callers.hand(question) {
            self.tell(reply(&question.id, &unasked(method)), None).await;
        }
    }

    /// Sends a message that has no answer, under the credentials of the request that it belongs to.
    pub(super) async fn tell(&self, message: String, credentials: Option<&HeaderMap>) {
        self.post(message, self.headers_with(credentials)).await.ok();
    }

    /// Ends the session, if there is one.
    pub(super) async fn close(&self) {
        if self.session.load().is_some() {
            let headers = self.headers_with(None);
            self.client.send_to(Method::DELETE, &self.target, headers, Bytes::new()).await.ok();
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn post(
        &self,
        message: String,
        headers: HeaderMap,
    ) -> impl Future<Output = Result<Answer, HttpError>> + Send + use<> {
        self.client.send_to(Method::POST, &self.target, headers, message.into())
    }
}

/// Whoever answers another request than ours may have run ours too.
fn not_ours(foreign: &NotTheAnswer) -> Broken {
    Broken::Lost(Words::public("The server answered another request than ours").caused_by(foreign))
}

async fn answer_to(following: &Following<'_>, method: &str, params: Option<&RawValue>) -> Relayed {
    if method == "ping" { Ok(empty()) } else { following.asked(method, params).await }
}

fn empty() -> RawJson {
    toolmux_core::json_text::raw_of(&serde_json::json!({}))
}

/// A request that waits for its answer.
struct Waiting<'a> {
    http: &'a Streamable,
    id: u64,
    credentials: Option<&'a HeaderMap>,
    open: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.open || !self.http.is_legacy() {
            return;
        }
        let params = toolmux_core::json_text::raw_of(&serde_json::json!({ "requestId": self.id }));
        let text = jsonrpc::ask(None, "notifications/cancelled", Some(params.get()));
        let told = self.http.post(text, self.http.headers_with(self.credentials));
        self.http.tasks.spawn(async move { told.await.ok() });
    }
}
