//! What failures of a source cost whom.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::outcome::{Outcome, Retry};
use toolmux_core::ports::source::FailureScope;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::sources::ToolSettings;
use toolmux_core::task::TaskChange;
use toolmux_core::tool::Hints;
use toolmux_core::toolset::Pattern;

use crate::fixture::{Fixture, LONG, anyone, call, gateway, line, request, tool};

const TOOLS: [&str; 9] =
    ["run", "unreached", "lost", "forever", "cut", "lost_once", "flaky", "busy", "busy_once"];
const SOURCE_OPEN: &str =
    "unavailable: The circuit breaker of source `Kit` is open because its last calls failed";

async fn fixture(limits: Limits) -> (Arc<Fixture>, Arc<Gateway>) {
    let source = Fixture::with(TOOLS.map(tool).into());
    let gateway = gateway(Settings { limits, ..Settings::default() }, &source).await;
    (source, gateway)
}

async fn calls(gateway: &Arc<Gateway>, times: usize, tool: &str) {
    for _ in 0..times {
        call(gateway, tool, json!({})).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_whose_calls_fail_in_a_row_is_not_called_for_a_while() {
    let (source, gateway) = fixture(Limits::default()).await;
    calls(&gateway, 4, "Kit_unreached").await;
    assert_ne!(call(&gateway, "Kit_run", json!({})).await, SOURCE_OPEN, "four are not enough");
    calls(&gateway, 5, "Kit_unreached").await;
    let before = source.ran();
    assert_eq!(call(&gateway, "Kit_run", json!({})).await, SOURCE_OPEN);
    assert_eq!(source.ran(), before);
}

#[tokio::test]
async fn calls_on_one_broken_connection_are_one_failure() {
    let (source, gateway) = fixture(Limits { breaker_failures: 2, ..Limits::default() }).await;
    let calls: Vec<_> = (0..16)
        .map(|_| {
            let gateway = gateway.clone();
            tokio::spawn(async move { call(&gateway, "Kit_cut", json!({})).await })
        })
        .collect();
    while source.ran() < 16 {
        tokio::task::yield_now().await;
    }
    source.go.notify_waiters();
    for call in calls {
        assert_eq!(call.await.expect("joined"), "failed: Gone; the tool may have run");
    }
    assert_eq!(call(&gateway, "Kit_run", json!({})).await, "17");
}

#[tokio::test(start_paused = true)]
async fn any_answer_of_the_source_ends_the_row() {
    let (_, gateway) = fixture(Limits { breaker_failures: 2, ..Limits::default() }).await;
    for _ in 0..3 {
        calls(&gateway, 1, "Kit_lost").await;
        assert_eq!(call(&gateway, "Kit_busy", json!({})).await, "busy: Too many");
    }
    assert_ne!(call(&gateway, "Kit_run", json!({})).await, SOURCE_OPEN);
}

#[tokio::test(start_paused = true)]
async fn time_limits_that_pass_close_nothing_for_others() {
    let (_, gateway) = fixture(Limits { call_timeout: Duration::from_secs(1), ..Limits::default() }).await;
    calls(&gateway, 10, "Kit_forever").await;
    assert_eq!(call(&gateway, "Kit_run", json!({})).await, "11");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_shares_nothing_costs_only_itself() {
    let source = Fixture {
        listing: Some(TOOLS.map(tool).to_vec().into()).into(),
        scope: Some(FailureScope::Tool),
        ..Fixture::default()
    };
    let source = Arc::new(source);
    let gateway = gateway(Settings::default(), &source).await;
    calls(&gateway, 5, "Kit_unreached").await;
    let before = source.ran();
    let answer = call(&gateway, "Kit_unreached", json!({})).await;
    assert!(answer.contains("The circuit breaker of tool `Kit_unreached` is open"), "{answer}");
    assert_eq!(source.ran(), before);
    assert_eq!(call(&gateway, "Kit_run", json!({})).await, (before + 1).to_string());
}

#[tokio::test(start_paused = true)]
async fn a_busy_source_is_asked_again_when_it_says_and_not_before() {
    let (source, gateway) = fixture(Limits::default()).await;
    let began = tokio::time::Instant::now();
    assert_eq!(call(&gateway, "Kit_busy_once", json!({})).await, "2");
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    let answer = gateway.call(&anyone(&gateway), request("Kit_busy", json!({})), &Progress::unheard()).await;
    let Err(Refusal::Busy { retry_after, .. }) = answer else { panic!("{answer:?}") };
    assert_eq!(retry_after, Duration::from_secs(7));
    assert_eq!(source.ran(), 3, "too long to wait here");
}

#[tokio::test(start_paused = true)]
async fn a_lost_call_waits_as_long_as_its_source_asks_for() {
    let source = Fixture::with(["down_once", "down", "other"].map(tool).into());
    let hints = Hints { read_only: Some(true), ..Hints::default() };
    let own = ToolSettings { hints, ..ToolSettings::default() };
    let settings = Settings { tools: vec![(Pattern::new("Kit.down*"), own)], ..Settings::default() };
    let gateway = gateway(settings, &source).await;
    let began = tokio::time::Instant::now();
    assert_eq!(call(&gateway, "Kit_down_once", json!({})).await, "2");
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    let answer = gateway.call(&anyone(&gateway), request("Kit_down", json!({})), &Progress::unheard()).await;
    let Ok(Outcome::Failed(error)) = answer else { panic!("{answer:?}") };
    assert_eq!(error.message.public, "It is down; the tool may have run");
    assert_eq!(error.retry, Retry::After(Duration::from_secs(7)), "it is passed on");
    assert_eq!(source.ran(), 3, "too long to wait here");
}

#[tokio::test(start_paused = true)]
async fn a_lost_call_that_may_not_be_repeated_is_not_offered_to_be() {
    let source = Fixture::with(vec![tool("down_once")]);
    let gateway = gateway(Settings::default(), &source).await;
    let answer =
        gateway.call(&anyone(&gateway), request("Kit_down_once", json!({})), &Progress::unheard()).await;
    let Ok(Outcome::Failed(error)) = answer else { panic!("{answer:?}") };
    assert_eq!((error.retry, source.ran()), (Retry::Never, 1));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_an_attempt_that_may_have_run_is_not_called_one() {
    let source = Fixture::with(TOOLS.map(tool).into());
    let hints = Hints { idempotent: Some(true), ..Hints::default() };
    let own = ToolSettings { hints, ..ToolSettings::default() };
    let settings = Settings { tools: vec![(Pattern::new("Kit.lost_once"), own)], ..Settings::default() };
    let gateway = gateway(settings, &source).await;
    let answer = call(&gateway, "Kit_lost_once", json!({})).await;
    assert_eq!(answer, "failed: Gone; the tool may have run");
}

#[tokio::test]
async fn a_task_waits_for_an_open_circuit_breaker() {
    let rest = Duration::from_millis(300);
    let limits = Limits { breaker_failures: 1, breaker_rest: rest, ..Limits::default() };
    let (source, gateway) = fixture(limits).await;
    source.broken.store(true, Ordering::SeqCst);
    calls(&gateway, 1, "Kit_flaky").await;
    let caller = anyone(&gateway);
    let id = gateway.tasks().submit(&caller, request("Kit_flaky", json!({})), None).await.expect("accepted");
    source.broken.store(false, Ordering::SeqCst);
    let mut follow = gateway.tasks().follow(&caller, &id, 0).await.expect("store").expect("known");
    let end = async {
        while let Some(event) = follow.next().await.expect("store") {
            if let TaskChange::Ended(status, outcome) = event.change {
                let outcome = outcome.map(|outcome| line(&Ok::<Outcome, _>(outcome)));
                return format!("{} {}", status.as_str(), outcome.unwrap_or_default());
            }
        }
        String::new()
    };
    let end = tokio::time::timeout(LONG, end).await.expect("the task ends");
    assert!(end.starts_with("completed "), "{end}");
}
