//! An answer over HTTP: plain JSON when it is there at once, a stream of events as soon as something has to
//! leave before it, or when it takes so long that things on the way might give up.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use http::StatusCode;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval_at};
use toolmux_core::BoxFuture;
use toolmux_core::json_text::RawJson;
use toolmux_core::memory_budget::Reservation;
use toolmux_http::serve::json;
use toolmux_http::sse;

use crate::mcp::revision::Revision;
use crate::mcp::serve::request::Queued;
use crate::mcp::wire::{self, Reply};

/// After how long a silent call becomes a stream, so that its first byte leaves.
const EARLY: Duration = Duration::from_secs(1);
/// How often a silent stream shows that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A request being answered.
pub(in crate::mcp) struct Answering {
    pub(in crate::mcp) id: RawJson,
    pub(in crate::mcp) work: BoxFuture<'static, Reply>,
    /// Absent when the client takes no stream.
    pub(in crate::mcp) messages: Option<mpsc::Receiver<Queued>>,
    pub(in crate::mcp) takes_streams: bool,
    pub(in crate::mcp) revision: Revision,
    /// What its body takes of the memory for all requests.
    pub(in crate::mcp) held: Option<Reservation>,
}

impl Answering {
    /// Dropping the future, or the body of the answer, cancels the work: both own it, and no task of its own runs it.
    pub(in crate::mcp) async fn respond(mut self) -> Response {
        // In this order: a reply that is there at once is plain JSON, even if something was told before it.
        tokio::select! {
            biased;
            reply = &mut self.work => self.finished(&reply),
            Some(message) = next(&mut self.messages) => {
                let first = event(&message.text);
                self.stream(first)
            }
            () = early(), if self.takes_streams => {
                self.stream(Bytes::from_static(sse::KEEP_ALIVE))
            }
        }
    }

    /// Messages that the work left before it ended still go before the answer.
    fn finished(mut self, reply: &Reply) -> Response {
        let text = wire::reply(Some(&self.id), reply);
        let left = self.messages.as_mut().map(drain).unwrap_or_default();
        if left.is_empty() {
            let status = match reply {
                Err(fault) if self.revision.is_modern() => fault.status(),
                _ => StatusCode::OK,
            };
            return json(status, text);
        }
        let last = event(&String::from_utf8_lossy(&text));
        events(Body::from([left, last.to_vec()].concat()))
    }

    fn stream(self, first: Bytes) -> Response {
        let id = self.id;
        let (work, held) = (self.work, self.held);
        let last = Box::pin(async move {
            let text = wire::reply(Some(&id), &work.await);
            drop(held);
            Some(event(&String::from_utf8_lossy(&text)))
        });
        open(first, last, self.messages)
    }
}

/// A stream of messages that ends with `last`.
pub(in crate::mcp) fn open(
    first: Bytes,
    last: BoxFuture<'static, Option<Bytes>>,
    messages: Option<mpsc::Receiver<Queued>>,
) -> Response {
    let mut tick = interval_at(tokio::time::Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let flow = Flow { first: Some(first), last: Some(last), messages, tick };
    events(Body::from_stream(unfold(flow, Flow::step)))
}

struct Flow {
    first: Option<Bytes>,
    last: Option<BoxFuture<'static, Option<Bytes>>>,
    messages: Option<mpsc::Receiver<Queued>>,
    tick: Interval,
}

impl Flow {
    async fn step(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if let Some(first) = self.first.take() {
            return Some((Ok(first), self));
        }
        let last = self.last.as_mut()?;
        let piece = tokio::select! {
            biased;
            Some(message) = next(&mut self.messages) => event(&message.text),
            ended = last => {
                self.last = None;
                let mut bytes = self.messages.as_mut().map(drain).unwrap_or_default();
                bytes.extend_from_slice(&ended.unwrap_or_default());
                Bytes::from(bytes)
            }
            _ = self.tick.tick() => Bytes::from_static(sse::KEEP_ALIVE),
        };
        Some((Ok(piece), self))
    }
}

/// The timer is made when this is first polled, which is when the reply is not there at once.
async fn early() {
    tokio::time::sleep(EARLY).await;
}

async fn next(messages: &mut Option<mpsc::Receiver<Queued>>) -> Option<Queued> {
    match messages {
        Some(messages) => messages.recv().await,
        None => None,
    }
}

fn drain(messages: &mut mpsc::Receiver<Queued>) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(message) = messages.try_recv() {
        bytes.extend_from_slice(&event(&message.text));
    }
    bytes
}

fn event(text: &str) -> Bytes {
    sse::encode_json(Some("message"), None, text)
}

fn events(body: Body) -> Response {
    sse::response(body, sse::EVENT_STREAM, "no-cache, no-transform")
}
