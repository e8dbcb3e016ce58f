//! Tasks: accepted, run, followed, cancelled, bounded.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use toolmux_core::gateway::{Admission, ApiKey, Credential, Gateway, Settings};
use toolmux_core::json_text::raw_of;
use toolmux_core::limits::Limits;
use toolmux_core::outcome::Outcome;
use toolmux_core::secret::Secret;
use toolmux_core::task::{TaskChange, TaskId};
use toolmux_core::tool::Passthrough;

use crate::fixture::{Fixture, LONG, anyone, gateway, line, request, tool};

async fn fixture(limits: Limits) -> (Arc<Fixture>, Arc<Gateway>) {
    let source =
        Fixture::with(["run", "wait", "forever", "fail", "unreached", "chatter", "said"].map(tool).into());
    let gateway = gateway(Settings { limits, ..Settings::default() }, &source).await;
    (source, gateway)
}

async fn submit(gateway: &Arc<Gateway>, tool: &str) -> TaskId {
    let request = request(tool, json!({ "a": 1 }));
    gateway.tasks().submit(&anyone(gateway), request, None).await.expect("the task is accepted")
}

/// All that happens to a task after an event, in words.
async fn follow(gateway: &Arc<Gateway>, id: &TaskId, after: u64) -> Vec<String> {
    let mut follow =
        gateway.tasks().follow(&anyone(gateway), id, after).await.expect("store").expect("known");
    let mut told = Vec::new();
    let all = async {
        while let Some(event) = follow.next().await.expect("store") {
            told.push(match event.change {
                TaskChange::Status(status) => status.as_str().to_owned(),
                TaskChange::Update(update) => format!("{update:?}"),
                TaskChange::Ended(status, outcome) => {
                    let outcome = outcome.map(|outcome| line(&Ok::<Outcome, _>(outcome)));
                    format!("{} {}", status.as_str(), outcome.unwrap_or_default())
                }
            });
        }
    };
    timeout(LONG, all).await.expect("the task ends");
    told
}

async fn check(tool: &str, expect: &[&str]) {
    let (_, gateway) = fixture(Limits::default()).await;
    let id = submit(&gateway, tool).await;
    assert_eq!(follow(&gateway, &id, 0).await, expect);
}

