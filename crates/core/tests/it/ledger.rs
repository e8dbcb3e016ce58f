//! An id that comes again gets the answer of the first time.

use std::sync::Arc;

use serde_json::{Value, json};
use toolmux_core::call::Request;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::progress::Progress;

use crate::fixture::{Fixture, anyone, gateway, line, request, tool};

fn with_id(tool: &str, arguments: Value, id: &str) -> Request {
    Request { id: Some(id.into()), ..request(tool, arguments) }
}

async fn send(gateway: &Arc<Gateway>, request: Request) -> String {
    line(&gateway.call(&anyone(gateway), request, &Progress::unheard()).await)
}

async fn fixture() -> (Arc<Fixture>, Arc<Gateway>) {
    let source = Fixture::with(["run", "wait", "unreached"].map(tool).into());
    let gateway = gateway(Settings::default(), &source).await;
    (source, gateway)
}

#[tokio::test]
async fn the_same_call_again_gets_the_recorded_answer() {
    let (source, gateway) = fixture().await;
    assert_eq!(send(&gateway, with_id("Kit_run", json!({ "a": 1 }), "x")).await, "1");
    assert_eq!(send(&gateway, with_id("Kit.run", json!({ "a": 1 }), "x")).await, "1");
    assert_eq!(send(&gateway, with_id("Kit_run", json!({ "a": 1 }), "y")).await, "2");
    assert_eq!(source.ran(), 2);
}

#[tokio::test]
async fn the_same_id_for_another_call_is_a_conflict() {
    let (_, gateway) = fixture().await;
    send(&gateway, with_id("Kit_run", json!({ "a": 1 }), "x")).await;
    let answer = send(&gateway, with_id("Kit_run", json!({ "a": 2 }), "x")).await;
    assert_eq!(answer, "conflict: Call id `x` was used before for another call");
}

#[tokio::test]
async fn the_same_id_for_another_user_is_a_conflict() {
    let (source, gateway) = fixture().await;
    let of = |user: &str| {
        let mut request = with_id("Kit_run", json!({}), "x");
        request.grants.user_id = Some(user.to_owned());
        request
    };
    assert_eq!(send(&gateway, of("ann")).await, "1");
    assert!(send(&gateway, of("bob")).await.starts_with("conflict"));
    assert_eq!(send(&gateway, of("ann")).await, "1");
    assert_eq!(source.ran(), 1);
}

#[tokio::test]
async fn many_at_once_run_the_tool_once() {
    let (source, gateway) = fixture().await;
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let gateway = gateway.clone();
            tokio::spawn(async move { send(&gateway, with_id("Kit_wait", json!({}), "x")).await })
        })
        .collect();
    while source.ran() == 0 {
        tokio::task::yield_now().await;
    }
    source.go.notify_one();
    for call in calls {
        assert_eq!(call.await.expect("joined"), "1");
    }
    assert_eq!(source.ran(), 1);
}

#[tokio::test]
async fn a_caller_that_leaves_leaves_a_call_that_ends() {
    let (source, gateway) = fixture().await;
    let left = {
        let gateway = gateway.clone();
        tokio::spawn(async move { send(&gateway, with_id("Kit_wait", json!({}), "x")).await })
    };
    while source.ran() == 0 {
        tokio::task::yield_now().await;
    }
    left.abort();
    assert!(left.await.is_err());
    source.go.notify_one();
    assert_eq!(send(&gateway, with_id("Kit_wait", json!({}), "x")).await, "1");
    assert_eq!(source.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_did_not_run_may_be_tried_again_under_its_id() {
    let (source, gateway) = fixture().await;
    for _ in 0..2 {
        assert!(send(&gateway, with_id("Kit_unreached", json!({}), "x")).await.starts_with("unavailable"));
    }
    assert!(source.ran() > 3);
}

/// What is answered the second time, when no more than this is kept of a result.
async fn check_bound(name: &str, task_result_bytes: usize, expect: &str) {
    let source = Fixture::with(vec![tool(name)]);
    let limits = Limits { task_result_bytes, ..Limits::default() };
    let gateway = gateway(Settings { limits, ..Settings::default() }, &source).await;
    let name = format!("Kit_{name}");
    assert_eq!(send(&gateway, with_id(&name, json!({}), "x")).await, "1");
    assert_eq!(send(&gateway, with_id(&name, json!({}), "x")).await, expect);
    assert_eq!(source.ran(), 1);
}

#[tokio::test]
async fn a_result_over_the_bound_is_answered_and_not_kept() {
    let told = "failed: The tool ran, but its result of 1 bytes is over the limit of 0 bytes";
    check_bound("run", 0, told).await;
    let told = "failed: The tool ran, but its result of 100 bytes is over the limit of 99 bytes";
    check_bound("relay", 99, told).await;
    check_bound("relay", 100, "1").await;
}

#[tokio::test]
async fn a_call_that_was_answered_by_a_question_goes_on_under_its_id() {
    let source = Fixture::with(vec![tool("ask")]);
    let gateway = gateway(Settings::default(), &source).await;
    for expect in ["1", "2"] {
        assert_eq!(send(&gateway, with_id("Kit_ask", json!({}), "x")).await, expect);
    }
}
