//! Servers on standard streams with bad manners: each costs only its own tools, and nothing is left behind.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use toolmux_core::gateway::Settings;
use toolmux_core::limits::Limits;

use crate::mcp_client::{ask, call, modern};
use crate::mcp_fixture::{Kit, Served, serve, upstream};

async fn behind(arguments: &[&str]) -> Served {
    serve(patient(Duration::from_secs(20)), vec![("Up", upstream(arguments, &json!({})))]).await
}

/// Rules with this limit for a call, and without rests: here failures are wanted.
fn patient(call_timeout: Duration) -> Settings {
    let limits = Limits { call_timeout, breaker_failures: u32::MAX, ..Limits::default() };
    Settings { limits, ..Settings::default() }
}

#[tokio::test]
async fn noise_on_the_output_is_skipped() {
    for era in ["legacy", "modern", "exits-on-discover"] {
        let served = behind(&[era, "noise"]).await;
        let (_, body) = ask(
            &served.url,
            modern("tools/call", json!({ "name": "Up_echo", "arguments": { "text": "still here" } })),
        )
        .await;
        assert!(body.contains("still here"), "{era}: {body}");
    }
}

#[tokio::test]
async fn a_bad_source_costs_only_its_own_tools() {
    let sources: Vec<(&str, std::sync::Arc<dyn toolmux_core::source::Source>)> = vec![
        ("Dead", upstream(&["legacy", "dead"], &json!({}))),
        ("Mute", upstream(&["legacy", "mute"], &json!({}))),
        ("Kit", std::sync::Arc::new(Kit)),
    ];
    let settings = Settings {
        limits: Limits { list_timeout: Duration::from_millis(300), ..Limits::default() },
        ..Settings::default()
    };
    let served = serve(settings, sources).await;
    // The first request makes the client and the list; agents meet prepared ones.
    ask(&served.url, modern("tools/list", json!({}))).await;
    let begun = Instant::now();
    let (_, body) = ask(&served.url, modern("tools/list", json!({}))).await;
    assert!(begun.elapsed() < Duration::from_millis(50), "{:?}", begun.elapsed());
    assert_eq!(body.matches("inputSchema").count(), 11);
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_started_again() {
    let served = behind(&["legacy"]).await;
    for _ in 0..3 {
        let body = call(&served.url, "Up_die").await;
        assert!(body.contains("The server ended; the tool may have run"), "{body}");
        assert!(call(&served.url, "Up_echo").await.contains("content"));
    }
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_lost_and_the_next_is_not() {
    let served = behind(&["legacy"]).await;
    assert!(call(&served.url, "Up_huge").await.contains("longer than `max_message` allows"));
    assert!(call(&served.url, "Up_echo").await.contains("content"));
}

#[tokio::test]
async fn an_answer_to_another_question_is_no_answer() {
    let served =
        serve(patient(Duration::from_millis(300)), vec![("Up", upstream(&["legacy"], &json!({})))]).await;
    assert!(call(&served.url, "Up_wrong_id").await.contains("did not answer within 300ms"));
    assert!(call(&served.url, "Up_echo").await.contains("content"));
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_at_the_server() {
    let served =
        serve(patient(Duration::from_millis(300)), vec![("Up", upstream(&["legacy"], &json!({})))]).await;
    assert!(call(&served.url, "Up_hang").await.contains("did not answer within 300ms"));
    let body = call(&served.url, "Up_cancelled").await;
    assert!(!body.contains(r#""text":"""#), "{body}");
}

#[tokio::test]
async fn a_flood_of_notifications_drowns_nobody() {
    let served = behind(&["legacy"]).await;
    let meta = json!({ "progressToken": 1 });
    let (_, body) =
        ask(&served.url, modern("tools/call", json!({ "name": "Up_flood", "_meta": meta }))).await;
    assert!(body.contains("dry"), "{}", &body[body.len() - 300..]);
}

/// The text of a result.
fn told(body: &str) -> String {
    body.split(r#""text":""#)
        .nth(1)
        .expect("as it must be")
        .split('"')
        .next()
        .expect("as it must be")
        .to_owned()
}

/// Waits until a process is gone: it is killed asynchronously.
async fn gone(pid: &str) -> bool {
    let there = || {
        std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
    };
    let begun = Instant::now();
    while there() && begun.elapsed() < Duration::from_secs(10) {
        tokio::task::yield_now().await;
    }
    !there()
}

#[tokio::test]
async fn grandchildren_go_with_their_server() {
    for manners in ["plain", "stubborn"] {
        let served = behind(&["legacy", manners]).await;
        let body = call(&served.url, "Up_grandchild").await;
        let pid = told(&body);
        if manners == "plain" {
            call(&served.url, "Up_die").await;
        } else {
            served.gateway.close(Duration::from_secs(20)).await;
        }
        assert!(gone(&pid).await, "{manners}");
    }
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("as it must be").count()
}

#[tokio::test]
async fn a_hundred_restarts_leave_nothing_behind() {
    let served = behind(&["legacy"]).await;
    call(&served.url, "Up_echo").await;
    let before = open_files();
    for _ in 0..100 {
        call(&served.url, "Up_die").await;
    }
    assert!(call(&served.url, "Up_echo").await.contains("content"));
    // Other tests share the process and its files.
    assert!(open_files() <= before + 60, "{before} before, {} after", open_files());
    served.gateway.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_server_nobody_calls_rests_until_it_is_called() {
    let source = upstream(&["legacy"], &json!({ "idle_stop_ms": 200 }));
    let served = serve(patient(Duration::from_secs(20)), vec![("Up", source)]).await;
    for _ in 0..2 {
        let pid = told(&call(&served.url, "Up_pid").await);
        assert!(gone(&pid).await);
    }
}
