//! MCP over HTTP+SSE, as clients of 2024-11-05 see it: one stream of events, and posts to the address it names.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use toolmux_core::gateway::{Admission, ApiKey, Settings};
use toolmux_core::secret::Secret;
use toolmux_http::client::Answer;
use toolmux_http::serve::WebLimits;
use toolmux_http::sse::{Decoder, Event};

use crate::mcp_client::{rpc, send, text};
use crate::mcp_fixture::{Kit, Served, serve, serve_within, upstream};

/// A client with its stream open.
struct Client {
    base: String,
    endpoint: String,
    key: Option<&'static str>,
    stream: Answer,
    decoder: Decoder,
    heard: Vec<Event>,
}

fn base(served: &Served) -> String {
    served.url.trim_end_matches("/mcp").to_owned()
}

fn headers(key: Option<&str>) -> Vec<(&str, &str)> {
    key.map(|key| ("oxp-api-key", key)).into_iter().collect()
}

impl Client {
    async fn open(served: &Served, key: Option<&'static str>) -> Self {
        let base = base(served);
        let stream = send(&format!("{base}/sse"), Method::GET, &headers(key), String::new()).await;
        assert_eq!(stream.status(), 200);
        assert_eq!(stream.headers()["content-type"], "text/event-stream");
        let (decoder, heard) = (Decoder::new(1 << 24), Vec::new());
        let mut client = Client { base, endpoint: String::new(), key, stream, decoder, heard };
        let first = client.event().await.expect("the first event");
        assert_eq!(first.event, "endpoint");
        client.endpoint = first.data;
        client
    }

    /// One that introduced itself.
    async fn begin(served: &Served, revision: &str, capabilities: Value) -> Self {
        let mut client = Client::open(served, None).await;
        let params = json!({ "protocolVersion": revision, "capabilities": capabilities,
            "clientInfo": { "name": "t", "version": "1" } });
        let result = client.ask(1, "initialize", params).await["result"].clone();
        assert_eq!(result["protocolVersion"], revision);
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.post(note.to_string()).await, (202, String::new()));
        client
    }

    /// The next event; none when the stream has ended.
    async fn event(&mut self) -> Option<Event> {
        while self.heard.is_empty() {
            let piece = self.stream.piece().await.expect("readable")?;
            self.heard.extend(self.decoder.push(&piece).expect("small"));
        }
        Some(self.heard.remove(0))
    }

    async fn hear(&mut self) -> Value {
        let event = self.event().await.expect("the stream is open");
        assert_eq!(event.event, "message");
        serde_json::from_str(&event.data).expect("one message an event")
    }

    async fn post(&self, body: String) -> (u16, String) {
        let url = format!("{}{}", self.base, self.endpoint);
        text(send(&url, Method::POST, &headers(self.key), body).await).await
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        assert_eq!(self.post(rpc(id, method, params)).await, (202, String::new()));
        let answer = self.hear().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}

async fn kit() -> Served {
    serve(Settings::default(), vec![("Kit", Arc::new(Kit))]).await
}

