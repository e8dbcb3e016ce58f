//! A connection that carries messages both ways, with many requests on it at a time: a child's standard
//! streams, or the old HTTP+SSE.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use toolmux_core::answer_memory::{self, NoMemory};
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::memory_budget::Reservation;
use toolmux_core::ports::source::Relayed;

use super::follow::{Following, unasked};
use super::outgoing::{Cut, Outgoing, reply};
use super::pending_callers::{Candidate, meant};
use crate::jsonrpc::{self, Message};
use crate::mcp::lines::Memory;
use crate::mcp::members::Members;
use crate::mcp::wire::{ASKED_FOR, SUBSCRIPTION};

/// How many messages wait to be written.
const OUT_QUEUE: usize = 256;
/// How many notifications about one request wait; a flood loses the rest.
const EVENT_QUEUE: usize = 64;

#[derive(Debug)]
pub(super) struct MessageChannel {
    next: AtomicU64,
    pending: Mutex<HashMap<u64, Pending>>,
    out: mpsc::Sender<Outgoing>,
    /// Wakes when the server tells of changed lists.
    pub(super) changed: Notify,
    /// What a server of the handshake era tells of resources that changed.
    pub(super) updated: broadcast::Sender<RawJson>,
    /// Lines that were no messages, and answers nobody waited for.
    pub(super) noise: AtomicU64,
    /// What counts answers, as soon as a call was sent.
    pub(super) memory: Memory,
    closed: CancellationToken,
}

#[derive(Debug)]
struct Pending {
    answer: oneshot::Sender<Result<(Relayed, Option<Reservation>), Cut>>,
    events: mpsc::Sender<Event>,
    /// Its writing has begun.
    sent: bool,
    /// Somebody follows the request.
    hears: bool,
    /// Who asks; none for a request of our own.
    caller: Option<Arc<str>>,
    /// The caller can be asked.
    can_be_asked: bool,
    /// Questions it was asked and has not answered yet.
    unanswered: usize,
}

#[derive(Debug)]
struct Event {
    /// Present when the server wants an answer.
    id: Option<RawJson>,
    method: String,
    params: Option<RawJson>,
}

impl MessageChannel {
    /// A line, and what is to be written on it.
    pub(super) fn new() -> (Arc<Self>, mpsc::Receiver<Outgoing>) {
        let (out, written) = mpsc::channel(OUT_QUEUE);
        let line = MessageChannel {
            next: AtomicU64::new(1),
            pending: Mutex::default(),
            out,
            changed: Notify::new(),
            updated: broadcast::Sender::new(EVENT_QUEUE),
            noise: AtomicU64::new(0),
            memory: Memory::default(),
            closed: CancellationToken::new(),
        };
        (Arc::new(line), written)
    }

    /// The id of the next request; it is the token of its progress too.
    pub(super) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Ends the line: whoever waits is told whether the request can have been read.
    pub(super) fn close(&self) {
        self.closed.cancel();
        for (_, pending) in self.pending(std::mem::take) {
            let cut = if pending.sent { Cut::Ended } else { Cut::NotSent };
            pending.answer.send(Err(cut)).ok();
        }
        self.changed.notify_waiters();
    }

    /// Says that a message is about to be written; false when it must not be. A request is written only while somebody
    /// waits for its answer: after that, its sender may have been told that it was not sent.
    pub(super) fn begins(&self, message: &Outgoing) -> bool {
        let Some(id) = message.request else { return true };
        self.pending(|all| all.get_mut(&id).map(|pending| pending.sent = true).is_some())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    pub(super) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending(|pending| pending.is_empty())
    }

