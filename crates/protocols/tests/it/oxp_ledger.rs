//! `call_id` as an idempotency key.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolmux_core::gateway::{Admission, ApiKey, Settings};
use toolmux_core::secret::Secret;

use crate::oxp::Server;
use crate::scripted_source::Scripted;

fn two_callers() -> Settings {
    let key = |name: &str| ApiKey { name: name.into(), sha256: Secret::new(name).sha256(), toolset: None };
    let keys = vec![key("alice"), key("bob")];
    Settings { admission: Admission { keys, jwt: None }, ..Settings::default() }
}

async fn ask(server: &Server, caller: &str, body: Value) -> (StatusCode, Value) {
    let headers = [("oxp-api-key", caller)];
    let (status, _, answer) = server.ask(Method::POST, "/tools/call", &headers, &body.to_string()).await;
    (status, answer)
}

fn add(id: &str, b: i64) -> Value {
    json!({ "tool_id": "Kit.Add", "call_id": id, "input": { "a": 1, "b": b } })
}

/// Runs a row of calls by (caller, request) and says how often the tool ran.
async fn check(rows: &[(&str, Value, u16)], expect_runs: usize) {
    let source = Scripted::new();
    let server = Server::start(two_callers(), source.clone()).await;
    for (caller, request, expect) in rows {
        let (status, answer) = ask(&server, caller, request.clone()).await;
        assert_eq!(status.as_u16(), *expect, "{answer}");
    }
    assert_eq!(source.runs(), expect_runs);
}

#[tokio::test]
async fn the_same_id_gets_the_recorded_answer() {
    check(&[("alice", add("1", 2), 200), ("alice", add("1", 2), 200)], 1).await;
}

#[tokio::test]
async fn another_order_of_the_same_arguments_is_the_same_call() {
    let turned = json!({ "call_id": "1", "tool_id": "Kit.Add@1.2.0", "input": { "b": 2, "a": 1 } });
    check(&[("alice", add("1", 2), 200), ("alice", turned, 200)], 1).await;
}

#[tokio::test]
async fn the_same_id_with_other_arguments_is_refused() {
    check(&[("alice", add("1", 2), 200), ("alice", add("1", 3), 400)], 1).await;
}

#[tokio::test]
async fn ids_of_different_callers_never_meet() {
    check(&[("alice", add("1", 2), 200), ("bob", add("1", 3), 200)], 2).await;
}

#[tokio::test]
async fn a_refused_call_gives_its_id_back() {
    let down = json!({ "tool_id": "Kit.Broken", "call_id": "1" });
    check(&[("alice", down.clone(), 400), ("alice", down, 400)], 2).await;
}

#[tokio::test]
async fn a_final_failure_is_recorded_and_one_worth_retrying_is_not() {
    let fail = json!({ "tool_id": "Kit.Fail", "call_id": "1" });
    check(&[("alice", fail.clone(), 200), ("alice", fail, 200)], 1).await;
    let stumble = json!({ "tool_id": "Kit.Stumble", "call_id": "1" });
    check(&[("alice", stumble.clone(), 200), ("alice", stumble, 200)], 2).await;
}

#[tokio::test]
async fn the_same_id_waits_for_the_running_call() {
    let source = Scripted::new();
    let server = Server::start(two_callers(), source.clone()).await;
    let slow = json!({ "tool_id": "Kit.Slow", "call_id": "1" });
    let first = ask(&server, "alice", slow.clone());
    let second = async {
        while source.runs() == 0 {
            tokio::task::yield_now().await;
        }
        let waiting = ask(&server, "alice", slow.clone());
        tokio::pin!(waiting);
        let early = tokio::time::timeout(Duration::from_millis(50), &mut waiting).await;
        assert!(early.is_err(), "it must wait");
        source.turns.add_permits(1);
        waiting.await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.1["value"].clone(), second.1["value"].clone()), (json!(1), json!(1)));
    assert_eq!(source.runs(), 1);
}
