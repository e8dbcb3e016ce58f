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

use crate::mcp::methods;
use crate::mcp::revision::Revision;
use crate::mcp::serve::methods::{initialize, listen};
use crate::mcp::serve::request::{
    ClientNotification, Exchange, Opens, Outlet, Peer, RpcRequest, SessionKey, SessionState, Streams, era,
};
use crate::mcp::wire::{self, Capabilities, Fault, Reply};

/// A request may be answered as long as this is held.
pub(in crate::mcp) type RequestPermit = OwnedSemaphorePermit;

/// Who is answered.
pub(in crate::mcp) struct ConversationClient {
    pub(in crate::mcp) caller: Caller,
    /// Must be no other conversation's.
    pub(in crate::mcp) session: Arc<str>,
    pub(in crate::mcp) out: Outlet,
    /// How many requests are answered at a time.
    pub(in crate::mcp) most_requests: usize,
}

/// Dropping it cancels everything that it still runs.
pub(in crate::mcp) struct Conversation {
    gateway: Arc<Gateway>,
    session_state: Arc<SessionState>,
    session: SessionKey,
    pub(in crate::mcp) caller: Caller,
    /// Who asks in the handshake era, as far as it has introduced itself.
    legacy: Mutex<Peer>,
    out: Outlet,
    permits: Arc<Semaphore>,
    running: TaskTracker,
    /// What ends only with the conversation.
    followers: TaskTracker,
    is_followed: AtomicBool,
    ends: CancellationToken,
}

impl Conversation {
    pub(in crate::mcp) fn new(
        gateway: Arc<Gateway>,
        session_state: Arc<SessionState>,
        client: ConversationClient,
    ) -> Self {
        let ConversationClient { caller, session, out, most_requests } = client;
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
            permits: Arc::new(Semaphore::new(most_requests.min(Semaphore::MAX_PERMITS))),
            running: TaskTracker::new(),
            followers: TaskTracker::new(),
            is_followed: AtomicBool::new(false),
            ends: CancellationToken::new(),
        }
    }

    /// Waits until one more request may be answered.
    pub(in crate::mcp) async fn permit(&self) -> RequestPermit {
        Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed")
    }

    /// The same for who does not wait.
    pub(in crate::mcp) fn try_permit(&self) -> Option<RequestPermit> {
        Arc::clone(&self.permits).try_acquire_owned().ok()
    }

    /// Answers a request in the background. One that its client cancels gets no answer.
    pub(in crate::mcp) fn answer(&self, mut request: RpcRequest, permit: RequestPermit) {
        if request.method.opens == Opens::Session {
            return self.initialize(&request, permit);
        }
        let (id, out) = (request.id.clone(), self.out.clone());
        let peer = match era::headless(&mut request, &self.caller) {
            Ok(peer) => peer.unwrap_or_else(|| self.peer()),
            Err(fault) => return self.send(text(Some(&id), &Err(fault)), permit),
        };
        let ends_with_conversation = request.method.streams == Streams::UntilClosed;
        // Begun before the task runs, so that a cancellation that comes next always finds it.
        let begun = self.session_state.begin(&self.gateway, &self.session, &id);
        let (gateway, session_state) = (Arc::clone(&self.gateway), Arc::clone(&self.session_state));
        let exchange = Exchange::new(gateway, session_state, peer, request, self.out.clone());
        let answering = async move {
            if let Some(reply) = begun.token.run_until_cancelled(methods::answer(exchange)).await {
                out.send(text(Some(&id), &reply)).await;
            }
            drop(permit);
        };
        self.spawn(if ends_with_conversation { &self.followers } else { &self.running }, answering);
    }

    pub(in crate::mcp) fn notified(&self, method: &str, params: Option<&RawValue>) {
        match ClientNotification::read(method, params) {
            Some(ClientNotification::Cancelled(id)) => self.session_state.cancel(&self.session, id),
            // Once, however often a client says it.
            Some(ClientNotification::Initialized) if !self.is_followed.swap(true, Ordering::Relaxed) => {
                let (gateway, session_state) = (Arc::clone(&self.gateway), Arc::clone(&self.session_state));
                let (peer, out) = (self.peer(), self.out.clone());
                self.spawn(&self.followers, async move {
                    listen::follow_all(&gateway, &session_state, &peer, &out).await;
                });
            }
            Some(ClientNotification::Initialized) | None => {}
        }
    }

    /// The client answered a question of ours, or refused to.
    pub(in crate::mcp) fn answered(&self, id: &RawValue, answer: Result<&RawValue, &RawValue>) {
        self.session_state.answered(&self.session, id, answer);
    }

    pub(in crate::mcp) async fn reply(&self, id: Option<&RawValue>, reply: &Reply) {
        self.out.send(text(id, reply)).await;
    }

    /// The same for who does not wait; false when the reader is too slow for it.
    pub(in crate::mcp) fn try_reply(&self, id: &RawValue, fault: Fault) -> bool {
        self.out.try_send(text(Some(id), &Err(fault)))
    }

    /// Waits until every request is answered.
    pub(in crate::mcp) async fn finished(&self) {
        self.running.close();
        self.running.wait().await;
    }

    /// Cancels everything that still runs, and ends the session.
    pub(in crate::mcp) fn end(&self) {
        self.ends.cancel();
        self.session_state.end(&self.gateway, &self.session);
    }

    fn initialize(&self, request: &RpcRequest, permit: RequestPermit) {
        let (revision, capabilities) = initialize::proposal(request);
        // Set before the task runs: a request that comes next is one of the revision agreed on, whichever task is first.
        let peer = {
            let mut legacy = self.legacy.lock().unwrap_or_else(PoisonError::into_inner);
            (legacy.revision, legacy.capabilities) = (revision, capabilities);
            legacy.clone()
        };
        let (id, out, gateway) = (request.id.clone(), self.out.clone(), Arc::clone(&self.gateway));
        self.spawn(&self.running, async move {
            let reply = initialize::answer(&gateway, &peer).await;
            out.send(text(Some(&id), &reply)).await;
            drop(permit);
        });
    }

    fn send(&self, text: String, permit: RequestPermit) {
        let out = self.out.clone();
        self.spawn(&self.running, async move {
            out.send(text).await;
            drop(permit);
        });
    }

    /// Every task ends with the conversation, whoever waits for it meanwhile.
    fn spawn(&self, tracker: &TaskTracker, work: impl Future<Output = ()> + Send + 'static) {
        let ends = self.ends.clone();
        tracker.spawn(async move { ends.run_until_cancelled(work).await });
    }

    fn peer(&self) -> Peer {
        self.legacy.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
