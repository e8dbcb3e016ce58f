//! Sources come, change, fail and go; the catalogue never suffers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::catalog::UnservedCause;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::schema::Schema;
use toolmux_core::sources::{Mount, Naming, SourceStatus, ToolSettings};
use toolmux_core::tool::Tool;
use toolmux_core::toolset::Pattern;

use crate::fixture::{Fixture, LONG, anyone, call, gateway, tool, versioned};

/// A source that never says what it has.
struct Silent;

impl Source for Silent {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::pending())
    }

    fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(std::future::pending())
    }
}

fn names(gateway: &Gateway) -> Vec<String> {
    let caller = anyone(gateway);
    gateway.catalog().newest(&caller).map(|entry| entry.flat.to_string()).collect()
}

async fn next_revision(gateway: &Gateway, act: impl FnOnce()) {
    let mut revision = gateway.sources().revision();
    revision.mark_unchanged();
    act();
    revision.changed().await.expect("the gateway lives");
}

#[tokio::test]
async fn a_silent_source_delays_nobody() {
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("Silent", "Silent", Naming::Prefixed, Arc::new(Silent)));
    let mut revision = gateway.sources().revision();
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, Fixture::with(vec![tool("run")])));
    revision.changed().await.expect("the gateway lives");
    assert_eq!(call(&gateway, "Kit_run", json!({})).await, "1");
    assert_eq!(gateway.sources().reports()[0].status, SourceStatus::Connecting);
}

#[tokio::test]
async fn a_source_that_fails_keeps_what_it_listed_and_recovers() {
    let source = Fixture::with(vec![tool("run")]);
    let gateway = gateway(Settings::default(), &source).await;
    next_revision(&gateway, || source.list(None)).await;
    assert!(matches!(gateway.sources().reports()[0].status, SourceStatus::Failing(_)));
    assert_eq!(names(&gateway), ["Kit_run"]);
    next_revision(&gateway, || source.list(Some(vec![tool("run"), tool("more")].into()))).await;
    assert_eq!(names(&gateway), ["Kit_run", "Kit_more"]);
}

#[tokio::test]
async fn a_tool_with_a_bad_schema_costs_only_itself() {
    let bad = Tool::new("bad", "bad", Schema::new(json!({ "type": "array", "items": {} })));
    let gateway = gateway(Settings::default(), &Fixture::with(vec![bad, tool("run")])).await;
    assert_eq!(names(&gateway), ["Kit_run"]);
    let unserved = gateway.catalog().unserved().to_vec();
    assert_eq!(unserved[0].tool, "bad");
    assert!(unserved[0].reason.contains("must describe an object"), "{}", unserved[0].reason);
    assert_eq!(unserved[0].cause, UnservedCause::Unusable);
}

#[tokio::test]
async fn a_tool_with_a_sloppy_schema_is_served_and_the_rest_of_the_schema_holds() {
    let sloppy = json!({ "type": "object", "required": null, "properties": { "a": { "type": "int" } } });
    let sloppy = Tool::new("sloppy", "sloppy", Schema::new(sloppy));
    let gateway = gateway(Settings::default(), &Fixture::with(vec![sloppy, tool("run")])).await;
    assert_eq!(names(&gateway), ["Kit_sloppy", "Kit_run"]);
    let catalog = gateway.catalog();
    let entries: Vec<_> = catalog.every().map(|entry| (entry.reshaped, entry.repairs.join("; "))).collect();
    let said = "`required` is left out; `properties.a.type` \"int\" is read as \"integer\"";
    assert_eq!(entries, [(true, said.to_owned()), (false, String::new())]);
    let shown = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    assert_eq!(*catalog.entry(0).tool.input.value(), shown);
    assert_eq!(call(&gateway, "Kit_sloppy", json!({ "a": 1 })).await, "1");
    assert!(call(&gateway, "Kit_sloppy", json!({ "a": "x" })).await.starts_with("invalid"));
}