#[tokio::test]
async fn answers_come_on_the_stream() {
    let served = kit().await;
    let mut client = Client::begin(&served, "2024-11-05", json!({})).await;
    let tools = client.ask(2, "tools/list", json!({})).await;
    assert!(tools["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 5), "{tools}");
    let call = json!({ "name": "Kit_echo", "arguments": { "text": "two addresses" } });
    let answer = client.ask(3, "tools/call", call).await;
    assert_eq!(answer["result"], json!({ "content": [{ "type": "text", "text": "two addresses" }] }));
    assert_eq!(client.ask(4, "ping", json!({})).await["result"], json!({}));
    let unknown = client.ask(5, "tools/call", json!({ "name": "Kit_none" })).await;
    assert_eq!(unknown["error"]["code"], -32602);
}

#[tokio::test]
async fn progress_logs_and_changes_come_on_the_stream() {
    let served =
        serve(Settings::default(), vec![("Kit", Arc::new(Kit)), ("Up", upstream(&[], &json!({})))]).await;
    let mut client = Client::begin(&served, "2024-11-05", json!({})).await;
    let call = json!({ "name": "Kit_steps", "_meta": { "progressToken": "p" } });
    client.post(rpc(2, "tools/call", call)).await;
    for done in [json!(1), json!(2), json!(2.5)] {
        let told = client.hear().await;
        assert_eq!((&told["method"], &told["params"]["progress"]), (&json!("notifications/progress"), &done));
    }
    assert_eq!(client.hear().await["method"], "notifications/message");
    assert_eq!(client.hear().await["id"], 2);
    served.gateway.sources().unmount("Up");
    let mut told =
        [client.hear().await, client.hear().await, client.hear().await].map(|told| told["method"].clone());
    told.sort_by_key(Value::to_string);
    let changed = |what: &str| json!(format!("notifications/{what}/list_changed"));
    assert_eq!(told, [changed("prompts"), changed("resources"), changed("tools")]);
}

#[tokio::test]
async fn questions_reach_the_client_and_its_answers_the_tool() {
    let served = kit().await;
    let mut client = Client::begin(&served, "2025-06-18", json!({ "elicitation": {} })).await;
    client.post(rpc(2, "tools/call", json!({ "name": "Kit_ask" }))).await;
    let question = client.hear().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["_meta"]["toolmux/requestId"], 2, "the call it belongs to");
    let said = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    assert_eq!(client.post(said.to_string()).await.0, 202);
    assert_eq!(client.hear().await["result"]["structuredContent"]["result"]["action"], "decline");
    let mut silent = Client::begin(&served, "2024-11-05", json!({})).await;
    let unasked = silent.ask(2, "tools/call", json!({ "name": "Kit_ask" })).await;
    assert_eq!(unasked["result"]["content"][0]["text"], "nobody answers");
}

#[tokio::test]
async fn a_cancelled_request_gets_no_answer() {
    let served = kit().await;
    let mut client = Client::begin(&served, "2025-06-18", json!({ "elicitation": {} })).await;
    client.post(rpc(2, "tools/call", json!({ "name": "Kit_ask" }))).await;
    client.hear().await;
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    client.post(note.to_string()).await;
    client.ask(3, "ping", json!({})).await;
}

/// Rules under which Alice and Bob are let in.
fn two_callers() -> Settings {
    let key = |name: &str, key: &str| ApiKey {
        name: name.into(),
        sha256: Secret::new(key.to_owned()).sha256(),
        toolset: None,
    };
    let keys = vec![key("alice", "hunter2"), key("bob", "hunter3")];
    Settings { admission: Admission { keys, jwt: None }, ..Settings::default() }
}

#[tokio::test]
async fn a_session_is_for_its_caller_alone() {
    let served = serve(two_callers(), vec![("Kit", Arc::new(Kit))]).await;
    let base = base(&served);
    let stranger = send(&format!("{base}/sse"), Method::GET, &[], String::new()).await;
    assert_eq!(
        (stranger.status().as_u16(), stranger.headers().contains_key("www-authenticate")),
        (401, true)
    );
    let mut alice = Client::open(&served, Some("hunter2")).await;
    let post = async |key: Option<&str>, path: &str| {
        let answer =
            send(&format!("{base}{path}"), Method::POST, &headers(key), rpc(1, "ping", json!({}))).await;
        text(answer).await
    };
    assert_eq!(post(None, &alice.endpoint).await.0, 401, "every post says who sends it");
    let unknown = post(Some("hunter3"), "/messages?sessionId=00000000000000000000000000000000").await;
    assert_eq!((post(Some("hunter3"), &alice.endpoint).await, unknown.0), (unknown.clone(), 404));
    for path in ["/messages", "/messages?sessionId=", "/messages?session=1"] {
        assert_eq!(post(Some("hunter2"), path).await.0, 404, "{path}");
    }
    alice.ask(1, "ping", json!({})).await;
    let mut again = Client::open(&served, Some("hunter2")).await;
    assert_ne!(again.endpoint, alice.endpoint);
    again.ask(1, "ping", json!({})).await;
}

#[tokio::test]
async fn what_is_not_a_message_is_refused_at_once() {
    let served = kit().await;
    let mut client = Client::begin(&served, "2024-11-05", json!({})).await;
    for body in ["", "{", "7", "[]", r#"{"jsonrpc":"2.0"}"#] {
        let (status, text) = client.post(body.to_owned()).await;
        assert!(status == 400 && text.contains("-32"), "{body}: {status} {text}");
    }
    client.ask(9, "ping", json!({})).await;
}

#[tokio::test]
async fn sessions_and_their_requests_are_bounded() {
    let limits = WebLimits { sse_sessions: 2, session_requests: 1, ..WebLimits::default() };
    let served = serve_within(limits, Settings::default(), vec![("Kit", Arc::new(Kit))]).await;
    let mut first = Client::begin(&served, "2025-06-18", json!({ "elicitation": {} })).await;
    let second = Client::open(&served, None).await;
    let third = send(&format!("{}/sse", base(&served)), Method::GET, &[], String::new()).await;
    assert_eq!(
        (third.status().as_u16(), &third.headers()["retry-after"]),
        (429, &"1".parse().expect("a value"))
    );
    first.post(rpc(2, "tools/call", json!({ "name": "Kit_ask" }))).await;
    let question = first.hear().await;
    let busy = first.ask(3, "ping", json!({})).await;
    assert_eq!(
        (&busy["error"]["code"], &busy["error"]["data"]["retryAfterMs"]),
        (&json!(-32603), &json!(1000))
    );
    let said = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "cancel" } });
    first.post(said.to_string()).await;
    assert_eq!(first.hear().await["id"], 2, "an answer is no request");
    drop(second);
    until_open(&served).await;
}

