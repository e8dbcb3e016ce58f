//! Our OXP client and source against our own server, and against servers of the older form.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::Source;
use toolmux_core::refusal::{Challenge, Refusal};
use toolmux_core::sources::{Mount, Naming};
use toolmux_protocols::oxp::{OxpClient, OxpError, Patience, ToolCall, Waited};
use toolmux_protocols::registry::Opening;

use crate::oxp::{SETTLE, Server, listen};
use crate::scripted_source::Scripted;

fn client(base: &str) -> OxpClient {
    let quick = Duration::from_millis(1);
    let patience = Patience { pause: quick, poll: quick, ..Patience::default() };
    OxpClient::new(base).expect("a client").patience(patience)
}

fn source(base: &str) -> Arc<dyn Source> {
    let kind = toolmux_protocols::SOURCES.iter().find(|kind| kind.kind == "oxp").expect("registered");
    let opening = Opening {
        name: "upstream",
        table: json!({ "url": base }),
        folder: std::path::Path::new("."),
        secrets: &|_| Err("no secrets".to_owned()),
    };
    (kind.open)(&opening).unwrap_or_else(|error| panic!("{error}"))
}

/// A server that serves the tools of another one.
async fn in_front_of(base: &str) -> Server {
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("upstream", "Kit", Naming::Prefixed, source(base)));
    gateway.sources().settled(SETTLE).await;
    Server::serve(gateway).await
}

/// The same request to a server and to the one in front of it gets the same answer.
async fn check(server: &Server, front: &Server, request: Value) {
    let ask = async |server: &Server| {
        let (status, mut answer) = server.call(&request).await;
        for differs in ["call_id", "duration"] {
            answer.as_object_mut().expect("an object").remove(differs);
        }
        (status, answer)
    };
    assert_eq!(ask(server).await, ask(front).await, "{request}");
}

#[tokio::test]
async fn everything_comes_through_a_source_as_it_was() {
    let server = Server::start(Settings::default(), Scripted::new()).await;
    let front = in_front_of(&server.base).await;
    for request in [
        json!({ "tool_id": "Kit.Add", "input": { "a": 1, "b": 2 } }),
        json!({ "tool_id": "Kit.Add@1", "input": { "a": 1, "b": 2 } }),
        json!({ "tool_id": "Kit.Add@1.2.0", "input": { "a": 1, "b": "x" } }),
        json!({ "tool_id": "Kit.Nothing" }),
        json!({ "tool_id": "Kit.Fail" }),
        json!({ "tool_id": "Kit.Stumble" }),
        json!({ "tool_id": "Kit.Needy" }),
        json!({ "tool_id": "Kit.Needy", "context": {
            "authorization": [{ "id": "github", "token": "t" }],
            "secrets": [{ "id": "SHOP_TOKEN", "value": "s" }], "user_id": "u" } }),
    ] {
        check(&server, &front, request).await;
    }
    let list = async |server: &Server| server.ask(Method::GET, "/tools", &[], "").await.2;
    assert_eq!(list(&server).await, list(&front).await);
}

#[tokio::test]
async fn a_dead_server_is_unavailable() {
    let server = Server::start(Settings::default(), Scripted::new()).await;
    let front = in_front_of(&server.base).await;
    drop(server);
    let (status, answer) = front.call(&json!({ "tool_id": "Kit.Nothing" })).await;
    assert_eq!((status, answer["success"].as_bool()), (StatusCode::BAD_REQUEST, None), "{answer}");
}

#[tokio::test]
async fn a_failure_worth_retrying_is_retried_a_bounded_number_of_times() {
    static WAITS: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let source = Scripted::new();
    let server = Server::start(Settings::default(), source.clone()).await;
    let quick = Patience { longest_pause: Duration::from_millis(100), ..Patience::default() };
    let telling =
        client(&server.base).on_wait(|why, _| WAITS.lock().expect("nobody panics").push(why.to_owned()));
    let answered = telling.call(&ToolCall::new("Kit.Stumble", &json!({}))).await.expect("ran");
    let Outcome::Failed(error) = answered.outcome else { panic!("it must fail") };
    assert_eq!(error.prompt.as_deref(), Some("ids: doorbell42,doorbell84"));
    assert_eq!(source.runs(), 3);
    assert_eq!(
        *WAITS.lock().expect("nobody panics"),
        [error.message.public.as_str(); 2],
        "each wait is told"
    );
    let hasty = client(&server.base).patience(quick);
    hasty.call(&ToolCall::new("Kit.Stumble", &json!({}))).await.expect("ran");
    assert_eq!(source.runs(), 4, "a pause that is too long is not waited for");
}

/// A server that knows the older form alone, and shows no sign of it in its list.
async fn older() -> (String, JoinHandle<()>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let tools = || async {
        json!({ "tools": [{ "id": "Old.Echo@2.0.0", "name": "Old_Echo", "description": "", "version": "2.0.0",
            "input_schema": { "parameters": { "type": "object", "required": ["x"] } } }] })
        .to_string()
    };
    let call = move |body: String| {
        let turn = calls.fetch_add(1, Ordering::SeqCst);
        async move {
            let body: Value = serde_json::from_str(&body).expect("JSON");
            let Some(request) = body.get("request") else {
                return (StatusCode::BAD_REQUEST, json!({ "message": "no request" }).to_string());
            };
            let value = json!({ "turn": turn, "input": request["input"] });
            let result = json!({ "call_id": request["call_id"], "success": true, "value": value });
            (StatusCode::OK, json!({ "$schema": "urn:oxp:1.0", "result": result }).to_string())
        }
    };
    listen(Router::new().route("/tools", get(tools)).route("/tools/call", post(call))).await
}

#[tokio::test]
async fn the_form_of_a_server_is_found_out_once() {
    let (base, serving) = older().await;
    let client = client(&base);
    let list = client.tools().await.expect("a list");
    assert_eq!(list.tools[0].input.value()["required"], json!(["x"]), "unwrapped");
    for turn in [1, 2] {
        let call = ToolCall::new("Old.Echo", &json!({ "x": 1 }));
        let Outcome::Returned(output) = client.call(&call).await.expect("ran").outcome else {
            panic!("it must return")
        };
        assert_eq!(output.value.get(), json!({ "turn": turn, "input": { "x": 1 } }).to_string());
    }
    serving.abort();
}

#[tokio::test]
async fn a_refusal_keeps_its_class() {
    let server = Server::start(Settings::default(), Scripted::new()).await;
    let client = client(&server.base);
    assert!(client.health().await.expect("answers"));
    let refused = async |tool: &str, input: Value| match client.call(&ToolCall::new(tool, &input)).await {
        Err(OxpError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused("Kit.Needy", json!({})).await, Refusal::Challenged { user_id: true, .. }));
    assert!(
        matches!(refused("Kit.Add", json!({})).await, Refusal::Invalid { parameters } if parameters.len() == 2)
    );
    assert!(matches!(refused("Kit.Unknown", json!({})).await, Refusal::Unavailable { .. }));
}

#[tokio::test]
async fn a_client_waits_for_a_challenge_on_request() {
    let asked = Arc::new(AtomicUsize::new(0));
    let check = move || {
        let status = if asked.fetch_add(1, Ordering::SeqCst) < 2 { "pending" } else { "completed" };
        async move { json!({ "status": status }).to_string() }
    };
    let (base, serving) = listen(Router::new().route("/check", get(check))).await;
    let challenge = Challenge { id: "p".into(), url: None, check_url: Some(format!("{base}/check")) };
    assert_eq!(client(&base).wait(&challenge, SETTLE).await.expect("answers"), Waited::Completed);
    serving.abort();
}
