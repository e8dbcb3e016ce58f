//! One client whose messages all share one way back: the pair of streams of a child process, or the stream of
//! events of HTTP+SSE. What it asks is answered in the background, a bounded number of requests at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolmux_core::call::Caller;
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::raw_of;

use super::exchange::{Exchange, Outlet, Peer, RpcRequest};
use super::session_state::{SessionKey, SessionState};
use super::{era, listen, methods};
use crate::mcp::revision::Revision;
use crate::mcp::wire::{self, Capabilities, Fault, Reply, text_of};

/// A request may be answered as long as this is held.
pub(super) type RequestPermit = OwnedSemaphorePermit;

/// Dropping it cancels everything that it still runs.
pub(super) struct Conversation {
    gateway: Arc<Gateway>,
    session_state: Arc<SessionState>,
    session: SessionKey,
    pub(super) caller: Caller,
    /// Who asks in the handshake era, as far as it has introduced itself.
    legacy: Mutex<Peer>,
    out: Outlet,
    places: Arc<Semaphore>,
    running: TaskTracker,
    /// What ends only with the conversation.
    followers: TaskTracker,
    follows: AtomicBool,
    ends: CancellationToken,
}

impl Conversation {
    /// `session` must be no other conversation's; `most` requests are answered at a time.
    pub(super) fn new(
        gateway: Arc<Gateway>,
        session_state: Arc<SessionState>,
        caller: Caller,
        session: Arc<str>,
        (out, most): (Outlet, usize),
    ) -> Self {
        let session = SessionKey { caller: caller.name().into(), id: session };
        let legacy = Peer {
            caller: caller.clone(),
            revision: Revision::LEGACY,
            capabilities: Capabilities::default(),
            session: Some(session.clone()),
        };
        Conversation {
            gateway,
            session_state,
            session,
            caller,
            legacy: Mutex::new(legacy),
            out: out.shared(),
            places: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            running: TaskTracker::new(),
            followers: TaskTracker::new(),
            follows: AtomicBool::new(false),
            ends: CancellationToken::new(),
        }
    }

    /// Waits until one more request may be answered.
    pub(super) async fn place(&self) -> RequestPermit {
        Arc::clone(&self.places).acquire_owned().await.expect("the semaphore is never closed")
    }

    /// The same for who does not wait.
    pub(super) fn try_place(&self) -> Option<RequestPermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Answers a request in the background. One that its client cancels gets no answer.
    pub(super) fn ask(&self, asked: RpcRequest, place: RequestPermit) {
        if asked.method == "initialize" {
            return self.initialize(asked, place);
        }
        let (id, out) = (asked.id.clone(), self.out.clone());
        let peer = match era::headless(&asked, &self.caller) {
            Ok(peer) => peer.unwrap_or_else(|| self.peer()),
            Err(fault) => return self.send(text(Some(&id), &Err(fault)), place),
        };
        let listens = asked.method == "subscriptions/listen";
        // Begun before the task runs, so that a cancellation that comes next always finds it.
        let begun = self.session_state.begin(&self.gateway, &self.session, &id);
        let exchange = self.exchange(peer, asked);
        let answering = async move {
            if let Some(reply) = begun.token.run_until_cancelled(methods::answer(exchange)).await {
                out.send(text(Some(&id), &reply)).await;
            }
            drop(place);
        };
        self.spawn(if listens { &self.followers } else { &self.running }, answering);
    }

    pub(super) fn noticed(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/cancelled" => {
                if let Some(id) = methods::cancelled(params) {
                    self.session_state.cancel(&self.session, id);
                }
            }
            "notifications/initialized" if !self.follows.swap(true, Ordering::Relaxed) => {
                let (gateway, session_state) = (Arc::clone(&self.gateway), Arc::clone(&self.session_state));
                let (peer, out) = (self.peer(), self.out.clone());
                self.spawn(&self.followers, async move {
                    listen::follow_all(&gateway, &session_state, &peer, &out).await;
                });
            }
            _ => {}
        }
    }

    /// The client answered a question of ours, or refused to.
    pub(super) fn answered(&self, id: &RawValue, answer: Result<&RawValue, &RawValue>) {
        self.session_state.answered(&self.session, id, answer);
    }

    pub(super) async fn reply(&self, id: Option<&RawValue>, reply: &Reply) {
        self.out.send(text(id, reply)).await;
    }

    /// The same for who does not wait; false when the reader is too slow for it.
    pub(super) fn try_reply(&self, id: &RawValue, fault: Fault) -> bool {
        self.out.try_send(text(Some(id), &Err(fault)))
    }

    /// Waits until every request is answered.
    pub(super) async fn finished(&self) {
        self.running.close();
        self.running.wait().await;
    }

    /// Cancels everything that still runs, and ends the session.
    pub(super) fn end(&self) {
        self.ends.cancel();
        self.session_state.end(&self.gateway, &self.session);
    }

    fn initialize(&self, asked: RpcRequest, place: RequestPermit) {
        let (revision, capabilities) = methods::proposal(&asked);
        let peer = {
            let mut legacy = self.legacy.lock().unwrap_or_else(PoisonError::into_inner);
            (legacy.revision, legacy.capabilities) = (revision, capabilities);
            legacy.clone()
        };
        let (id, out) = (asked.id.clone(), self.out.clone());
        let exchange = self.exchange(peer, asked);
        self.spawn(&self.running, async move {
            // What there is beside tools is known only once sources have listed it.
            exchange.gateway.sources().wait_until_started().await;
            let result = text_of(raw_of(&methods::initialized(&exchange)));
            out.send(text(Some(&id), &Ok(result))).await;
            drop(place);
        });
    }

    fn send(&self, text: String, place: RequestPermit) {
        let out = self.out.clone();
        self.spawn(&self.running, async move {
            out.send(text).await;
            drop(place);
        });
    }

    fn spawn(&self, tracker: &TaskTracker, work: impl Future<Output = ()> + Send + 'static) {
        let ends = self.ends.clone();
        tracker.spawn(async move { ends.run_until_cancelled(work).await });
    }

    fn peer(&self) -> Peer {
        self.legacy.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn exchange(&self, peer: Peer, asked: RpcRequest) -> Exchange {
        let (gateway, session_state) = (Arc::clone(&self.gateway), Arc::clone(&self.session_state));
        Exchange { gateway, session_state, peer, asked, out: self.out.clone() }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.end();
    }
}

fn text(id: Option<&RawValue>, reply: &Reply) -> String {
    String::from_utf8_lossy(&wire::reply(id, reply)).into_owned()
}
