//! One request and all that answering it takes, whatever it came by.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use toolmux_core::call::{CallId, Caller};
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::RawJson;
use toolmux_core::memory_budget::{COUNTED, MemoryBudget, Reservation};

use super::session_state::{SessionKey, SessionState};
use crate::jsonrpc;
use crate::mcp::members::Members;
use crate::mcp::revision::Revision;
use crate::mcp::wire::{CAPABILITIES, Capabilities, Fault, LOG_LEVEL, Params, VERSION};

/// How many messages wait for a slow reader before the tool waits too.
const QUEUE: usize = 32;

/// Longer parameters of a call are not held twice while it runs.
const LONG_PARAMS: usize = 256 << 10;

/// Who asks, in which revision.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub(super) caller: Caller,
    pub(super) revision: Revision,
    pub(super) capabilities: Capabilities,
    /// The session of a legacy client: where its answers to our questions come in.
    pub(super) session: Option<SessionKey>,
}

/// What is asked.
#[derive(Debug)]
pub(super) struct RpcRequest {
    pub(super) id: RawJson,
    pub(super) method: String,
    pub(super) params: Option<RawJson>,
    /// Given beside the message: the same again is the same call.
    pub(super) call_id: Option<CallId>,
    /// The caller's trace, when it stands beside the message.
    pub(super) trace: Option<Box<str>>,
    /// What the message takes of the memory for all requests.
    #[expect(dead_code, reason = "held for its drop")]
    pub(super) held: Option<Reservation>,
}

impl RpcRequest {
    pub(super) fn new(id: &RawValue, method: &str, params: Option<&RawValue>) -> Self {
        let params = params.map(ToOwned::to_owned);
        RpcRequest {
            id: id.to_owned(),
            method: method.to_owned(),
            params,
            call_id: None,
            trace: None,
            held: None,
        }
    }

    /// True when messages may have to leave before the answer.
    pub(super) fn may_stream(&self, peer: &Peer, params: &Params<'_>) -> bool {
        let meta = params.meta();
        match self.method.as_str() {
            "tools/call" | "prompts/get" | "resources/read" => {
                meta.progress_token.is_some() || meta.log_level.is_some() || !peer.revision.is_modern()
            }
            "subscriptions/listen" | "tasks/result" => true,
            _ => false,
        }
    }
}

/// A request on its way to an answer.
pub(super) struct Exchange {
    pub(super) gateway: Arc<Gateway>,
    pub(super) session_state: Arc<SessionState>,
    pub(super) peer: Peer,
    pub(super) asked: RpcRequest,
    pub(super) out: Outlet,
}

impl Exchange {
    pub(super) fn params(&self) -> Result<Params<'_>, Fault> {
        Params::read(self.asked.params.as_deref())
    }

    /// From which level on a legacy client wants to hear log lines.
    pub(super) fn level(&self) -> String {
        let set = self.peer.session.as_ref().and_then(|session| self.session_state.level(session));
        set.unwrap_or_else(|| "info".to_owned())
    }

    /// The parameters as a modern client writes them; its own go on as they came.
    pub(super) fn told_whole(&self) -> RawJson {
        match &self.asked.params {
            Some(params) if self.peer.revision.is_modern() => params.clone(),
            _ => self.told(|_| ()),
        }
    }

    /// The parameters as a modern client would have written them: with its capabilities, so that a source
    /// can declare them. `change` may rewrite members.
    pub(super) fn told(&self, change: impl FnOnce(&mut Members<'_>)) -> RawJson {
        let mut members = Members::read_or_empty(self.asked.params.as_deref());
        let meta = members.get("_meta").map(ToOwned::to_owned);
        if !self.peer.revision.is_modern() {
            let mut meta = Members::read_or_empty(meta.as_deref());
            if let Some(declared) = self.peer.capabilities.declared() {
                meta.put_raw(CAPABILITIES, declared.to_owned());
            }
            if self.out.is_open() {
                meta.put(LOG_LEVEL, &self.level());
            }
            members.put_raw("_meta", meta.write());
        }
        change(&mut members);
        members.write()
    }

    /// The same for a call: without its arguments where they are long, because it has them already. Their place
    /// stays.
    pub(super) fn told_call(&self) -> RawJson {
        if self.has_long_params() {
            return self.told(|members| {
                if members.has("arguments") {
                    members.put_raw("arguments", RawJson::default());
                }
            });
        }
        self.told_whole()
    }

    /// Frees the arguments of a call that was read, where they are long.
    pub(super) fn free_arguments(&mut self) {
        if self.has_long_params() {
            let mut members = Members::read_or_empty(self.asked.params.as_deref());
            members.remove("arguments");
            self.asked.params = Some(members.write());
        }
    }

    fn has_long_params(&self) -> bool {
        self.asked.params.as_ref().is_some_and(|params| params.get().len() > LONG_PARAMS)
    }

    /// The same for a call that runs as a task: its questions are put where the task is followed, never by a
    /// result, and a task of ours is no task of the source's.
    pub(super) fn told_of_task(&self) -> RawJson {
        self.told(|members| {
            let meta = members.get("_meta").map(ToOwned::to_owned);
            let mut meta = Members::read_or_empty(meta.as_deref());
            meta.remove(VERSION);
            members.put_raw("_meta", meta.write());
            members.remove("task");
            // It is kept beside the task, which has the arguments already.
            members.remove("arguments");
        })
    }
}

/// Where messages leave before the answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Outlet {
    sender: Option<mpsc::Sender<Queued>>,
    /// What counts long messages that wait; absent where nothing is sent.
    memory: Option<Arc<MemoryBudget>>,
    shared: bool,
}

/// A message that waits to leave, with what a long one takes of the memory for all requests.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) text: Box<str>,
    _held: Option<Reservation>,
}

impl Outlet {
    pub(super) fn channel(memory: &Arc<MemoryBudget>) -> (Self, mpsc::Receiver<Queued>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Outlet { sender: Some(sender), memory: Some(Arc::clone(memory)), shared: false }, receiver)
    }

    /// Counted whether or not it fits: what it says has happened already, and what comes next is refused instead.
    fn queued(&self, text: Box<str>) -> Queued {
        let memory = self.memory.as_ref().filter(|_| text.len() >= COUNTED);
        Queued { _held: memory.map(|memory| memory.hold(text.len())), text }
    }

    /// The same for a pair of streams that all requests share.
    pub(super) fn shared(self) -> Self {
        Outlet { shared: true, ..self }
    }

    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    pub(super) fn is_open(&self) -> bool {
        self.sender.is_some()
    }

    /// Sends a message; waits when the reader is slow.
    pub(super) async fn send(&self, message: impl Into<Box<str>>) {
        if let Some(sender) = &self.sender {
            // A reader that left ends the exchange by other means.
            sender.send(self.queued(message.into())).await.ok();
        }
    }

    /// Sends a message unless that takes waiting; false when it does, or when nobody reads.
    pub(super) fn try_send(&self, message: impl Into<Box<str>>) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.try_send(self.queued(message.into())).is_ok())
    }

    pub(super) async fn notify(&self, method: &str, params: &RawValue) {
        if self.is_open() {
            self.send(jsonrpc::ask(None, method, Some(params.get()))).await;
        }
    }
}
