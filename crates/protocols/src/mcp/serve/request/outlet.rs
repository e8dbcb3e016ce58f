//! Where messages leave before the answer: a bounded queue that a transport empties.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use toolmux_core::memory_budget::{COUNTED, MemoryBudget, Reservation};

use crate::jsonrpc;

/// How many messages wait for a slow reader before the tool waits too.
const QUEUE: usize = 32;

#[derive(Clone, Debug, Default)]
pub(in crate::mcp) struct Outlet {
    sender: Option<mpsc::Sender<Queued>>,
    /// What counts long messages that wait; absent where nothing is sent.
    memory: Option<Arc<MemoryBudget>>,
    shared: bool,
}

/// A message that waits to leave, with what a long one takes of the memory for all requests.
#[derive(Debug)]
pub(in crate::mcp) struct Queued {
    pub(in crate::mcp) text: Box<str>,
    _held: Option<Reservation>,
}

impl Outlet {
    pub(in crate::mcp) fn channel(memory: &Arc<MemoryBudget>) -> (Self, mpsc::Receiver<Queued>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Outlet { sender: Some(sender), memory: Some(Arc::clone(memory)), shared: false }, receiver)
    }

    /// Counted whether or not it fits: what it says has happened already, and what comes next is refused instead.
    fn queued(&self, text: Box<str>) -> Queued {
        let memory = self.memory.as_ref().filter(|_| text.len() >= COUNTED);
        Queued { _held: memory.map(|memory| memory.hold(text.len())), text }
    }

    /// The same for a connection that all requests of a client share.
    pub(in crate::mcp) fn shared(self) -> Self {
        Outlet { shared: true, ..self }
    }

    pub(in crate::mcp) fn is_shared(&self) -> bool {
        self.shared
    }

    pub(in crate::mcp) fn is_open(&self) -> bool {
        self.sender.is_some()
    }

    /// Sends a message; waits when the reader is slow.
    pub(in crate::mcp) async fn send(&self, message: impl Into<Box<str>>) {
        if let Some(sender) = &self.sender {
            // A reader that left ends the exchange by other means.
            sender.send(self.queued(message.into())).await.ok();
        }
    }

    /// Sends a message unless that takes waiting; false when it does, or when nobody reads.
    pub(in crate::mcp) fn try_send(&self, message: impl Into<Box<str>>) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.try_send(self.queued(message.into())).is_ok())
    }

    pub(in crate::mcp) async fn notify(&self, method: &str, params: &RawValue) {
        if self.is_open() {
            self.send(jsonrpc::ask(None, method, Some(params.get()))).await;
        }
    }
}