#[tokio::test]
async fn two_tools_of_one_name_name_both_sources() {
    let gateway = gateway(Settings::default(), &Fixture::with(vec![tool("run")])).await;
    gateway.sources().mount(Mount::new(
        "Other",
        "Kit",
        Naming::Prefixed,
        Fixture::with(vec![tool("run"), tool("own")]),
    ));
    gateway.sources().settled(LONG).await;
    assert_eq!(names(&gateway), ["Kit_run", "Kit_own"]);
    let unserved = gateway.catalog().unserved()[0].clone();
    assert_eq!(unserved.cause, UnservedCause::Collision);
    assert_eq!((unserved.source.as_str(), unserved.tool.as_str()), ("Other", "run"));
    assert!(unserved.reason.contains("of source `Kit`"), "{}", unserved.reason);
}

#[tokio::test]
async fn tools_of_one_source_whose_names_become_one_are_all_served() {
    let listed = ["get-item", "get_item", "a.list", "a_list"].map(tool).into();
    let gateway = gateway(Settings::default(), &Fixture::with(listed)).await;
    assert!(gateway.catalog().unserved().is_empty());
    assert_eq!(names(&gateway), ["Kit_get-item", "Kit_get_item", "Kit_a_list", "Kit_a_list_8910e31c"]);
    let own = |name: &str| {
        let catalog = gateway.catalog();
        catalog.find(&ToolRef::either(name)).map(|place| catalog.entry(place).tool.name.to_string())
    };
    assert_eq!(own("Kit.get_item").as_deref(), Some("get-item"));
    assert_eq!(own("Kit_get_item").as_deref(), Some("get_item"));
    assert_eq!(own("Kit_get_item@1").as_deref(), Some("get_item"));
    assert_eq!(own("Kit.a_list").as_deref(), Some("a.list"));
    assert_eq!(own("Kit.a_list_8910e31c").as_deref(), Some("a_list"));
    let told: Vec<String> = gateway.catalog().every().filter_map(|entry| entry.collision()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].contains("`a_list` and `a.list` of source `Kit`"), "{told:?}");
}

#[tokio::test]
async fn a_tool_is_found_by_each_of_its_names() {
    let listed = ["get-sum", "a.list", "get-item", "get_item"].map(tool).into();
    let gateway = gateway(Settings::default(), &Fixture::with(listed)).await;
    let catalog = gateway.catalog();
    for (own, names) in [
        ("get-sum", &["Kit.get-sum", "Kit.get_sum", "Kit_get-sum", "Kit_get_sum", "Kit.get-sum@1"][..]),
        ("a.list", &["Kit.a.list", "Kit.a_list", "Kit_a_list"]),
        ("get-item", &["Kit.get-item", "Kit.get_item", "Kit_get-item"]),
        ("get_item", &["Kit_get_item"]),
    ] {
        for name in names {
            for wanted in [ToolRef::either(name), ToolRef::flat(name)] {
                let found = catalog.find(&wanted).map(|place| &*catalog.entry(place).tool.name);
                assert_eq!(found, Some(own), "{wanted:?}");
            }
        }
    }
    for name in ["get-sum", "Kits.get-sum", "Kit.get-sums", "Kit_", "_", "."] {
        assert_eq!(catalog.find(&ToolRef::either(name)), None, "{name}");
    }
}

#[tokio::test]
async fn tools_that_are_disabled_are_not_served() {
    let gateway = gateway(Settings::default(), &Fixture::with(Vec::new())).await;
    let source = Fixture::with(["run", "stop"].map(tool).into());
    let mount = Mount::new("Other", "Other", Naming::Prefixed, source).without_tools(vec!["stop".to_owned()]);
    gateway.sources().mount(mount);
    gateway.sources().settled(LONG).await;
    assert_eq!(names(&gateway), ["Other_run"]);
}

#[tokio::test]
async fn names_that_differ_only_in_what_ids_forbid_are_not_versions_of_one_tool() {
    let listed = vec![versioned("get-item", "1.0.0"), versioned("get_item", "2.0.0")];
    let gateway = gateway(Settings::default(), &Fixture::with(listed)).await;
    assert_eq!(names(&gateway).len(), 2);
}

#[tokio::test]
async fn tools_beyond_the_bound_are_counted_and_not_kept() {
    let limits = Limits { tools_per_source: 2, ..Limits::default() };
    let source = Fixture::with(["a", "b", "c", "d", "e"].map(tool).into());
    let gateway = gateway(Settings { limits, ..Settings::default() }, &source).await;
    assert_eq!(names(&gateway), ["Kit_a", "Kit_b"]);
    let unserved = gateway.catalog().unserved().to_vec();
    assert_eq!((unserved.len(), unserved[0].tool.as_str()), (1, "c"));
    assert_eq!(unserved[0].reason, "the source has more than 2 tools; this and 2 more are not served");
}

