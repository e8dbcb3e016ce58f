//! The steps of the path, one fact each.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolmux_core::call::Request;
use toolmux_core::delivery::{Delivery, GrantName, Place};
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::progress::Progress;
use toolmux_core::requirements::{Authorization, GrantAllowlist, Requirements};
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming, ToolSettings};
use toolmux_core::tool::{Hints, Tool};
use toolmux_core::toolset::Pattern;

use crate::fixture::{Fixture, LONG, anyone, call, gateway, line, request, tool, versioned};

fn all_tools() -> Vec<Tool> {
    ["run", "wait", "forever", "panic", "fail", "unreached", "lost"].map(tool).into()
}

async fn check(tool: &str, arguments: Value, expect: &str) {
    let source = Fixture::with(all_tools());
    assert_eq!(call(&gateway(Settings::default(), &source).await, tool, arguments).await, expect);
}

fn settings_of(tool: &str, own: ToolSettings) -> Settings {
    Settings { tools: vec![(Pattern::new(tool), own)], ..Settings::default() }
}

#[tokio::test]
async fn a_tool_is_found_by_id_and_by_flat_name() {
    check("Kit.run", json!({}), "1").await;
    check("Kit_run", json!({}), "1").await;
    check("Kit_run@1", json!({}), "1").await;
}

#[tokio::test]
async fn an_unknown_tool_is_told_what_was_meant() {
    check("Kit_runn", json!({}), "unknown_tool: Tool `Kit_runn` was not found; did you mean `Kit_run`?")
        .await;
    check("Kit.runn", json!({}), "unknown_tool: Tool `Kit.runn` was not found; did you mean `Kit.run`?")
        .await;
    check("wait", json!({}), "unknown_tool: Tool `wait` was not found; did you mean `Kit_wait`?").await;
    check("Kit.run@2", json!({}), "unknown_tool: Tool `Kit.run@2.0.0` was not found").await;
}

#[tokio::test]
async fn versions_resolve_as_oxp_says() {
    let source =
        Fixture::with(vec![versioned("run", "1.0.0"), versioned("run", "1.2.0"), versioned("run", "2.0.0")]);
    let gateway = gateway(Settings::default(), &source).await;
    let version = |name: &str| {
        let catalog = gateway.catalog();
        let found = catalog.find(&toolmux_core::names::ToolRef::either(name));
        found.map(|place| catalog.entry(place).id.version.to_string())
    };
    assert_eq!(version("Kit.run").as_deref(), Some("2.0.0"));
    assert_eq!(version("Kit.run@1").as_deref(), Some("1.0.0"));
    assert_eq!(version("Kit.run@1.2.0").as_deref(), Some("1.2.0"));
    assert_eq!(version("Kit_run@1.2.0").as_deref(), Some("1.2.0"));
    assert_eq!(version("Kit.run@1.1.0"), None);
}

#[tokio::test]
async fn bad_arguments_never_reach_the_tool() {
    let source = Fixture::with(all_tools());
    let gateway = gateway(Settings::default(), &source).await;
    let answer = call(&gateway, "Kit_run", json!({ "a": "x" })).await;
    assert_eq!(answer, "invalid: Invalid arguments: `a` must be an integer, got string \"x\"");
    assert_eq!(source.ran(), 0);
}