/// Waits until one more session can be opened.
async fn until_open(served: &Served) {
    for _ in 0..1_000 {
        let answer = send(&format!("{}/sse", base(served)), Method::GET, &[], String::new()).await;
        if answer.status() == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("a session whose stream was closed is still counted");
}

#[tokio::test]
async fn a_stream_ends_with_the_server_and_after_its_answers() {
    let served = kit().await;
    let mut client = Client::begin(&served, "2025-06-18", json!({ "elicitation": {} })).await;
    client.post(rpc(2, "tools/call", json!({ "name": "Kit_ask" }))).await;
    let question = client.hear().await;
    served.gateway.background().announce_closing();
    let said = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "cancel" } });
    client.post(said.to_string()).await;
    assert_eq!(client.hear().await["id"], 2);
    assert_eq!(client.event().await, None, "it ends when everything is answered");
    let late = send(&format!("{}/sse", client.base), Method::GET, &[], String::new()).await;
    assert_eq!(late.status(), 503);
    assert_eq!(client.post(rpc(3, "ping", json!({}))).await.0, 404);
}

#[tokio::test]
async fn requests_end_with_their_stream() {
    let served = kit().await;
    let client = Client::begin(&served, "2024-11-05", json!({})).await;
    let (base, endpoint) = (client.base.clone(), client.endpoint.clone());
    drop(client);
    for _ in 0..1_000 {
        let (status, _) =
            text(send(&format!("{base}{endpoint}"), Method::POST, &[], rpc(2, "ping", json!({}))).await)
                .await;
        if status == 404 {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the session outlived its stream");
}

#[tokio::test]
async fn our_own_client_takes_it_for_what_it_is() {
    let served = kit().await;
    let url = format!("{}/sse", base(&served));
    let front =
        serve(Settings::default(), vec![("Behind", crate::mcp_fixture::open(json!({ "url": url })))]).await;
    let said = crate::mcp_client::ask(
        &front.url,
        crate::mcp_client::modern(
            "tools/call",
            json!({ "name": "Behind_Kit_echo", "arguments": { "text": "hi" } }),
        ),
    );
    assert!(said.await.1.contains(r#""text":"hi""#));
}
