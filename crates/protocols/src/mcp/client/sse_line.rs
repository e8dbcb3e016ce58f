//! The transport of 2024-11-05: one stream of events from the server, and posts to the address it names.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolmux_core::memory_budget::COUNTED;
use toolmux_core::message::Message;
use toolmux_http::client::{Answer, HttpClient, StatusAnswer};
use toolmux_http::sse::Decoder;
use url::Url;

use super::authorization::TokenWanted;
use super::connection::Broken;
use super::message_channel::MessageChannel;
use super::outgoing::{Cut, Outgoing};
use crate::jsonrpc;

/// How long the server may take to name the address for posts.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open stream. Dropping it closes it.
pub(super) struct SseLine {
    pub(super) line: Arc<MessageChannel>,
    _tasks: JoinSet<()>,
}

impl SseLine {
    pub(super) async fn open(
        client: &HttpClient,
        url: &Url,
        headers: &HeaderMap,
        most: usize,
    ) -> Result<Self, Broken> {
        let mut asked = headers.clone();
        asked.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        let answer = client.send(Method::GET, url, asked, "").await?;
        if let Some(wanted) = TokenWanted::read(answer.status(), answer.headers()) {
            return Err(Broken::Unauthorized(wanted));
        }
        if !answer.status().is_success() {
            return Err(Broken::Status(StatusAnswer::of(&answer)));
        }
        let (line, written) = MessageChannel::new();
        let (named, endpoint) = oneshot::channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(read(Arc::clone(&line), answer, Decoder::new(most), named));
        let lost = || Broken::Lost(Message::public("The server named no address for messages"));
        let endpoint = timeout(PATIENCE, endpoint).await.map_err(|_| lost())?.map_err(|_| lost())?;
        let endpoint = url.join(&endpoint).map_err(|_| lost())?;
        // Credentials go where they were meant to go.
        if endpoint.origin() != url.origin() {
            return Err(Broken::Lost(Message::public("The server named an address of another server")));
        }
        let posts = Posts { client: client.clone(), endpoint, headers: headers.clone() };
        tasks.spawn(posts.write(Arc::clone(&line), written));
        Ok(SseLine { line, _tasks: tasks })
    }
}

async fn read(
    line: Arc<MessageChannel>,
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
                "" | "message" => deliver(&line, event.data.as_bytes()),
                _ => {}
            }
        }
    }
    line.close();
}

/// A long message is counted when it is there whole.
fn deliver(line: &MessageChannel, text: &[u8]) {
    let memory = line.memory.get().filter(|_| text.len() >= COUNTED);
    match (memory.map(|memory| memory.reserve(text.len())).transpose(), jsonrpc::Message::read(text)) {
        (Err(_), Ok(jsonrpc::Message::Answer { id, .. })) => {
            if let Ok(id) = id.get().parse() {
                line.cut(id, Cut::NoMemory);
            }
        }
        (held, _) => line.deliver(text, held.unwrap_or_default()),
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
    async fn write(mut self, line: Arc<MessageChannel>, mut written: mpsc::Receiver<Outgoing>) {
        self.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        while let Some(message) = written.recv().await {
            if !line.begins(&message) {
                continue;
            }
            if let (Err(broken), Some(request)) = (self.post(message.text).await, message.request) {
                line.cut(request, Cut::NotTaken(broken));
            }
        }
    }

    async fn post(&self, text: String) -> Result<(), Broken> {
        let answer = self.client.send(Method::POST, &self.endpoint, self.headers.clone(), text).await?;
        if let Some(wanted) = TokenWanted::read(answer.status(), answer.headers()) {
            return Err(Broken::Unauthorized(wanted));
        }
        match answer.status() {
            status if status.is_success() => Ok(()),
            // The stream that the address belongs to is not known any more.
            StatusCode::NOT_FOUND => Err(Broken::SessionGone),
            _ => Err(Broken::Status(StatusAnswer::of(&answer))),
        }
    }
}