#[tokio::test]
async fn settings_that_change_hold_for_tools_that_were_listed_before() {
    let source = Fixture::with(vec![tool("run")]);
    let gateway = gateway(Settings::default(), &source).await;
    let timeout = Some(Duration::from_secs(7));
    let own = ToolSettings { timeout, ..ToolSettings::default() };
    gateway.configure(Settings { tools: vec![(Pattern::new("Kit.*"), own)], ..Settings::default() });
    next_revision(&gateway, || source.list(Some(vec![tool("run"), tool("more")].into()))).await;
    let timeouts: Vec<_> = gateway.catalog().every().map(|entry| entry.timeout).collect();
    assert_eq!(timeouts, [Duration::from_secs(7); 2]);
    assert_eq!(call(&gateway, "Kit_run", json!({ "a": "x" })).await.split(':').next(), Some("invalid"));
}

#[tokio::test]
async fn a_tool_listed_twice_is_served_once() {
    let gateway = gateway(Settings::default(), &Fixture::with(vec![tool("run"), tool("run")])).await;
    assert_eq!(names(&gateway), ["Kit_run"]);
    let unserved = gateway.catalog().unserved().to_vec();
    assert_eq!(unserved[0].cause, UnservedCause::Unusable);
    assert!(unserved[0].reason.contains("twice"), "{unserved:?}");
}

#[tokio::test]
async fn whoever_holds_a_name_keeps_it() {
    let (first, second) = (Fixture::with(vec![tool("other")]), Fixture::with(vec![tool("run")]));
    let gateway = gateway(Settings::default(), &first).await;
    gateway.sources().mount(Mount::new("Late", "Kit", Naming::Prefixed, second.clone()));
    gateway.sources().settled(LONG).await;
    next_revision(&gateway, || first.list(Some(vec![tool("other"), tool("run")].into()))).await;
    assert_eq!(names(&gateway), ["Kit_other", "Kit_run"]);
    let unserved = gateway.catalog().unserved()[0].clone();
    assert_eq!((unserved.source.as_str(), unserved.tool.as_str()), ("Kit", "run"));
    next_revision(&gateway, || second.list(Some(Vec::new().into()))).await;
    assert_eq!(names(&gateway), ["Kit_other", "Kit_run"]);
    assert!(gateway.catalog().unserved().is_empty());
}

#[tokio::test]
async fn two_sources_may_bring_versions_of_one_toolkit() {
    let gateway = gateway(Settings::default(), &Fixture::with(vec![versioned("run", "1.0.0")])).await;
    gateway.sources().mount(Mount::new(
        "New",
        "Kit",
        Naming::Prefixed,
        Fixture::with(vec![versioned("run", "2.0.0")]),
    ));
    gateway.sources().settled(LONG).await;
    assert_eq!(gateway.catalog().len(), 2);
    assert_eq!(names(&gateway), ["Kit_run"]);
    assert!(gateway.catalog().unserved().is_empty());
}

#[tokio::test]
async fn bare_names_stand_alone() {
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Bare, Fixture::with(vec![tool("get-time")])));
    gateway.sources().settled(LONG).await;
    assert_eq!(names(&gateway), ["get-time"]);
    assert_eq!(call(&gateway, "Kit.get_time", json!({})).await, "1");
}

#[tokio::test]
async fn a_replaced_source_serves_until_its_successor_does() {
    let gateway = gateway(Settings::default(), &Fixture::with(vec![tool("run")])).await;
    let successor = Fixture::with(Vec::new());
    successor.list(None);
    next_revision(&gateway, || {
        gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, successor.clone()));
    })
    .await;
    assert_eq!(names(&gateway), ["Kit_run"]);
    next_revision(&gateway, || successor.list(Some(vec![tool("new")].into()))).await;
    assert_eq!(names(&gateway), ["Kit_new"]);
    assert_eq!(gateway.sources().reports().len(), 1);
}

#[tokio::test]
async fn a_source_that_leaves_takes_its_tools_along() {
    let gateway = gateway(Settings::default(), &Fixture::with(vec![tool("run")])).await;
    gateway.sources().unmount("Kit");
    assert!(gateway.catalog().is_empty());
}