#[tokio::test]
async fn texts_become_numbers_where_the_source_is_configured_so() {
    check(
        "Kit_run",
        json!({ "a": "5" }),
        "invalid: Invalid arguments: `a` must be an integer, got string \"5\"",
    )
    .await;
    let source = Fixture::with(vec![tool("arguments")]);
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, source.clone()).coercing());
    gateway.sources().settled(LONG).await;
    assert_eq!(call(&gateway, "Kit_arguments", json!({ "a": "5" })).await, r#"{"a":5}"#);
    assert!(call(&gateway, "Kit_arguments", json!({ "a": "x" })).await.starts_with("invalid"));
    let named = |a: Value| Request { id: Some("one".into()), ..request("Kit_arguments", json!({ "a": a })) };
    for a in [json!("7"), json!(7)] {
        let answer = gateway.call(&anyone(&gateway), named(a), &Progress::unheard()).await;
        assert_eq!(line(&answer), r#"{"a":7}"#, "what is recorded is what was converted");
    }
    assert_eq!(source.ran(), 2);
}

#[tokio::test]
async fn a_tool_that_fails_or_panics_fails_alone() {
    check("Kit_fail", json!({}), "failed: it failed").await;
    check("Kit_panic", json!({}), "failed: The tool failed unexpectedly").await;
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_not_reached_is_tried_again_and_one_that_was_lost_is_not() {
    let source = Fixture::with(all_tools());
    let gateway = gateway(Settings::default(), &source).await;
    assert_eq!(call(&gateway, "Kit_unreached", json!({})).await, "unavailable: Nobody there");
    assert_eq!(source.ran(), 3);
    assert_eq!(call(&gateway, "Kit_lost", json!({})).await, "failed: Gone; the tool may have run");
    assert_eq!(source.ran(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_lost_call_is_repeated_when_its_tool_allows_it() {
    let source = Fixture::with(all_tools());
    let hints = Hints { idempotent: Some(true), ..Hints::default() };
    let settings = settings_of("Kit.lost", ToolSettings { hints, ..ToolSettings::default() });
    let gateway = gateway(settings, &source).await;
    call(&gateway, "Kit_lost", json!({})).await;
    assert_eq!(source.ran(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_answers_ends_at_its_deadline() {
    let source = Fixture::with(all_tools());
    let own = ToolSettings { timeout: Some(Duration::from_secs(5)), ..ToolSettings::default() };
    let gateway = gateway(settings_of("Kit.forever", own), &source).await;
    let answer = call(&gateway, "Kit_forever", json!({})).await;
    assert_eq!(answer, "failed: The tool did not answer within 5s; it may have run");
}

#[tokio::test]
async fn beyond_turns_and_queue_callers_hear_busy_at_once() {
    let source = Fixture::with(all_tools());
    let mut settings =
        settings_of("Kit.wait", ToolSettings { concurrency: Some(1), ..ToolSettings::default() });
    settings.limits = Limits { queue: 1, ..Limits::default() };
    let gateway = gateway(settings, &source).await;
    let one = || {
        let gateway = gateway.clone();
        async move { call(&gateway, "Kit_wait", json!({})).await }
    };
    let (first, second) = (tokio::spawn(one()), tokio::spawn(one()));
    while source.ran() == 0 || Arc::strong_count(&gateway) < 3 {
        tokio::task::yield_now().await;
    }
    tokio::task::yield_now().await;
    assert_eq!(one().await, "busy: The tool is busy: the queue of this tool is full");
    source.go.notify_one();
    assert_eq!(first.await.expect("joined"), "1");
    source.go.notify_one();
    assert_eq!(second.await.expect("joined"), "2");
}

#[tokio::test]
async fn what_a_tool_needs_comes_from_the_request_or_the_vault() {
    let source = Fixture::with(all_tools());
    let authorization = vec![Authorization::new("github", vec![])];
    let secrets = vec!["KEY".into()];
    let requires = Requirements { authorization, secrets, user_id: true, ..Requirements::default() };
    let own = ToolSettings { requires: Some(requires), ..ToolSettings::default() };
    let mut settings = settings_of("Kit.run", own);
    let told = "challenged: The tool needs a token of `github`, and the secret `KEY`, and a user id";
    let bare = gateway(Settings { tools: settings.tools.clone(), ..Settings::default() }, &source).await;
    assert_eq!(call(&bare, "Kit_run", json!({})).await, told);
    settings.vault.insert("KEY".into(), Secret::new("s"));
    let gateway = gateway(settings, &source).await;
    let mut wish = request("Kit_run", json!({}));
    wish.grants.authorization.push(("github".into(), Secret::new("t")));
    wish.grants.user_id = Some("ann".into());
    assert_eq!(line(&gateway.call(&anyone(&gateway), wish, &Progress::unheard()).await), "1");
}

/// A tool that its own source says requires a secret of the server's, under what configuration names; the answer.
async fn require_secret(own: ToolSettings, allowlist: GrantAllowlist) -> String {
    let requires = Requirements { secrets: vec!["KEY".into()], ..Requirements::default() };
    let source = Fixture::with(vec![Tool { requires, ..tool("run") }]);
    let mut settings = settings_of("Kit.run", own);
    settings.vault.insert("KEY".into(), Secret::new("s"));
    let gateway = Gateway::new(settings, Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, source).allowing(allowlist));
    gateway.sources().settled(LONG).await;
    call(&gateway, "Kit_run", json!({})).await
}

#[tokio::test]
async fn a_secret_is_given_only_where_configuration_names_it() {
    let (nothing, no_names) = (ToolSettings::default, GrantAllowlist::default);
    let refused = "challenged: The tool needs the secret `KEY`";
    assert_eq!(require_secret(nothing(), no_names()).await, refused);
    let other = GrantAllowlist { secrets: vec!["OTHER".into()], providers: vec!["KEY".into()] };
    assert_eq!(require_secret(nothing(), other).await, refused);
    let named = GrantAllowlist { secrets: vec!["KEY".into()], ..no_names() };
    assert_eq!(require_secret(nothing(), named).await, "1");
    let (grant, place) = (GrantName::Secret("KEY".into()), Place::Environment("KEY".into()));
    let delivered = ToolSettings { deliver: vec![Delivery { grant, place }], ..nothing() };
    assert_eq!(require_secret(delivered, no_names()).await, "1");
}
