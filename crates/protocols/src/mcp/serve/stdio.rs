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

use super::conversation::Conversation;
use super::exchange::{Outlet, Queued, RpcRequest};
use crate::jsonrpc::{Message, NotAMessage};
use crate::mcp::lines::{Line, Lines, Memory};
use crate::mcp::wire::{Fault, INVALID_REQUEST, PARSE_ERROR};

/// The longest line.
const LINE_BYTES: usize = 64 << 20;
/// How many requests are answered at a time; more wait to be read.
const MOST_RUNNING: usize = 256;
/// How long requests may still take when the input has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

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
    let conversation = Conversation::new(gateway, Arc::default(), caller, session, (out, MOST_RUNNING));
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
    timeout(LAST_WORDS, conversation.finished()).await.ok();
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
    match Message::read(&text) {
        Ok(Message::Request { id, method, params }) => {
            let asked = RpcRequest { held, ..RpcRequest::new(id, &method, params) };
            drop(text);
            let place = conversation.place().await;
            conversation.ask(asked, place);
        }
        Ok(Message::Notification { method, params }) => conversation.noticed(&method, params),
        Ok(Message::Answer { id, answer }) => conversation.answered(id, answer),
        Err(error) => {
            let code = match error {
                NotAMessage::NotJson(_) => PARSE_ERROR,
                NotAMessage::NotRpc => INVALID_REQUEST,
            };
            conversation.reply(None, &Err(Fault::new(code, error.to_string()))).await;
        }
    }
}
