//! Sources that have not listed their tools yet: lists and calls wait for them, and nobody is told too early
//! that a tool does not exist.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::json_text::raw_of;
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::message::Message;
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::ports::store::Store;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::requirements::Requirements;
use toolmux_core::schema::Schema;
use toolmux_core::sources::{Mount, Naming, SourceStatus};
use toolmux_core::tool::{Hints, Passthrough, Returns, TaskSupport, Tool};

use crate::fixture::{anyone, call, line, request, tool};

const START_WAIT: Duration = Duration::from_secs(10);

/// A source that lists its tools when it is told to.
struct Late(watch::Sender<Option<Result<Listing, SourceError>>>);

impl Late {
    fn new() -> Arc<Self> {
        Arc::new(Late(watch::Sender::new(None)))
    }

    fn list(&self, names: &[&str]) {
        let tools: Vec<_> = names.iter().map(|name| tool(name)).collect();
        self.0.send_replace(Some(Ok(tools.into())));
    }

    fn fail(&self) {
        self.0.send_replace(Some(Err(SourceError::NotReached(Message::public("It is down")))));
    }
}

impl Source for Late {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async {
            let mut said = self.0.subscribe();
            let said = said.wait_for(Option::is_some).await.expect("the sender lives");
            said.clone().expect("waited for")
        })
    }

    fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(std::future::ready(Ok(Outcome::Returned(Output::value(raw_of(&json!("ran")))))))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        let mut said = self.0.subscribe();
        Box::pin(async move { drop(said.changed().await) })
    }
}

fn gateway(sources: &[(&str, &Arc<Late>)]) -> Arc<Gateway> {
    let limits = Limits { start_wait: START_WAIT, ..Limits::default() };
    let gateway = Gateway::new(Settings { limits, ..Settings::default() }, Arc::new(MemoryStore::default()));
    for (name, source) in sources {
        let source = Arc::clone(source);
        gateway.sources().mount(Mount::new(name, name, Naming::Prefixed, source));
    }
    gateway
}

async fn until(gateway: &Gateway, what: impl Fn(&SourceStatus) -> bool) {
    let mut revision = gateway.sources().revision();
    while !gateway.sources().reports().iter().any(|source| what(&source.status)) {
        revision.changed().await.expect("the gateway lives");
    }
}

