//! The transport of 2024-11-05: one stream of events from the server, and posts to the address it names.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, header};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use toolmux_core::memory_budget::COUNTED;
use toolmux_core::message::Message;
use toolmux_http::client::{Answer, HttpClient, StatusAnswer};
use toolmux_http::sse::{Decoder, EVENT_STREAM};
use url::Url;

use super::broken::Broken;
use super::duplex::Duplex;
use super::message_channel::MessageChannel;
use super::outgoing::{Cut, Outgoing};
use crate::jsonrpc;
use crate::mcp::client::auth::authorization::TokenWanted;

/// Opens the stream and waits until the server has named the address for posts. There is no time limit here: whoever
/// waits has one, the list of the tools its `limits.list_timeout`, and gives the attempt up.
pub(in crate::mcp) async fn open(
    client: &HttpClient,
    url: &Url,
    headers: &HeaderMap,
    most: usize,
) -> Result<Duplex, Broken> {
    let mut with_accept = headers.clone();
    with_accept.insert(header::ACCEPT, HeaderValue::from_static(EVENT_STREAM));
    let answer = client.send(Method::GET, url, with_accept, "").await?;
    if let Some(wanted) = TokenWanted::read(answer.status(), answer.headers()) {
        return Err(Broken::Unauthorized(wanted));
    }
    if !answer.status().is_success() {
        return Err(Broken::Status(StatusAnswer::of(&answer)));
    }
    let (messages, outgoing) = MessageChannel::new();
    let (named, endpoint) = oneshot::channel();
    let (mut tasks, stop) = (JoinSet::new(), CancellationToken::new());
    let reading = read(Arc::clone(&messages), answer, Decoder::new(most), named);
    tasks.spawn(until(stop.clone(), reading));
    let lost = || Broken::Lost(Message::public("The server named no address for messages"));
    let endpoint = endpoint.await.map_err(|_| lost())?;
    let endpoint = url.join(&endpoint).map_err(|_| lost())?;
    // Credentials go where they were meant to go.
    if endpoint.origin() != url.origin() {
        return Err(Broken::Lost(Message::public("The server named an address of another server")));
    }
    let posts = Posts { client: client.clone(), endpoint, headers: headers.clone() };
    tasks.spawn(until(stop.clone(), posts.write(Arc::clone(&messages), outgoing)));
    Ok(Duplex::new(messages, None, stop, tasks))
}

/// Both tasks wait for the server, which may keep them for as long as it likes: they are left where they are.
async fn until(stop: CancellationToken, task: impl Future<Output = ()>) {
    stop.run_until_cancelled(task).await;
}

async fn read(
    messages: Arc<MessageChannel>,
    mut answer: Answer,
    mut decoder: Decoder,
    named: oneshot::Sender<String>,
) {
    let mut named = Some(named);
    while let Ok(Some(piece)) = answer.piece().await {
        let Ok(events) = decoder.push(&piece) else { break };
        for event in events {
            match event.event.as_str() {
                "endpoint" => {
                    if let Some(named) = named.take() {
                        named.send(event.data).ok();
                    }
                }
                "" | "message" => deliver(&messages, event.data.as_bytes()),
                _ => {}
            }
        }
    }
    messages.close();
}

/// A long message is counted when it is there whole.
fn deliver(messages: &MessageChannel, text: &[u8]) {
    let memory = messages.memory.get().filter(|_| text.len() >= COUNTED);
    match (memory.map(|memory| memory.reserve(text.len())).transpose(), jsonrpc::RpcMessage::read(text)) {
        (Err(_), Ok(jsonrpc::RpcMessage::Answer { id, .. })) => {
            if let Ok(id) = id.get().parse() {
                messages.cut(id, Cut::NoMemory);
            }
        }
        (held, _) => messages.deliver(text, held.unwrap_or_default()),
    }
}

/// How messages of ours reach the server.
struct Posts {
    client: HttpClient,
    endpoint: Url,
    headers: HeaderMap,
}

impl Posts {
    /// A message that is not taken costs only whoever waits for its answer.
    async fn write(mut self, messages: Arc<MessageChannel>, mut outgoing: mpsc::Receiver<Outgoing>) {
        self.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        while let Some(next) = outgoing.recv().await {
            if !messages.begins(&next) {
                continue;
            }
            if let (Err(broken), Some(request)) = (self.post(next.message).await, next.request) {
                messages.cut(request, Cut::NotTaken(broken));
            }
        }
    }

    async fn post(&self, message: Vec<u8>) -> Result<(), Broken> {
        let answer = self.client.send(Method::POST, &self.endpoint, self.headers.clone(), message).await?;
        if let Some(wanted) = TokenWanted::read(answer.status(), answer.headers()) {
            return Err(Broken::Unauthorized(wanted));
        }
        match answer.status() {
            status if status.is_success() => Ok(()),
            _ => Err(Broken::PostStatus(StatusAnswer::of(&answer))),
        }
    }
}
