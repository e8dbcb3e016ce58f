//! Answers as a stream of events: `start`, any number of `data`, then `done` or `error`. Every event is one
//! piece of the body, because a public client loses events that arrive in two reads.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use toolmux_core::BoxFuture;
use toolmux_core::call::Caller;
use toolmux_core::json_text::RawJson;
use toolmux_core::memory_budget::Reservation;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::{Progress, Update};
use toolmux_core::refusal::Refusal;
use toolmux_http::serve::Web;
use toolmux_http::sse;

use super::wire::{self, DecodedCall, Heard};

/// A call and whoever follows it. Dropping it, which a client that leaves does, cancels the tool.
pub(super) struct Following {
    call: BoxFuture<'static, Result<Outcome, Refusal>>,
    updates: mpsc::Receiver<Update>,
    method: String,
    id: RawJson,
    ready: VecDeque<Bytes>,
    heard: Heard,
    ended: bool,
}

/// A call and whoever follows it, without the body that it came in.
pub(super) fn begin(web: &Arc<Web>, caller: Caller, asked: DecodedCall<'_>) -> Following {
    let (progress, updates) = Progress::channel();
    let (gateway, request) = (Arc::clone(&web.gateway), asked.request);
    Following {
        call: Box::pin(async move { gateway.call(&caller, request, &progress).await }),
        updates,
        ready: VecDeque::from([wire::start_event(&asked.method)]),
        method: asked.method.into_owned(),
        id: RawValue::to_owned(asked.id),
        heard: Heard::Nothing,
        ended: false,
    }
}

/// The answer to a call that is followed; `held` is what its body takes of the memory for all requests.
pub(super) fn answer(following: Following, held: Option<Reservation>) -> Response {
    let events = stream::unfold((following, held), |(mut following, held)| async move {
        let event = following.next().await?;
        Some((Ok::<Bytes, Infallible>(event), (following, held)))
    });
    sse::response(Body::from_stream(events), sse::EVENT_STREAM, "no-store")
}

impl Following {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(event) = self.ready.pop_front() {
            return Some(event);
        }
        if self.ended {
            return None;
        }
        tokio::select! {
            biased;
            Some(update) = self.updates.recv() => Some(self.tell(update)),
            answer = &mut self.call => {
                self.end(answer);
                self.ready.pop_front()
            }
        }
    }

    /// What the tool told last comes before what it gave.
    fn end(&mut self, answer: Result<Outcome, Refusal>) {
        while let Ok(update) = self.updates.try_recv() {
            let event = self.tell(update);
            self.ready.push_back(event);
        }
        self.ready.extend(wire::end_events(&self.id, &self.method, self.heard, answer));
        self.ended = true;
    }

    fn tell(&mut self, update: Update) -> Bytes {
        self.heard = Heard::Something;
        wire::update_event(&self.id, update)
    }
}