    /// Sends a request with this id and waits for its answer. Dropping the future tells the server that nobody waits.
    pub(super) async fn request(
        &self,
        id: u64,
        text: String,
        following: &Following<'_>,
    ) -> Result<Relayed, Cut> {
        if self.memory.get().is_none()
            && let Some(budget) = answer_memory::budget()
        {
            self.memory.set(budget).ok();
        }
        let (answer, mut answered) = oneshot::channel();
        let (events, mut told) = mpsc::channel(EVENT_QUEUE);
        self.pending(|pending| {
            let (hears, caller) = (following.hears(), following.caller.cloned());
            let can_be_asked = caller.is_some() && following.answers();
            pending.insert(
                id,
                Pending { answer, events, sent: false, hears, caller, can_be_asked, unanswered: 0 },
            )
        });
        let mut waiting = Waiting { line: self, id, sent: false };
        if self.is_closed() || self.out.send(Outgoing { text, request: Some(id) }).await.is_err() {
            return Err(Cut::NotSent);
        }
        waiting.sent = true;
        let mut questions = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(event) = told.recv() => match event.id {
                    None => following.heard(&event.method, event.params.as_deref()).await,
                    Some(id) => questions.push(async move {
                        (id, following.asked(&event.method, event.params.as_deref()).await)
                    }),
                },
                Some((to, said)) = questions.next() => {
                    self.pending(|all| all.get_mut(&id).map(|one| one.unanswered -= 1));
                    self.answer(&to, &said).await;
                }
                answer = &mut answered => {
                    waiting.sent = false;
                    return taken_over(answer.unwrap_or(Err(Cut::Ended)));
                }
            }
        }
    }

    pub(super) async fn notify(&self, method: &str, params: Option<&RawValue>) {
        let text = jsonrpc::ask(None, method, params.map(RawValue::get));
        self.out.send(Outgoing::unanswered(text)).await.ok();
    }

    /// Takes a message of the server's, and what it takes of the memory for all requests.
    pub(super) fn deliver(&self, text: &[u8], held: Option<Reservation>) {
        match Message::read(text) {
            Ok(Message::Answer { id, answer }) => {
                let pending = id.get().parse().ok().and_then(|id: u64| self.pending(|all| all.remove(&id)));
                match pending {
                    Some(pending) => {
                        let said = answer.map(ToOwned::to_owned).map_err(ToOwned::to_owned);
                        pending.answer.send(Ok((said, held))).ok();
                    }
                    None => self.noted(),
                }
            }
            Ok(Message::Notification { method, params }) => self.noticed(&method, params),
            Ok(Message::Request { id, method, params }) => self.asked(id, &method, params),
            Err(_) => self.noted(),
        }
    }

    /// Tells the sender of a request that it gets no answer.
    pub(super) fn cut(&self, request: u64, why: Cut) {
        if let Some(pending) = self.pending(|all| all.remove(&request)) {
            pending.answer.send(Err(why)).ok();
        }
    }

    /// A message that could not be kept: its two ends may say whose answer it was.
    pub(super) fn deliver_ends(&self, ends: &[u8], why: Cut) {
        self.noted();
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

    fn noted(&self) {
        self.noise.fetch_add(1, Ordering::Relaxed);
    }

    fn noticed(&self, method: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Token {
            progress_token: u64,
        }
        let event = || Event { id: None, method: method.to_owned(), params: params.map(ToOwned::to_owned) };
        match method {
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed" => self.changed.notify_one(),
            "notifications/progress" => {
                let token = params.and_then(|params| serde_json::from_str(params.get()).ok());
                if let Some(Token { progress_token }) = token {
                    self.pending(|all| all.get(&progress_token).map(|to| to.events.try_send(event()).ok()));
                }
            }
            "notifications/resources/updated" => match meta_number(params, SUBSCRIPTION) {
                Some(id) => {
                    self.pending(|all| all.get(&id).map(|to| to.events.try_send(event()).ok()));
                }
                None => {
                    self.updated.send(params.map(ToOwned::to_owned).unwrap_or_default()).ok();
                }
            },
            // Nothing says whose log line it is: with one follower on the line there is no doubt.
            "notifications/message" => self.pending(|all| {
                let mut following = all.values().filter(|one| one.hears);
                if let (Some(only), None) = (following.next(), following.next()) {
                    only.events.try_send(event()).ok();
                }
            }),
            _ => {}
        }
    }

    /// Only servers of our own kind say whose call a question belongs to; for any other, [`meant`] decides.
    fn asked(&self, id: &RawValue, method: &str, params: Option<&RawValue>) {
        if method == "ping" {
            return self.reply_now(id, &Ok(to_raw(&serde_json::json!({})).expect("an object is writable")));
        }
        let event = Event {
            id: Some(id.to_owned()),
            method: method.to_owned(),
            params: params.map(ToOwned::to_owned),
        };
        let named = meta_number(params, ASKED_FOR);
        let taken = self.pending(|all| {
            let candidates = all.iter().filter_map(|(id, one)| {
                let (can_be_asked, unanswered) = (one.can_be_asked, one.unanswered);
                Some(Candidate { key: *id, caller: one.caller.as_ref()?, can_be_asked, unanswered })
            });
            let asked = named.or_else(|| meant(candidates)).and_then(|id| all.get_mut(&id));
            let Some(asked) = asked.filter(|one| one.can_be_asked) else { return false };
            let taken = asked.events.try_send(event).is_ok();
            asked.unanswered += usize::from(taken);
            taken
        });
        if !taken {
            self.reply_now(id, &unasked(method));
        }
    }

    fn reply_now(&self, id: &RawValue, said: &Relayed) {
        // A server that asks faster than it reads gets no answers.
        self.out.try_send(Outgoing::unanswered(reply(id, said))).ok();
    }

    async fn answer(&self, id: &RawValue, said: &Relayed) {
        self.out.send(Outgoing::unanswered(reply(id, said))).await.ok();
    }

    fn pending<T>(&self, read: impl FnOnce(&mut HashMap<u64, Pending>) -> T) -> T {
        read(&mut self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An answer; what it takes of the memory for all requests is the call's from now on.
fn taken_over(answer: Result<(Relayed, Option<Reservation>), Cut>) -> Result<Relayed, Cut> {
    let (answer, held) = match answer {
        Ok((said, held)) => (Ok(said), Ok(held)),
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
    line: &'a MessageChannel,
    id: u64,
    sent: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.line.pending(|pending| pending.remove(&self.id));
        if self.sent && !self.line.is_closed() {
            let params = to_raw(&serde_json::json!({ "requestId": self.id })).expect("an object is writable");
            let text = jsonrpc::ask(None, "notifications/cancelled", Some(params.get()));
            // With a full queue the server hears nothing anyway.
            self.line.out.try_send(Outgoing::unanswered(text)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolmux_core::progress::Progress;

    use super::*;
    use crate::mcp::wire::Capabilities;

    /// Sends a question while a list and two callers wait, of whom the second can be asked for `elicitation` and the
    /// first for what it declares; gives what the server is answered, or none when the second caller is asked.
    async fn check(first_declares: Option<Value>, named: Option<u64>) -> Option<String> {
        let (line, mut written) = MessageChannel::new();
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
                written.recv().await.unwrap();
            }
            let meta = named.map_or_else(|| json!({}), |named| json!({ ASKED_FOR: named }));
            let params = json!({ "message": "Name?", "_meta": meta });
            let question =
                json!({ "jsonrpc": "2.0", "id": "s1", "method": "elicitation/create", "params": params });
            line.deliver(question.to_string().as_bytes(), None);
            tokio::select! {
                Some(question) = second_asked.recv() => {
                    assert!(question.asked.get().contains("Name?"));
                    None
                }
                Some(told) = written.recv() => Some(told.text),
            }
        };
        let answer = tokio::select! {
            _ = line.request(1, "{}".to_owned(), &first) => unreachable!("nobody answers"),
            _ = line.request(2, "{}".to_owned(), &second) => unreachable!("nobody answers"),
            _ = line.request(3, "{}".to_owned(), &ours) => unreachable!("nobody answers"),
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
            let told = check(None, named).await.expect("the server is answered");
            assert!(told.contains("Nobody here answers"), "{told}");
        }
    }
}
