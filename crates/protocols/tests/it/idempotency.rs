//! One key of a call means the same over every protocol, and one that is none is refused by all.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolmux_core::gateway::Settings;
use toolmux_core::ports::store::Retention;

use crate::oxp::Server;
use crate::scripted_source::Scripted;

/// Where calls go, with a body that would be one.
fn calls() -> Vec<(&'static str, Value)> {
    let rpc = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let add = json!({ "a": 1, "b": 2 });
    vec![
        ("/tools/call", json!({ "tool_id": "Kit.Add", "input": add })),
        ("/opentool/call", json!({ "jsonrpc": "2.0", "id": "1", "method": "Kit_Add", "params": add })),
        ("/call_tool/Kit_Add", add.clone()),
        ("/rest/Kit_Add", add.clone()),
        ("/mcp", rpc("tools/call", json!({ "name": "Kit_Add", "arguments": add }))),
        ("/model/plain/run", json!({ "content": [] })),
    ]
}

/// Those whose answers come with headers of their own.
const KEEPS: [&str; 3] = ["/tools/call", "/opentool/call", "/rest/Kit_Add"];

async fn check(key: &str) {
    let source = Scripted::new();
    let server = Server::start(Settings::default(), source.clone()).await;
    for (path, body) in calls() {
        let headers = [("idempotency-key", key), ("accept", "application/json, text/event-stream")];
        let (status, _, answer) = server.ask(Method::POST, path, &headers, &body.to_string()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {answer}");
        assert!(answer.to_string().contains("Idempotency-Key"), "{path} {answer}");
    }
    assert_eq!(source.runs(), 0);
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_in_the_words_of_each_protocol() {
    check("").await;
    check("two words").await;
    check(&"x".repeat(257)).await;
}

async fn server() -> (Arc<Scripted>, Server) {
    let source = Scripted::new();
    (Arc::clone(&source), Server::start(Settings::default(), source).await)
}

async fn submit(server: &Server, arguments: &Value) -> (StatusCode, Value) {
    let key = [("idempotency-key", "order-1")];
    let body = arguments.to_string();
    let (status, _, answer) = server.ask(Method::POST, "/call_tool/Kit_Add", &key, &body).await;
    (status, answer)
}

/// What a task came to.
async fn end(server: &Server, submitted: &Value) -> Value {
    let path = format!("/callback/{}", submitted["task_id"].as_str().expect("a task id"));
    server.ask(Method::GET, &path, &[("accept", "application/json")], "").await.2
}

async fn call(server: &Server, arguments: &Value) -> (StatusCode, Value) {
    let body = json!({ "tool_id": "Kit.Add", "call_id": "order-1", "input": arguments }).to_string();
    let (status, _, answer) = server.ask(Method::POST, "/tools/call", &[], &body).await;
    (status, answer)
}

#[tokio::test]
async fn a_task_of_one_protocol_is_the_call_of_another() {
    let (source, server) = server().await;
    let arguments = json!({ "a": 1, "b": 2 });
    let (_, task) = submit(&server, &arguments).await;
    let (status, answer) = call(&server, &arguments).await;
    assert_eq!((status, &answer["value"]), (StatusCode::OK, &json!(3.0)), "{answer}");
    assert_eq!(end(&server, &task).await["value"], json!(3.0));
    assert_eq!(source.runs(), 1);
    let (status, answer) = call(&server, &json!({ "a": 1, "b": 3 })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(source.runs(), 1);
}

#[tokio::test]
async fn a_call_of_one_protocol_is_the_task_of_another() {
    let (source, server) = server().await;
    let arguments = json!({ "a": 1, "b": 2 });
    assert_eq!(call(&server, &arguments).await.0, StatusCode::OK);
    assert_eq!(submit(&server, &json!({ "a": 1, "b": 3 })).await.0, StatusCode::CONFLICT);
    let (_, task) = submit(&server, &arguments).await;
    assert_eq!(end(&server, &task).await["value"], json!(3.0));
    assert_eq!(source.runs(), 1);
}

/// Until when a call is kept under its key, by the header of its answer.
async fn kept_until(server: &Server, (path, body): &(&str, Value), key: Option<&str>) -> Option<SystemTime> {
    let key = key.map(|key| ("idempotency-key", key));
    let headers: Vec<_> = key.into_iter().collect();
    let (status, told, answer) = server.ask(Method::POST, path, &headers, &body.to_string()).await;
    assert_eq!(status, StatusCode::OK, "{path} {answer}");
    let told = told.get("idempotency-key-expires")?;
    Some(httpdate::parse_http_date(told.to_str().expect("text")).expect("a date"))
}

#[tokio::test]
async fn an_answer_tells_until_when_its_key_holds() {
    let (source, server) = server().await;
    let window = Retention::default().calls_for;
    for (run, call) in calls().into_iter().filter(|(path, _)| KEEPS.contains(path)).enumerate() {
        let before = SystemTime::now();
        assert_eq!(kept_until(&server, &call, None).await, None, "{} keeps nothing without a key", call.0);
        let first = kept_until(&server, &call, Some(call.0)).await.expect("a date");
        // A date has whole seconds.
        let earliest = before + window - Duration::from_secs(1);
        assert!((earliest..=SystemTime::now() + window).contains(&first), "{} {first:?}", call.0);
        assert_eq!(kept_until(&server, &call, Some(call.0)).await, Some(first), "the same again");
        assert_eq!(source.runs(), 2 * (run + 1));
    }
}
