//! Servers on standard streams with bad manners: each costs only its own tools, and nothing is left behind.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolmux_core::gateway::Settings;
use toolmux_core::limits::Limits;
use toolmux_core::ports::source::Source;
use toolmux_core::sources::{SourceStatus, ToolSettings};
use toolmux_core::toolset::Pattern;

use crate::mcp_client::{ask, call, modern};
use crate::mcp_fixture::{Kit, Served, serve, upstream};

async fn behind(arguments: &[&str]) -> Served {
    serve(patient(), vec![("Up", upstream(arguments, &json!({})))]).await
}

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// How quickly a list is answered that waits for nobody.
const AT_ONCE: Duration = Duration::from_millis(50);

/// Rules for calls that take their time, and without rests: here failures are wanted.
fn patient() -> Settings {
    let limits = Limits { call_timeout: PATIENCE, breaker_failures: u32::MAX, ..Limits::default() };
    Settings { limits, ..Settings::default() }
}

/// The same for all but this tool, which never answers.
fn impatient_with(tool: &str) -> Settings {
    let own = ToolSettings { timeout: Some(Duration::from_millis(300)), ..ToolSettings::default() };
    Settings { tools: vec![(Pattern::new(tool), own)], ..patient() }
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

/// Lists, and calls of another source, while a server in this mode is asked for this tool again and again.
async fn check_lists(mode: &str, tool: &'static str, more: &Value) {
    let sources: Vec<(&str, Arc<dyn Source>)> =
        vec![("Up", upstream(&["legacy", mode], more)), ("Kit", Arc::new(Kit))];
    let silent = ["mute", "dead"].contains(&mode);
    let mut settings = impatient_with("Up.wrong_id");
    settings.limits.list_timeout = if silent { Duration::from_millis(300) } else { PATIENCE };
    let served = serve(settings, sources).await;
    let mut going_on = tokio::task::JoinSet::new();
    let url = served.url.clone();
    going_on.spawn(async move {
        loop {
            call(&url, tool).await;
        }
    });
    let (started, mut rounds, mut fastest) = (Instant::now(), 0, Duration::MAX);
    // The machine may be slow; it is not slow every time.
    while rounds < 20 || (fastest >= AT_ONCE && started.elapsed() < PATIENCE) {
        rounds += 1;
        let begun = Instant::now();
        let (_, body) = ask(&served.url, modern("tools/list", json!({}))).await;
        fastest = fastest.min(begun.elapsed());
        assert_eq!(body.matches(r#""name":"Kit_"#).count(), 11, "{mode} {tool}: {body}");
        assert_eq!(body.contains(r#""name":"Up_echo""#), !silent, "{mode} {tool}");
        assert!(call(&served.url, "Kit_count").await.contains('7'), "{mode} {tool}");
    }
    assert!(fastest < AT_ONCE, "{mode} {tool}: {fastest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_answer_at_once_whatever_a_server_does() {
    let none = json!({});
    check_lists("babble", "Up_echo", &none).await;
    check_lists("mute", "Up_echo", &none).await;
    check_lists("plain", "Up_hang", &none).await;
    check_lists("dead", "Up_echo", &none).await;
    check_lists("plain", "Up_die", &none).await;
    check_lists("plain", "Up_huge", &none).await;
    check_lists("plain", "Up_strange", &none).await;
    check_lists("plain", "Up_wrong_id", &none).await;
    check_lists("plain", "Up_grandchild", &none).await;
    check_lists("stubborn", "Up_echo", &json!({ "idle_stop_ms": 1 })).await;
    check_lists("plain", "Up_flood", &none).await;
    check_lists("alarm", "Up_echo", &none).await;
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why_to_developers_only() {
    let served = behind(&["legacy", "dead"]).await;
    let [report] = &served.gateway.sources().reports()[..] else { panic!("one source") };
    let SourceStatus::Failing(message) = &report.status else { panic!("{report:?}") };
    assert_eq!(message.public, "The server ended");
    assert_eq!(message.developer.as_deref(), Some("upstream: cannot start, no license"));
}

#[tokio::test]
async fn content_of_an_unknown_kind_is_passed_on_as_it_is() {
    let served = behind(&["legacy"]).await;
    let body = call(&served.url, "Up_strange").await;
    assert!(body.contains(r#""content":[{"type":"hologram","b":1.10,"a":{"k":null}}]"#), "{body}");
}

#[tokio::test]
async fn a_server_that_tells_of_changes_all_the_time_is_asked_from_time_to_time() {
    let served = behind(&["legacy", "alarm"]).await;
    let asked = async || told(&call(&served.url, "Up_listed").await).parse::<u32>().expect("a number");
    let (begun, before) = (Instant::now(), asked().await);
    while asked().await < before + 3 {
        assert!(begun.elapsed() < PATIENCE, "it is asked no more");
    }
    let more = asked().await - before;
    // Looked at afterwards: however long the answer took, no more than that can have been asked.
    let most = begun.elapsed().as_millis() / 100 + 2;
    assert!(u128::from(more) <= most, "{more} within {:?}", begun.elapsed());
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
    let served = serve(impatient_with("Up.wrong_id"), vec![("Up", upstream(&["legacy"], &json!({})))]).await;
    assert!(call(&served.url, "Up_wrong_id").await.contains("did not answer within 300ms"));
    assert!(call(&served.url, "Up_echo").await.contains("content"));
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_at_the_server() {
    let served = serve(impatient_with("Up.hang"), vec![("Up", upstream(&["legacy"], &json!({})))]).await;
    assert!(call(&served.url, "Up_hang").await.contains("did not answer within 300ms"));
    let begun = Instant::now();
    while call(&served.url, "Up_cancelled").await.contains(r#""text":"""#) {
        assert!(begun.elapsed() < PATIENCE, "the server hears of it");
    }
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
    while there() && begun.elapsed() < PATIENCE {
        tokio::task::yield_now().await;
    }
    !there()
}

#[tokio::test]
async fn grandchildren_go_with_their_server() {
    for manners in ["plain", "stubborn"] {
        for tool in ["Up_grandchild", "Up_runaway"] {
            let served = behind(&["legacy", manners]).await;
            let pid = told(&call(&served.url, tool).await);
            if manners == "plain" {
                call(&served.url, "Up_die").await;
            } else {
                served.gateway.close(PATIENCE).await;
            }
            assert!(gone(&pid).await, "{manners} {tool}");
        }
    }
}

#[tokio::test]
async fn a_server_nobody_calls_rests_until_it_is_called() {
    let source = upstream(&["legacy"], &json!({ "idle_stop_ms": 200 }));
    let served = serve(patient(), vec![("Up", source)]).await;
    for _ in 0..2 {
        let pid = told(&call(&served.url, "Up_pid").await);
        assert!(gone(&pid).await);
    }
}
