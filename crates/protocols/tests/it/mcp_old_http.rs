//! Servers of 2024-11-05: one stream of events, and posts to the address it names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::sources::{Mount, Naming, SourceStatus};

use crate::mcp_client::call;
use crate::mcp_fixture::{Served, open, serve};
use crate::oxp::listen;

#[derive(Default)]
struct Streams {
    opened: u64,
    /// Where answers go; dropping one ends its stream.
    open: HashMap<u64, mpsc::UnboundedSender<String>>,
}

type Shared = Arc<Mutex<Streams>>;

impl Streams {
    /// Names the address for messages on the newest stream.
    fn name_address(&self) {
        let id = self.opened;
        let event = format!("event: endpoint\ndata: /messages?stream={id}\n\n");
        self.open[&id].send(event).expect("its receiver is here");
    }
}

struct OldServer {
    base: String,
    streams: Shared,
    serving: JoinHandle<()>,
}

impl Drop for OldServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl OldServer {
    async fn start() -> Self {
        let streams = Shared::default();
        let router = Router::new()
            .route("/sse", get(stream))
            .route("/slow", get(slow))
            .route("/messages", post(message))
            .route("/locked", get(locked).post(locked))
            .with_state(Arc::clone(&streams));
        let (base, serving) = listen(router).await;
        OldServer { base, streams, serving }
    }

    fn opened(&self) -> u64 {
        self.streams.lock().expect("not poisoned").opened
    }
}

async fn locked() -> Response {
    (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response()
}

async fn stream(State(streams): State<Shared>) -> Response {
    let answer = slow(State(Arc::clone(&streams))).await;
    streams.lock().expect("not poisoned").name_address();
    answer
}

/// A stream on which the address for messages comes later.
async fn slow(State(streams): State<Shared>) -> Response {
    let (sender, receiver) = mpsc::unbounded_channel::<String>();
    let mut streams = streams.lock().expect("not poisoned");
    streams.opened += 1;
    let id = streams.opened;
    streams.open.insert(id, sender);
    let pieces = futures_util::stream::unfold(receiver, async |mut receiver| {
        let text = receiver.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), receiver))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(pieces)).into_response()
}

async fn message(
    State(streams): State<Shared>,
    Query(query): Query<HashMap<String, u64>>,
    body: String,
) -> StatusCode {
    let message: Value = serde_json::from_str(&body).expect("JSON");
    let mut streams = streams.lock().expect("not poisoned");
    let stream = query["stream"];
    if !streams.open.contains_key(&stream) {
        return StatusCode::NOT_FOUND;
    }
    let Some(id) = message.get("id") else { return StatusCode::ACCEPTED };
    let params = &message["params"];
    if params["name"] == "cut" {
        streams.open.remove(&stream);
        return StatusCode::ACCEPTED;
    }
    let result = match message["method"].as_str().expect("a method") {
        "initialize" => json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": {} },
            "serverInfo": { "name": "old", "version": "1" } }),
        "tools/list" => {
            let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
            json!({ "tools": [tool("echo"), tool("cut")] })
        }
        _ => json!({ "content": [{ "type": "text", "text": format!("heard {}", params["name"]) }] }),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    streams.open[&stream].send(format!("data: {answer}\n\n")).ok();
    StatusCode::ACCEPTED
}

async fn behind(old: &OldServer, path: &str) -> Served {
    let limits = Limits { breaker_failures: u32::MAX, ..Limits::default() };
    let url = format!("{}{path}", old.base);
    let source = open(json!({ "url": url, "max_restart_pause_ms": 1 }));
    serve(Settings { limits, ..Settings::default() }, vec![("Up", source)]).await
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    let old = OldServer::start().await;
    let served = behind(&old, "/sse").await;
    for _ in 0..3 {
        assert!(call(&served.url, "Up_echo").await.contains(r#"heard \"echo\""#));
    }
    assert_eq!(old.opened(), 1, "one stream carries everything");
}

#[tokio::test]
async fn a_server_may_take_as_long_as_a_list_to_name_the_address_for_messages() {
    let old = OldServer::start().await;
    let limits = Limits { list_timeout: Duration::from_mins(1), ..Limits::default() };
    let gateway = Gateway::new(Settings { limits, ..Settings::default() }, Arc::new(MemoryStore::default()));
    let source = open(json!({ "url": format!("{}/slow", old.base) }));
    gateway.sources().mount(Mount::new("Up", "Up", Naming::Prefixed, source));
    while old.opened() == 0 {
        tokio::task::yield_now().await;
    }
    // The client has read the head of the stream when it asks nothing else for a while; then much time passes.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(50)).await;
    tokio::time::resume();
    old.streams.lock().expect("not poisoned").name_address();
    gateway.sources().settled(Duration::from_mins(1)).await;
    let [report] = &gateway.sources().reports()[..] else { panic!("one source") };
    assert_eq!((&report.status, old.opened()), (&SourceStatus::Ready, 1), "{report:?}");
}

#[tokio::test]
async fn a_stream_that_ended_is_opened_again() {
    let old = OldServer::start().await;
    let served = behind(&old, "/sse").await;
    for round in 1..4 {
        let body = call(&served.url, "Up_cut").await;
        assert!(body.contains("The server ended; the tool may have run"), "{body}");
        let begun = Instant::now();
        while !call(&served.url, "Up_echo").await.contains("heard") {
            assert!(begun.elapsed() < Duration::from_secs(30), "it is not reached again");
        }
        assert_eq!(old.opened(), round + 1);
    }
}

#[tokio::test]
async fn what_a_server_refuses_is_understood() {
    let old = OldServer::start().await;
    for (path, expect) in [
        ("/locked", "The server requires other credentials"),
        ("/nowhere", "The server answered with status 404 Not Found"),
    ] {
        let served = behind(&old, path).await;
        let [report] = &served.gateway.sources().reports()[..] else { panic!("one source") };
        let SourceStatus::Failing(message) = &report.status else { panic!("{report:?}") };
        assert_eq!(message.public, expect, "{path}");
    }
}
