//! A connection that carries messages both ways, with many requests on it at a time: a child's standard
//! streams, or the old HTTP+SSE.
//!
//! Three kinds of tasks meet here: callers that wait in `request`, one reader that calls `deliver`, and one writer that
//! empties the queue of outgoing messages. None of them waits for another while it holds a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{Notify, broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use toolmux_core::answer_memory::{self, NoMemory};
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::memory_budget::Reservation;
use toolmux_core::ports::source::Relayed;

use super::answer_stream::pong;
use super::follow::{Following, unasked};
use super::outgoing::{Cut, Outgoing, reply};
use super::pending_requests::{EVENT_QUEUE, Ended, PendingAnswer, PendingRequests, ServerEvent};
use crate::jsonrpc::{self, RpcMessage};
use crate::mcp::lines::Memory;
use crate::mcp::members::Members;
use crate::mcp::methods::PING;
use crate::mcp::notifications::{
    CANCELLED, MESSAGE, PROGRESS, PROMPTS_CHANGED, RESOURCE_UPDATED, RESOURCES_CHANGED, TOOLS_CHANGED,
};
use crate::mcp::wire::{ASKED_FOR, SUBSCRIPTION};

/// How many messages wait to be written.
const OUT_QUEUE: usize = 256;

#[derive(Debug)]
pub(in crate::mcp) struct MessageChannel {
    next: AtomicU64,
    pending: PendingRequests,
    out: mpsc::Sender<Outgoing>,
    /// Wakes when the server tells of changed lists.
    pub(in crate::mcp) lists_changed: Notify,
    /// What a server of the handshake era tells of resources that changed.
    pub(super) resource_updates: broadcast::Sender<RawJson>,
    /// Lines that were no messages, and answers nobody waited for.
    pub(super) noise: AtomicU64,
    /// What counts answers, as soon as a call was sent.
    pub(super) memory: Memory,
    closed: CancellationToken,
}

impl MessageChannel {
    /// A channel, and what is to be written on it.
    pub(super) fn new() -> (Arc<Self>, mpsc::Receiver<Outgoing>) {
        let (out, outgoing) = mpsc::channel(OUT_QUEUE);
        let channel = MessageChannel {
            next: AtomicU64::new(1),
            pending: PendingRequests::default(),
            out,
            lists_changed: Notify::new(),
            resource_updates: broadcast::Sender::new(EVENT_QUEUE),
            noise: AtomicU64::new(0),
            memory: Memory::default(),
            closed: CancellationToken::new(),
        };
        (Arc::new(channel), outgoing)
    }

    /// The id of the next request; it is the token of its progress too.
    pub(super) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Ends the channel: whoever waits is told whether the request can have been read.
    pub(super) fn close(&self) {
        // Closed first, then emptied. A request that is added in between is found by one of the two: either it is among
        // those that are cut, or its caller sees the channel closed after having added it (see `request`).
        self.closed.cancel();
        self.pending.cut_all();
        self.lists_changed.notify_waiters();
    }

