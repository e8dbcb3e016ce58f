//! A small MCP client for tests, of either era.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use toolmux_http::client::{Answer, HttpClient, HttpLimits};

pub(crate) const MODERN: &str = "2026-07-28";

pub(crate) async fn send(url: &str, method: Method, headers: &[(&str, &str)], body: String) -> Answer {
    let mut map = HeaderMap::new();
    map.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
    for (name, value) in headers {
        map.append(
            HeaderName::try_from(*name).expect("as it must be"),
            HeaderValue::from_str(value).expect("as it must be"),
        );
    }
    client().send(method, &url.parse().expect("as it must be"), map, body).await.expect("as it must be")
}

/// One client per test: each test has a runtime, and a thread, of its own.
fn client() -> HttpClient {
    thread_local!(static CLIENT: HttpClient = HttpClient::new(HttpLimits::default()));
    CLIENT.with(HttpClient::clone)
}

/// A client of the handshake era that is asked for a name while `method` runs, and says `Bob`: the question, and
/// all that comes after it.
pub(crate) async fn answer_as_bob(url: &str, revision: &str, method: &str, params: Value) -> (Value, String) {
    let (session, _) = session(url, revision, json!({ "elicitation": {} })).await;
    let headers = [("mcp-session-id", session.as_str())];
    let mut answer = send(url, Method::POST, &headers, rpc(5, method, params)).await;
    let question = events(&mut answer, 1).await.remove(0);
    let result = json!({ "action": "accept", "content": { "name": "Bob" } });
    let said = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
    send(url, Method::POST, &headers, said.to_string()).await;
    (question, text(answer).await.1)
}

/// Status and text of an answer.
pub(crate) async fn text(answer: Answer) -> (u16, String) {
    let status = answer.status().as_u16();
    (status, String::from_utf8(answer.body().await.expect("as it must be").to_vec()).expect("as it must be"))
}

/// A request of 2026-07-28, with all that has to be in it.
pub(crate) fn modern(method: &str, params: Value) -> (Vec<(String, String)>, String) {
    modern_as(method, params, json!({}))
}

pub(crate) fn modern_as(
    method: &str,
    mut params: Value,
    capabilities: Value,
) -> (Vec<(String, String)>, String) {
    let mut headers = vec![
        ("mcp-protocol-version".to_owned(), MODERN.to_owned()),
        ("mcp-method".to_owned(), method.to_owned()),
    ];
    if let Some(name) = ["name", "uri", "taskId"].into_iter().find_map(|key| params[key].as_str()) {
        headers.push(("mcp-name".to_owned(), name.to_owned()));
    }
    let meta = params.as_object_mut().expect("as it must be").entry("_meta").or_insert(json!({}));
    meta["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    (headers, rpc(7, method, params))
}

pub(crate) fn rpc(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

pub(crate) async fn ask(url: &str, (headers, body): (Vec<(String, String)>, String)) -> (u16, String) {
    let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    text(send(url, Method::POST, &headers, body).await).await
}

/// The answer to a modern call of a tool, as text.
pub(crate) async fn call(url: &str, tool: &str) -> String {
    ask(url, modern("tools/call", json!({ "name": tool, "arguments": {} }))).await.1
}

/// The data of the next events on a stream, until `count` of them came.
pub(crate) async fn events(answer: &mut Answer, count: usize) -> Vec<Value> {
    let mut decoder = toolmux_http::sse::Decoder::new(1 << 20);
    let mut events = Vec::new();
    while events.len() < count {
        let piece = answer.piece().await.expect("as it must be").expect("as it must be");
        events.extend(
            decoder
                .push(&piece)
                .expect("as it must be")
                .iter()
                .map(|e| serde_json::from_str(&e.data).expect("as it must be")),
        );
    }
    events
}

/// A legacy session and what the server said.
pub(crate) async fn session(url: &str, revision: &str, capabilities: Value) -> (String, Value) {
    let params = json!({ "protocolVersion": revision, "capabilities": capabilities,
        "clientInfo": { "name": "t", "version": "1" } });
    let answer = send(url, Method::POST, &[], rpc(0, "initialize", params)).await;
    let session = answer.headers()["mcp-session-id"].to_str().expect("as it must be").to_owned();
    let (status, body) = text(answer).await;
    let body: Value = serde_json::from_str(&body).expect("as it must be");
    assert_eq!(status, 200);
    (session, body["result"].clone())
}