#[tokio::test]
async fn a_task_is_followed_to_its_end() {
    check("Kit_run", &["pending", "running", "completed 1"]).await;
    check("Kit_fail", &["pending", "running", "failed failed: it failed"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_tool_was_not_reached_fails() {
    check("Kit_unreached", &["pending", "running", "failed failed: Nobody there"]).await;
}

#[tokio::test]
async fn a_task_is_kept_for_as_long_as_its_request_or_else_the_limits_say() {
    let limits = Limits { task_ttl: Duration::from_secs(7), ..Limits::default() };
    let (_, gateway) = fixture(limits).await;
    let caller = anyone(&gateway);
    for (asked, expect) in [(None, 7), (Some(Duration::from_mins(1)), 60)] {
        let request = request("Kit_run", json!({ "a": 1 }));
        let id = gateway.tasks().submit(&caller, request, asked).await.expect("accepted");
        let task = gateway.tasks().find(&caller, &id).await.expect("store").expect("known");
        assert_eq!(task.keep.as_secs(), expect);
    }
}

#[tokio::test]
async fn a_follower_that_comes_back_sees_what_it_missed() {
    let (_, gateway) = fixture(Limits::default()).await;
    let id = submit(&gateway, "Kit_run").await;
    follow(&gateway, &id, 0).await;
    assert_eq!(follow(&gateway, &id, 2).await, ["completed 1"]);
    assert!(follow(&gateway, &id, 3).await.is_empty());
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said_before_it_becomes_a_task() {
    let (_, gateway) = fixture(Limits::default()).await;
    let refused =
        gateway.tasks().submit(&anyone(&gateway), request("Kit_run", json!({ "b": 1 })), None).await;
    assert_eq!(refused.expect_err("refused").name(), "invalid");
}

#[tokio::test]
async fn a_cancelled_task_stops_its_tool() {
    let (source, gateway) = fixture(Limits { task_concurrency: 1, ..Limits::default() }).await;
    let (running, waiting) = (submit(&gateway, "Kit_forever").await, submit(&gateway, "Kit_forever").await);
    while source.ran() == 0 {
        tokio::task::yield_now().await;
    }
    for id in [&waiting, &running] {
        let task = gateway.tasks().cancel(&anyone(&gateway), id).await.expect("store").expect("known");
        assert_eq!(task.status.as_str(), "cancelled");
    }
    assert_eq!(follow(&gateway, &running, 0).await.last().map(String::as_str), Some("cancelled "));
    assert_eq!(source.ran(), 1, "the one that waited never ran");
    let next = submit(&gateway, "Kit_run").await;
    assert_eq!(follow(&gateway, &next, 0).await.last().map(String::as_str), Some("completed 2"));
}

#[tokio::test]
async fn the_same_id_is_the_same_task() {
    let (source, gateway) = fixture(Limits::default()).await;
    let keyed = |a: i32| {
        let mut request = request("Kit_run", json!({ "a": a }));
        request.id = Some("order-1".into());
        request
    };
    let caller = anyone(&gateway);
    let first = gateway.tasks().submit(&caller, keyed(1), None).await.expect("accepted");
    follow(&gateway, &first, 0).await;
    assert_eq!(gateway.tasks().submit(&caller, keyed(1), None).await.expect("known"), first);
    assert_eq!(
        gateway.tasks().submit(&caller, keyed(2), None).await.expect_err("refused").name(),
        "conflict"
    );
    assert_eq!(source.ran(), 1);
}

#[tokio::test]
async fn a_result_over_the_bound_is_refused_with_its_size() {
    let (_, gateway) = fixture(Limits { task_result_bytes: 0, ..Limits::default() }).await;
    let id = submit(&gateway, "Kit_run").await;
    let told = follow(&gateway, &id, 0).await;
    assert_eq!(
        told[2],
        "failed failed: The tool ran, but its result of 1 bytes is over the limit of 0 bytes"
    );
}

#[tokio::test]
async fn too_many_waiting_tasks_are_busy() {
    let limits = Limits { task_concurrency: 1, task_backlog: 2, ..Limits::default() };
    let (source, gateway) = fixture(limits).await;
    submit(&gateway, "Kit_forever").await;
    while source.ran() == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..2 {
        submit(&gateway, "Kit_forever").await;
    }
    let refused = gateway.tasks().submit(&anyone(&gateway), request("Kit_run", json!({})), None).await;
    assert_eq!(refused.expect_err("refused").name(), "busy");
}

#[tokio::test(start_paused = true)]
async fn a_task_waits_for_a_tool_that_is_busy() {
    let limits = Limits { concurrency: 1, queue: 0, ..Limits::default() };
    let (source, gateway) = fixture(limits).await;
    let (first, second) = (submit(&gateway, "Kit_wait").await, submit(&gateway, "Kit_wait").await);
    while source.ran() == 0 {
        tokio::task::yield_now().await;
    }
    source.go.notify_one();
    follow(&gateway, &first, 0).await;
    source.go.notify_one();
    let told = follow(&gateway, &second, 0).await;
    assert!(told.last().expect("an end").starts_with("completed"), "{told:?}");
}

#[tokio::test]
async fn credentials_of_a_waiting_task_stay_with_it() {
    let (source, gateway) = fixture(Limits { task_concurrency: 1, ..Limits::default() }).await;
    let first = submit(&gateway, "Kit_wait").await;
    let mut request = request("Kit_run", json!({}));
    request.grants.secrets.push(("key".into(), Secret::new("hunter2")));
    let second = gateway.tasks().submit(&anyone(&gateway), request, None).await.expect("accepted");
    while source.ran() == 0 {
        tokio::task::yield_now().await;
    }
    source.go.notify_one();
    follow(&gateway, &first, 0).await;
    assert_eq!(follow(&gateway, &second, 0).await.last().map(String::as_str), Some("completed 2"));
}

#[tokio::test]
async fn what_only_the_protocol_of_a_caller_says_stays_with_a_waiting_task() {
    let (source, gateway) = fixture(Limits { task_concurrency: 1, ..Limits::default() }).await;
    let first = submit(&gateway, "Kit_wait").await;
    let mut request = request("Kit_said", json!({}));
    request.extra = Passthrough::of("fixture", raw_of(&json!({ "word": "hello" })));
    let second = gateway.tasks().submit(&anyone(&gateway), request, None).await.expect("accepted");
    while source.ran() == 0 {
        tokio::task::yield_now().await;
    }
    source.go.notify_one();
    follow(&gateway, &first, 0).await;
    let told = follow(&gateway, &second, 0).await;
    assert_eq!(told.last().map(String::as_str), Some(r#"completed {"word":"hello"}"#));
}

#[tokio::test]
async fn a_task_is_known_to_its_caller_only() {
    let source = Fixture::with(["forever"].map(tool).into());
    let key = |name: &str| ApiKey { name: name.into(), sha256: Secret::new(name).sha256(), toolset: None };
    let admission = Admission { keys: ["alice", "bob"].map(key).into(), jwt: None };
    let gateway = gateway(Settings { admission, ..Settings::default() }, &source).await;
    let [alice, bob] =
        ["alice", "bob"].map(|key| gateway.admit(Credential::Key(key), None).expect("a known key"));
    let id = gateway.tasks().submit(&alice, request("Kit_forever", json!({})), None).await.expect("accepted");
    assert!(gateway.tasks().find(&bob, &id).await.expect("store").is_none());
    assert!(gateway.tasks().follow(&bob, &id, 0).await.expect("store").is_none());
    assert!(gateway.tasks().cancel(&bob, &id).await.expect("store").is_none());
    assert!(gateway.tasks().list(&bob, None).await.expect("store").is_empty());
    assert_eq!(gateway.tasks().list(&alice, None).await.expect("store").len(), 1);
    let task = gateway.tasks().cancel(&alice, &id).await.expect("store").expect("known");
    assert_eq!(task.status.as_str(), "cancelled");
}

#[tokio::test]
async fn what_a_tool_tells_is_kept_up_to_a_bound() {
    let limits = Limits { task_updates_bytes: 100, ..Limits::default() };
    let (_, gateway) = fixture(limits).await;
    let id = submit(&gateway, "Kit_chatter").await;
    let told = follow(&gateway, &id, 0).await;
    assert_eq!(told.len(), 6, "{told:?}");
    assert!(told[2].contains("line 0") && told[3].contains("line 1"), "{told:?}");
    assert!(told[4].contains("later ones are not stored"), "{told:?}");
    assert!(told[5].starts_with("completed"), "{told:?}");
}

#[tokio::test]
async fn a_new_task_does_not_overtake_one_that_waits() {
    let (source, gateway) = fixture(Limits { task_concurrency: 1, ..Limits::default() }).await;
    let first = submit(&gateway, "Kit_wait").await;
    while source.ran() == 0 {
        tokio::task::yield_now().await;
    }
    let second = submit(&gateway, "Kit_run").await;
    source.go.notify_one();
    follow(&gateway, &first, 0).await;
    let third = submit(&gateway, "Kit_run").await;
    for (id, expect) in [(second, "completed 2"), (third, "completed 3")] {
        assert_eq!(follow(&gateway, &id, 0).await.last().map(String::as_str), Some(expect));
    }
}
