//! MCP on a pair of streams, one message a line: what a client starts as a child process.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolmux_core::call::Caller;
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::raw_of;

use super::desk::Desk;
use super::exchange::{Asked, Exchange, Outlet, Peer};
use super::{ladder, listen, methods};
use crate::jsonrpc::{Message, NotAMessage};
use crate::mcp::lines::{Line, Lines};
use crate::mcp::revision::Revision;
use crate::mcp::wire::{self, Capabilities, Fault, INVALID_REQUEST, PARSE_ERROR, Reply, text_of};

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
    let (out, messages) = Outlet::channel();
    let mut writer = JoinSet::new();
    writer.spawn(write(messages, output));
    let legacy = Peer {
        caller,
        revision: Revision::LEGACY,
        capabilities: Capabilities::default(),
        session: Some("stdio".into()),
    };
    let mut conversation = Conversation {
        gateway,
        desk: Arc::default(),
        legacy,
        out: out.shared(),
        running: JoinSet::new(),
        followers: JoinSet::new(),
    };
    let mut lines = Lines::new(input, LINE_BYTES);
    while let Some(line) = lines.next().await {
        match line {
            Line::Whole(text) if text.iter().all(u8::is_ascii_whitespace) => {}
            Line::Whole(text) => conversation.take(&text).await,
            Line::TooLong(_) => {
                let fault =
                    Fault::new(INVALID_REQUEST, format!("A message has more than {LINE_BYTES} bytes"));
                conversation.reply(None, &Err(fault)).await;
            }
        }
    }
    timeout(LAST_WORDS, async { while conversation.running.join_next().await.is_some() {} }).await.ok();
    drop(conversation);
    while writer.join_next().await.is_some() {}
}

async fn write(mut messages: mpsc::Receiver<Box<str>>, mut output: impl AsyncWrite + Unpin) {
    while let Some(message) = messages.recv().await {
        let line = message.replace(['\n', '\r'], " ") + "\n";
        if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

struct Conversation {
    gateway: Arc<Gateway>,
    desk: Arc<Desk>,
    /// Who asks in the handshake era, as far as it has introduced itself.
    legacy: Peer,
    out: Outlet,
    running: JoinSet<()>,
    /// What ends only with the conversation.
    followers: JoinSet<()>,
}

impl Conversation {
    async fn take(&mut self, text: &[u8]) {
        while self.running.try_join_next().is_some() {}
        if self.running.len() >= MOST_RUNNING {
            self.running.join_next().await;
        }
        match Message::read(text) {
            Ok(Message::Request { id, method, params }) => {
                let asked = Asked::new(id, &method, params);
                if method == "initialize" {
                    return self.initialize(asked).await;
                }
                match ladder::headless(&asked, &self.legacy.caller) {
                    Ok(peer) => self.answer(peer.unwrap_or_else(|| self.legacy.clone()), asked),
                    Err(fault) => self.reply(Some(id), &Err(fault)).await,
                }
            }
            Ok(Message::Notification { method, params }) => self.noticed(&method, params),
            Ok(Message::Answer { id, answer }) => self.desk.answered(&stdio(), id, answer),
            Err(error) => {
                let code = match error {
                    NotAMessage::NotJson(_) => PARSE_ERROR,
                    NotAMessage::NotRpc => INVALID_REQUEST,
                };
                self.reply(None, &Err(Fault::new(code, error.to_string()))).await;
            }
        }
    }

    async fn initialize(&mut self, asked: Asked) {
        (self.legacy.revision, self.legacy.capabilities) = methods::proposal(&asked);
        let id = asked.id.clone();
        let result = methods::initialized(&self.exchange(self.legacy.clone(), asked));
        self.reply(Some(&id), &Ok(text_of(raw_of(&result)))).await;
    }

    /// A request that its client cancels gets no answer.
    fn answer(&mut self, peer: Peer, asked: Asked) {
        let (desk, out, id) = (Arc::clone(&self.desk), self.out.clone(), asked.id.clone());
        let listens = asked.method == "subscriptions/listen";
        let exchange = self.exchange(peer, asked);
        let answering = async move {
            let begun = desk.begin(&stdio(), &id);
            if let Some(reply) = begun.token.run_until_cancelled(methods::answer(exchange)).await {
                out.send(text(Some(&id), &reply)).await;
            }
        };
        if listens {
            self.followers.spawn(answering);
        } else {
            self.running.spawn(answering);
        }
    }

    fn noticed(&mut self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/cancelled" => {
                if let Some(id) = methods::cancelled(params) {
                    self.desk.cancel(&stdio(), id);
                }
            }
            "notifications/initialized" if self.followers.is_empty() => {
                let (gateway, peer, out) = (Arc::clone(&self.gateway), self.legacy.clone(), self.out.clone());
                let desk = Arc::clone(&self.desk);
                self.followers.spawn(async move { listen::follow_all(&gateway, &desk, &peer, &out).await });
            }
            _ => {}
        }
    }

    fn exchange(&self, peer: Peer, asked: Asked) -> Exchange {
        let (gateway, desk) = (Arc::clone(&self.gateway), Arc::clone(&self.desk));
        Exchange { gateway, desk, peer, asked, out: self.out.clone() }
    }

    async fn reply(&self, id: Option<&RawValue>, reply: &Reply) {
        self.out.send(text(id, reply)).await;
    }
}

/// All messages of a pair of streams are of one session.
fn stdio() -> Arc<str> {
    "stdio".into()
}

fn text(id: Option<&RawValue>, reply: &Reply) -> String {
    String::from_utf8_lossy(&wire::reply(id, reply)).into_owned()
}
