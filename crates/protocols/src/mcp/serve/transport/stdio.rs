//! MCP on a pair of streams, one message a line: what a client starts as a child process.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolmux_core::call::Caller;
use toolmux_core::gateway::Gateway;
use toolmux_core::memory_budget::{COUNTED, Reservation};

use super::conversation::{Conversation, ConversationClient};
use super::server::not_read;
use crate::jsonrpc::RpcMessage;
use crate::mcp::lines::{Line, Lines, Memory};
use crate::mcp::methods;
use crate::mcp::serve::request::{Outlet, Queued};
use crate::mcp::wire::{Fault, INVALID_REQUEST};

/// The longest line.
const LINE_BYTES: usize = 64 << 20;
/// How many requests are answered at a time; more wait to be read.
const MOST_RUNNING: usize = 256;
/// How long requests may still take when the input has ended.
const DRAIN: Duration = Duration::from_secs(2);

/// Answers a client until its input ends, then what it still waits for. Dropping the future cancels all.
pub async fn serve_streams(
    gateway: Arc<Gateway>,
    caller: Caller,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) {
    let (out, messages) = Outlet::channel(gateway.memory());
    let mut writer = JoinSet::new();
    writer.spawn(write(messages, output));
    let memory = Arc::clone(gateway.memory());
    let session = uuid::Uuid::new_v4().simple().to_string().into();
    let client = ConversationClient { caller, session, out, most_requests: MOST_RUNNING };
    let conversation = Conversation::new(gateway, Arc::default(), client);
    let mut lines = Lines::new(input, LINE_BYTES, Memory::default());
    while let Some(line) = lines.next().await {
        match line {
            Line::Whole(text, _) if text.iter().all(u8::is_ascii_whitespace) => {}
            Line::Whole(text, _) => {
                // Counted whether or not it fits: a call of it is refused where its id is known.
                let held = (text.len() >= COUNTED).then(|| memory.hold(text.len()));
                take(&conversation, text, held).await;
            }
            Line::TooLong(_) | Line::NoMemory(_) => {
                let fault =
                    Fault::new(INVALID_REQUEST, format!("A message has more than {LINE_BYTES} bytes"));
                conversation.reply(None, &Err(fault)).await;
            }
        }
    }
    timeout(DRAIN, conversation.finished()).await.ok();
    // With the conversation goes the last sender of messages: the writer ends once it has written those that wait.
    drop(conversation);
    while writer.join_next().await.is_some() {}
}

async fn write(mut messages: mpsc::Receiver<Queued>, mut output: impl AsyncWrite + Unpin) {
    while let Some(message) = messages.recv().await {
        let line = message.text.replace(['\n', '\r'], " ") + "\n";
        if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

async fn take(conversation: &Conversation, text: Vec<u8>, held: Option<Reservation>) {
    match RpcMessage::read(&text) {
        Ok(RpcMessage::Request { id, method, params }) => {
            let mut request = methods::request(id, &method, params);
            request.held = held;
            drop(text);
            // Nothing more is read while the most requests are answered: a client that sends faster waits.
            let permit = conversation.permit().await;
            conversation.answer(request, permit);
        }
        Ok(RpcMessage::Notification { method, params }) => conversation.notified(&method, params),
        Ok(RpcMessage::Answer { id, answer }) => conversation.answered(id, answer),
        Err(error) => conversation.reply(None, &Err(not_read(&error))).await,
    }
}