/// On paused time this ends only when nothing else can go on.
async fn until_idle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Does something while a future is waiting.
async fn meanwhile<T>(waiting: impl Future<Output = T>, act: impl FnOnce()) -> T {
    let acting = async {
        until_idle().await;
        act();
    };
    tokio::join!(waiting, acting).0
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_source_that_is_connecting() {
    let late = Late::new();
    let gateway = gateway(&[("Late", &late)]);
    for name in ["Late_run", "Late.run", "Late.run@1.0.0"] {
        assert_eq!(meanwhile(call(&gateway, name, json!({})), || late.list(&["run"])).await, "\"ran\"");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_waits_for_a_source_that_is_connecting() {
    let late = Late::new();
    let gateway = gateway(&[("Late", &late)]);
    assert!(!gateway.sources().is_complete());
    meanwhile(gateway.sources().wait_until_started(), || late.list(&["run"])).await;
    assert_eq!(gateway.catalog().len(), 1);
    assert!(gateway.sources().is_complete());
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_counted_from_the_start_of_the_source() {
    let late = Late::new();
    let gateway = gateway(&[("Late", &late)]);
    let began = Instant::now();
    for _ in 0..3 {
        let told = call(&gateway, "Late_run", json!({})).await;
        assert!(told.starts_with("unavailable: Tool `Late_run` is not known yet"), "{told}");
        gateway.sources().wait_until_started().await;
    }
    assert_eq!(began.elapsed().as_secs(), START_WAIT.as_secs());
    assert!(!gateway.sources().is_complete(), "a list without the source must not be kept");
    late.list(&["run"]);
    until(&gateway, |status| *status == SourceStatus::Ready).await;
    assert_eq!(call(&gateway, "Late_run", json!({})).await, "\"ran\"");
}

#[tokio::test(start_paused = true)]
async fn a_caller_waits_no_longer_than_it_wants_to() {
    let gateway = gateway(&[("Late", &Late::new())]);
    let mut asked = request("Late_run", json!({}));
    asked.patience = Some(Duration::from_secs(2));
    let began = Instant::now();
    let answer = gateway.call(&anyone(&gateway), asked, &Progress::unheard()).await;
    assert!(line(&answer).starts_with("unavailable: "), "{answer:?}");
    assert!(matches!(answer, Err(Refusal::Unavailable { retry_after: Some(_), .. })), "{answer:?}");
    assert_eq!(began.elapsed().as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_name_is_unknown_only_when_every_source_has_been_heard_of() {
    let (early, late) = (Late::new(), Late::new());
    early.list(&["run"]);
    let gateway = gateway(&[("Early", &early), ("Late", &late)]);
    until(&gateway, |status| *status == SourceStatus::Ready).await;
    assert_eq!(call(&gateway, "Early_run", json!({})).await, "\"ran\"");
    let told = meanwhile(call(&gateway, "Early_rum", json!({})), || late.list(&[])).await;
    assert_eq!(told, "unknown_tool: Tool `Early_rum` was not found; did you mean `Early_run`?");
}

#[tokio::test(start_paused = true)]
async fn tools_of_a_source_that_has_only_failed_so_far_are_unavailable_and_others_are_unknown() {
    let (late, down) = (Late::new(), Late::new());
    late.list(&["run"]);
    down.fail();
    let gateway = gateway(&[("Late", &late), ("Down", &down)]);
    until(&gateway, |status| matches!(status, SourceStatus::Failing(_))).await;
    tokio::time::sleep(START_WAIT).await;
    for name in ["Down_run", "Down.run"] {
        assert!(call(&gateway, name, json!({})).await.starts_with("unavailable: "), "{name}");
    }
    for name in ["Late_rum", "Late.rum", "Downrun"] {
        assert!(call(&gateway, name, json!({})).await.starts_with("unknown_tool: "), "{name}");
    }
    assert!(!gateway.sources().is_complete());
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_source_that_failed_at_first() {
    let late = Late::new();
    late.fail();
    let gateway = gateway(&[("Late", &late)]);
    assert_eq!(meanwhile(call(&gateway, "Late_run", json!({})), || late.list(&["run"])).await, "\"ran\"");
}

#[tokio::test(start_paused = true)]
async fn the_server_is_ready_once_every_source_has_listed() {
    let (early, late) = (Late::new(), Late::new());
    early.list(&["run"]);
    let gateway = gateway(&[("Early", &early), ("Late", &late)]);
    until(&gateway, |status| *status == SourceStatus::Ready).await;
    assert!(!gateway.sources().is_ready());
    late.list(&["run"]);
    gateway.sources().wait_until_started().await;
    assert!(gateway.sources().is_ready());
    gateway.sources().mount(Mount::new("More", "More", Naming::Prefixed, Late::new()));
    assert!(
        gateway.sources().is_ready(),
        "a source that is added later does not take the server out of service"
    );
    gateway.background().announce_closing();
    assert!(!gateway.sources().is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_or_says_nothing_does_not_keep_the_server_unready_for_ever() {
    let (silent, down) = (Late::new(), Late::new());
    down.fail();
    let gateway = gateway(&[("Silent", &silent), ("Down", &down)]);
    tokio::time::sleep(START_WAIT / 2).await;
    assert!(!gateway.sources().is_ready());
    tokio::time::sleep(START_WAIT / 2).await;
    assert!(gateway.sources().is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_source_made_anew_keeps_nobody_waiting_while_the_old_one_serves() {
    let old = Late::new();
    old.list(&["run"]);
    let gateway = gateway(&[("Kit", &old)]);
    gateway.sources().wait_until_started().await;
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, Late::new()));
    let began = Instant::now();
    gateway.sources().wait_until_started().await;
    assert!(call(&gateway, "Kit_rum", json!({})).await.starts_with("unknown_tool: "));
    assert_eq!(call(&gateway, "Kit_run", json!({})).await, "\"ran\"");
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert!(gateway.sources().is_complete());
}

/// A server on a store that others had before it.
fn restarted(store: &Arc<MemoryStore>, source: &Arc<Late>, digest: &str) -> Arc<Gateway> {
    let limits = Limits { start_wait: START_WAIT, ..Limits::default() };
    let gateway =
        Gateway::new(Settings { limits, ..Settings::default() }, Arc::clone(store) as Arc<dyn Store>);
    let mount = Mount::new("Kit", "Kit", Naming::Prefixed, source.clone());
    gateway.sources().mount(mount.kept_by(digest.to_owned()));
    gateway
}

fn names(gateway: &Gateway) -> Vec<String> {
    gateway.catalog().every().map(|entry| entry.flat.to_string()).collect()
}

/// A store in which the definitions of a source are kept.
async fn kept(limits: Limits) -> Arc<MemoryStore> {
    let (store, source) = (Arc::new(MemoryStore::default()), Late::new());
    source.list(&["run", "walk"]);
    let gateway = restarted(&store, &source, "one");
    gateway.configure(Settings { limits, ..Settings::default() });
    gateway.sources().settled(START_WAIT).await;
    gateway.close(START_WAIT).await;
    store
}

#[tokio::test(start_paused = true)]
async fn what_a_source_listed_is_served_at_once_after_a_restart() {
    let (store, late) = (kept(Limits::default()).await, Late::new());
    let gateway = restarted(&store, &late, "one");
    let began = Instant::now();
    gateway.sources().wait_until_started().await;
    assert_eq!(
        (names(&gateway), began.elapsed()),
        (vec!["Kit_run".into(), "Kit_walk".into()], Duration::ZERO)
    );
    assert!(gateway.sources().is_ready(), "its tools are known");
    assert!(!gateway.sources().is_complete(), "but it may have others by now");
    assert_eq!(gateway.sources().reports()[0].status, SourceStatus::Connecting);
    let told = meanwhile(call(&gateway, "Kit_run", json!({})), || late.list(&["run"])).await;
    assert_eq!(told, "\"ran\"", "calls wait for the source");
    assert_eq!(names(&gateway), ["Kit_run"], "what it lists now counts");
    assert!(call(&gateway, "Kit_walk", json!({})).await.starts_with("unknown_tool: "));
}

#[tokio::test(start_paused = true)]
async fn tools_of_a_source_that_is_down_after_a_restart_are_listed_and_unavailable() {
    let (store, down) = (kept(Limits::default()).await, Late::new());
    down.fail();
    let gateway = restarted(&store, &down, "one");
    let began = Instant::now();
    for _ in 0..2 {
        let told = call(&gateway, "Kit_run", json!({})).await;
        assert_eq!(told, "unavailable: Source `Kit` is not connected yet");
    }
    assert_eq!(began.elapsed().as_secs(), START_WAIT.as_secs());
    assert_eq!(names(&gateway), ["Kit_run", "Kit_walk"]);
    assert!(call(&gateway, "Kit_other", json!({})).await.starts_with("unknown_tool: "));
}

#[tokio::test(start_paused = true)]
async fn what_other_settings_listed_is_not_served() {
    let (store, late) = (kept(Limits::default()).await, Late::new());
    let gateway = restarted(&store, &late, "two");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(gateway.catalog().is_empty());
    assert!(!gateway.sources().is_ready());
}

#[tokio::test(start_paused = true)]
async fn definitions_over_their_bound_are_not_kept() {
    let store = kept(Limits { definitions_bytes: 100, ..Limits::default() }).await;
    let gateway = restarted(&store, &Late::new(), "one");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(gateway.catalog().is_empty());
}

#[tokio::test(start_paused = true)]
async fn every_part_of_a_definition_is_kept() {
    let full = Tool {
        version: "1.2.3".parse().expect("a version"),
        returns: Returns::Matching(Schema::new(json!({ "type": "number" }))),
        requires: Requirements { secrets: vec!["KEY".into()], user_id: true, ..Requirements::default() },
        hints: Hints { read_only: Some(true), tasks: Some(TaskSupport::Optional), ..Hints::default() },
        extra: Passthrough::of("mcp", raw_of(&json!({ "title": "Full" }))),
        ..tool("full")
    };
    let (store, source) = (Arc::new(MemoryStore::default()), Late::new());
    source.0.send_replace(Some(Ok(vec![full.clone()].into())));
    let gateway = restarted(&store, &source, "one");
    gateway.sources().settled(START_WAIT).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let gateway = restarted(&store, &Late::new(), "one");
    gateway.sources().wait_until_started().await;
    let catalog = gateway.catalog();
    assert_eq!(catalog.every().map(|entry| entry.tool.clone()).collect::<Vec<_>>(), [full]);
}
