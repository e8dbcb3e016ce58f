//! Requests on a shared connection that wait for their answers. A request is known by its entry here, and whoever removes
//! the entry decides how the request ends: the reader with the answer, whoever cuts it with the reason why there is
//! none, or its caller by leaving. All of it happens under one lock, so that only one of them can.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use toolmux_core::json_text::RawJson;
use toolmux_core::memory_budget::Reservation;
use toolmux_core::ports::source::Relayed;

use super::follow::Following;
use super::outgoing::Cut;
use super::pending_callers::{Candidate, meant};

/// How many notifications about one request wait; a flood loses the rest.
pub(super) const EVENT_QUEUE: usize = 64;

/// How a request ended: with an answer and what that takes of the memory for all requests, or without.
pub(super) type Ended = Result<(Relayed, Option<Reservation>), Cut>;

#[derive(Debug, Default)]
pub(super) struct PendingRequests(Mutex<HashMap<u64, Pending>>);

#[derive(Debug)]
struct Pending {
    answer: oneshot::Sender<Ended>,
    events: mpsc::Sender<ServerEvent>,
    /// Its writing has begun: from then on the server may have read it.
    sent: bool,
    /// Somebody wants to hear of its progress.
    is_followed: bool,
    /// Who asks; none for a request of our own.
    caller: Option<Arc<str>>,
    /// The caller can be asked.
    can_be_asked: bool,
    /// Questions it was asked and has not answered yet.
    unanswered: usize,
}

/// What the server sends about a request before it answers it.
#[derive(Debug)]
pub(super) struct ServerEvent {
    /// Present when the server wants an answer.
    pub(super) id: Option<RawJson>,
    pub(super) method: String,
    pub(super) params: Option<RawJson>,
}

/// Where a caller waits for its answer.
pub(super) struct PendingAnswer {
    pub(super) ended: oneshot::Receiver<Ended>,
    pub(super) events: mpsc::Receiver<ServerEvent>,
}

impl PendingRequests {
    pub(super) fn add(&self, id: u64, following: &Following<'_>) -> PendingAnswer {
        let ((answer, ended), (sender, events)) = (oneshot::channel(), mpsc::channel(EVENT_QUEUE));
        let (is_followed, caller) = (following.hears(), following.caller.cloned());
        let can_be_asked = caller.is_some() && following.answers();
        let pending =
            Pending { answer, events: sender, sent: false, is_followed, caller, can_be_asked, unanswered: 0 };
        self.locked(|all| all.insert(id, pending));
        PendingAnswer { ended, events }
    }

    /// Its caller does not wait any more.
    pub(super) fn remove(&self, id: u64) {
        self.locked(|all| all.remove(&id));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.locked(|all| all.is_empty())
    }

    /// Notes that the writing of a request begins; false when nobody waits for its answer any more. Looked up and marked
    /// under one lock, so that no caller is told "not sent" of a request whose writing has begun.
    pub(super) fn begin_writing(&self, id: u64) -> bool {
        self.locked(|all| all.get_mut(&id).map(|pending| pending.sent = true).is_some())
    }

    /// Hands an answer to whoever waits for it; false when nobody does.
    pub(super) fn answer(
        &self,
        id: u64,
        answer: Result<&RawValue, &RawValue>,
        held: Option<Reservation>,
    ) -> bool {
        let Some(pending) = self.locked(|all| all.remove(&id)) else { return false };
        let answer = answer.map(ToOwned::to_owned).map_err(ToOwned::to_owned);
        pending.answer.send(Ok((answer, held))).ok();
        true
    }

    /// Tells the caller of a request that it gets no answer.
    pub(super) fn cut(&self, id: u64, why: Cut) {
        if let Some(pending) = self.locked(|all| all.remove(&id)) {
            pending.answer.send(Err(why)).ok();
        }
    }

    /// Tells every caller that it gets no answer, and whether its request can have been read.
    pub(super) fn cut_all(&self) {
        for (_, pending) in self.locked(std::mem::take) {
            let cut = if pending.sent { Cut::Ended } else { Cut::NotSent };
            pending.answer.send(Err(cut)).ok();
        }
    }

    /// Passes an event on to the caller of a request. Without waiting: a caller that is slow to follow must not stop the
    /// reader, which reads for all of them. What does not fit into its queue is lost to that caller alone.
    pub(super) fn pass_on(&self, id: u64, event: ServerEvent) {
        self.locked(|all| all.get(&id).map(|pending| pending.events.try_send(event).ok()));
    }

    /// The same where nothing says which request it is about: with one follower there is no doubt, with more nobody
    /// gets it.
    pub(super) fn pass_to_only_follower(&self, event: ServerEvent) {
        self.locked(|all| {
            let mut following = all.values().filter(|pending| pending.is_followed);
            if let (Some(only), None) = (following.next(), following.next()) {
                only.events.try_send(event).ok();
            }
        });
    }

    /// Hands a question to the request that it names, or else to the one that [`meant`] finds; false when nobody can be
    /// asked. Chosen, handed over and counted under one lock: with a caller that comes or leaves in between, another
    /// request could be the one that is meant.
    pub(super) fn ask(&self, named: Option<u64>, question: ServerEvent) -> bool {
        self.locked(|all| {
            let candidates = all.iter().filter_map(|(id, pending)| {
                let (can_be_asked, unanswered) = (pending.can_be_asked, pending.unanswered);
                Some(Candidate { key: *id, caller: pending.caller.as_ref()?, can_be_asked, unanswered })
            });
            let asked = named.or_else(|| meant(candidates)).and_then(|id| all.get_mut(&id));
            let Some(asked) = asked.filter(|pending| pending.can_be_asked) else { return false };
            let taken = asked.events.try_send(question).is_ok();
            asked.unanswered += usize::from(taken);
            taken
        })
    }

    /// The caller of a request answered a question.
    pub(super) fn question_answered(&self, id: u64) {
        self.locked(|all| all.get_mut(&id).map(|pending| pending.unanswered -= 1));
    }

    fn locked<T>(&self, change: impl FnOnce(&mut HashMap<u64, Pending>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