    /// Says that a message is about to be written; false when it must not be. A request is written only while somebody
    /// waits for its answer: after that, its sender may have been told that it was not sent.
    pub(super) fn begins(&self, message: &Outgoing) -> bool {
        message.request.is_none_or(|id| self.pending.begin_writing(id))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    pub(in crate::mcp) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Sends a request with this id and waits for its answer. Dropping the future tells the server that nobody waits, if
    /// the request can have been written by then.
    pub(super) async fn request(
        &self,
        id: u64,
        message: Vec<u8>,
        following: &Following<'_>,
    ) -> Result<Relayed, Cut> {
        self.learn_memory();
        let answer = self.pending.add(id, following);
        let mut waiting = Waiting { channel: self, id, queued: false };
        // Looked at after the request was added: a channel that closes later finds it and cuts it.
        if self.is_closed() || self.out.send(Outgoing { message, request: Some(id) }).await.is_err() {
            return Err(Cut::NotSent);
        }
        waiting.queued = true;
        let ended = self.follow(id, answer, following).await;
        // There is nothing left to cancel.
        waiting.queued = false;
        taken_over(ended)
    }

    /// Passes on what the server tells and asks about a request until it ends.
    async fn follow(&self, id: u64, answer: PendingAnswer, following: &Following<'_>) -> Ended {
        let PendingAnswer { mut ended, mut events } = answer;
        let mut questions = FuturesUnordered::new();
        loop {
            // In this order: what the server told before it answered is passed on before the answer is.
            tokio::select! {
                biased;
                Some(event) = events.recv() => match event.id {
                    None => following.heard(&event.method, event.params.as_deref()).await,
                    Some(id) => questions.push(async move {
                        (id, following.asked(&event.method, event.params.as_deref()).await)
                    }),
                },
                Some((to, answer)) = questions.next() => {
                    // Counted before it is sent: the server may ask the next question as soon as it has the answer.
                    self.pending.question_answered(id);
                    self.out.send(Outgoing::unanswered(reply(&to, &answer))).await.ok();
                }
                ended = &mut ended => return ended.unwrap_or(Err(Cut::Ended)),
            }
        }
    }

    /// The reader cannot know the budget that counts answers: it is found in the task of a call.
    fn learn_memory(&self) {
        if self.memory.get().is_none()
            && let Some(budget) = answer_memory::budget()
        {
            self.memory.set(budget).ok();
        }
    }

    pub(super) async fn notify(&self, method: &str, params: Option<&RawValue>) {
        let message = jsonrpc::ask(None, method, params.map(RawValue::get)).into_bytes();
        self.out.send(Outgoing::unanswered(message)).await.ok();
    }

    /// Takes a message of the server's, and what it takes of the memory for all requests. Never waits: while one message
    /// is delivered, no other is read.
    pub(super) fn deliver(&self, text: &[u8], held: Option<Reservation>) {
        match RpcMessage::read(text) {
            Ok(RpcMessage::Answer { id, answer }) => {
                if !id.get().parse().is_ok_and(|id| self.pending.answer(id, answer, held)) {
                    self.note_noise();
                }
            }
            Ok(RpcMessage::Notification { method, params }) => self.notified(&method, params),
            Ok(RpcMessage::Request { id, method, params }) => self.asked(id, &method, params),
            Err(_) => self.note_noise(),
        }
    }

    /// Tells the sender of a request that it gets no answer.
    pub(super) fn cut(&self, request: u64, why: Cut) {
        self.pending.cut(request, why);
    }

    /// A message that could not be kept: its two ends may say whose answer it was.
    pub(super) fn deliver_ends(&self, ends: &[u8], why: Cut) {
        self.note_noise();
        let text = String::from_utf8_lossy(ends);
        let id = text.match_indices("\"id\":").find_map(|(at, key)| {
            let digits: String =
                text[at + key.len()..].trim_start().chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u64>().ok()
        });
        if let Some(id) = id {
            self.cut(id, why);
        }
    }

    fn note_noise(&self) {
        self.noise.fetch_add(1, Ordering::Relaxed);
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Token {
            progress_token: u64,
        }
        let event =
            || ServerEvent { id: None, method: method.to_owned(), params: params.map(ToOwned::to_owned) };
        match method {
            TOOLS_CHANGED | PROMPTS_CHANGED | RESOURCES_CHANGED => self.lists_changed.notify_one(),
            PROGRESS => {
                let token = params.and_then(|params| serde_json::from_str(params.get()).ok());
                if let Some(Token { progress_token }) = token {
                    self.pending.pass_on(progress_token, event());
                }
            }
            RESOURCE_UPDATED => match meta_number(params, SUBSCRIPTION) {
                Some(id) => self.pending.pass_on(id, event()),
                None => {
                    self.resource_updates.send(params.map(ToOwned::to_owned).unwrap_or_default()).ok();
                }
            },
            // Nothing says whose log line it is.
            MESSAGE => self.pending.pass_to_only_follower(event()),
            _ => {}
        }
    }

    /// Only servers of our own kind say whose call a question belongs to.
    fn asked(&self, id: &RawValue, method: &str, params: Option<&RawValue>) {
        if method == PING {
            return self.reply_now(id, &Ok(pong()));
        }
        let question = ServerEvent {
            id: Some(id.to_owned()),
            method: method.to_owned(),
            params: params.map(ToOwned::to_owned),
        };
        if !self.pending.ask(meta_number(params, ASKED_FOR), question) {
            self.reply_now(id, &unasked(method));
        }
    }

    fn reply_now(&self, id: &RawValue, answer: &Relayed) {
        // Called by the reader, which must not wait for the writer: a server that writes much before it reads would wait
        // for us while we wait for it. One that asks faster than it reads gets no answers.
        self.out.try_send(Outgoing::unanswered(reply(id, answer))).ok();
    }
}

/// An answer; what it takes of the memory for all requests is the call's from now on.
fn taken_over(ended: Ended) -> Result<Relayed, Cut> {
    let (answer, held) = match ended {
        Ok((answer, held)) => (Ok(answer), Ok(held)),
        Err(Cut::NoMemory) => (Err(Cut::NoMemory), Err(NoMemory)),
        Err(cut) => (Err(cut), Ok(None)),
    };
    answer_memory::answer_took(held);
    answer
}

/// The request that a message belongs to, where its `_meta` says so.
fn meta_number(params: Option<&RawValue>, key: &str) -> Option<u64> {
    let meta = Members::read(params?)?.get("_meta")?.to_owned();
    Members::read(&meta)?.get(key)?.get().parse().ok()
}

/// A request that waits for its answer.
struct Waiting<'a> {
    channel: &'a MessageChannel,
    id: u64,
    /// It is in the queue of the writer, or written, and not answered.
    queued: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // Removed first: a writer that comes to it now leaves it out. The message below is then about a request that the
        // server never saw, which it has to ignore.
        self.channel.pending.remove(self.id);
        if self.queued && !self.channel.is_closed() {
            let params = raw_of(&json!({ "requestId": self.id }));
            let message = jsonrpc::ask(None, CANCELLED, Some(params.get())).into_bytes();
            // With a full queue the server hears nothing anyway.
            self.channel.out.try_send(Outgoing::unanswered(message)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use toolmux_core::json_text::to_raw;
    use toolmux_core::progress::Progress;

    use super::*;
    use crate::mcp::wire::Capabilities;

    /// Sends a question while a list and two callers wait, of whom the second can be asked for `elicitation` and the
    /// first for what it declares; gives what the server is answered, or none when the second caller is asked.
    async fn check(first_declares: Option<Value>, named: Option<u64>) -> Option<String> {
        let (channel, mut outgoing) = MessageChannel::new();
        let declared = to_raw(&json!({ "elicitation": {} })).unwrap();
        let (first, _first_updates, mut first_asked) = Progress::dialogue();
        let (second, _second_updates, mut second_asked) = Progress::dialogue();
        let first_declares = first_declares.map(|declared| to_raw(&declared).unwrap());
        let (alice, bob): (Arc<str>, Arc<str>) = ("alice".into(), "bob".into());
        let first = Following::new(&first, Capabilities::new(first_declares.as_deref()), &alice);
        let second = Following::new(&second, Capabilities::new(Some(&declared)), &bob);
        let unheard = Progress::unheard();
        let ours = Following::ours(&unheard);
        let hearing = async {
            for _ in 0..3 {
                outgoing.recv().await.unwrap();
            }
            let meta = named.map_or_else(|| json!({}), |named| json!({ ASKED_FOR: named }));
            let params = json!({ "message": "Name?", "_meta": meta });
            let question =
                json!({ "jsonrpc": "2.0", "id": "s1", "method": "elicitation/create", "params": params });
            channel.deliver(question.to_string().as_bytes(), None);
            tokio::select! {
                Some(question) = second_asked.recv() => {
                    assert!(question.asked.get().contains("Name?"));
                    None
                }
                Some(sent) = outgoing.recv() => Some(String::from_utf8(sent.message).unwrap()),
            }
        };
        let answer = tokio::select! {
            _ = channel.request(1, b"{}".to_vec(), &first) => unreachable!("nobody answers"),
            _ = channel.request(2, b"{}".to_vec(), &second) => unreachable!("nobody answers"),
            _ = channel.request(3, b"{}".to_vec(), &ours) => unreachable!("nobody answers"),
            answer = hearing => answer,
        };
        assert!(first_asked.try_recv().is_err());
        answer
    }

    #[tokio::test]
    async fn a_question_that_names_its_call_reaches_that_call() {
        assert_eq!(check(Some(json!({ "elicitation": {} })), Some(2)).await, None);
    }

    #[tokio::test]
    async fn a_question_of_a_call_that_cannot_be_asked_does_not_reach_another_caller() {
        for named in [None, Some(1)] {
            let sent = check(None, named).await.expect("the server is answered");
            assert!(sent.contains("is not supported here"), "{sent}");
        }
    }
}
