//! What configuration makes of the tools of any source: hidden, renamed, described otherwise, with arguments fixed.

use std::sync::Arc;

use serde_json::{Value, json};
use toolmux_core::catalog::UnservedCause;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::schema::Schema;
use toolmux_core::sources::{ToolSettings, UnusedSetting};
use toolmux_core::tool::Tool;
use toolmux_core::toolset::Pattern;

use crate::fixture::{Fixture, anyone, call, gateway, tool};

fn settings(tools: Vec<(&str, ToolSettings)>) -> Settings {
    let tools = tools.into_iter().map(|(pattern, settings)| (Pattern::new(pattern), settings)).collect();
    Settings { tools, ..Settings::default() }
}

fn hidden(hidden: bool) -> ToolSettings {
    ToolSettings { hidden: Some(hidden), ..ToolSettings::default() }
}

fn named(name: &str) -> ToolSettings {
    ToolSettings { name: Some(name.to_owned()), ..ToolSettings::default() }
}

fn fixing(arguments: Value) -> ToolSettings {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolSettings { arguments, ..ToolSettings::default() }
}

/// A tool that returns its arguments.
fn echo() -> Tool {
    let schema = json!({ "type": "object", "required": ["owner", "n"], "additionalProperties": false,
        "properties": { "owner": { "type": "string" }, "n": { "type": "integer" } } });
    Tool::new("arguments", "Says what it got", Schema::new(schema))
}

async fn serving(settings: Settings, tools: Vec<Tool>) -> Arc<Gateway> {
    gateway(settings, &Fixture::with(tools)).await
}

fn names(gateway: &Gateway) -> Vec<String> {
    let caller = anyone(gateway);
    gateway.catalog().newest(&caller).map(|entry| entry.flat.to_string()).collect()
}

#[tokio::test]
async fn a_hidden_tool_is_unknown_and_an_exact_name_wins_over_a_pattern() {
    let rules = settings(vec![("Kit.*", hidden(true)), ("Kit.get-one", hidden(false))]);
    let gateway = serving(rules, vec![tool("get-one"), tool("get-two")]).await;
    assert_eq!(names(&gateway), ["Kit_get-one"]);
    let told = async |tool: &str| call(&gateway, tool, json!({})).await.replace(tool, "TOOL");
    assert_eq!(told("Kit_get-two").await, told("Kit_get-six").await);
    assert!(told("Kit_get-two").await.starts_with("unknown_tool: "));
    let catalog = gateway.catalog();
    let [unserved] = catalog.unserved() else { panic!("{:?}", catalog.unserved()) };
    assert_eq!(unserved.cause, UnservedCause::Hidden);
    assert_eq!(unserved.reason, "[tools.\"Kit.*\"] hides it");
}

#[tokio::test]
async fn a_tool_is_called_by_its_new_name_alone() {
    let described = ToolSettings { description: Some("In other words".into()), ..named("say") };
    let gateway = serving(settings(vec![("Kit.arguments", described)]), vec![echo()]).await;
    assert_eq!(names(&gateway), ["Kit_say"]);
    assert_eq!(call(&gateway, "Kit_say", json!({ "owner": "a", "n": 1 })).await, r#"{"owner":"a","n":1}"#);
    assert!(call(&gateway, "Kit_arguments", json!({})).await.starts_with("unknown_tool: "));
    let entry = Arc::clone(gateway.catalog().every().next().expect("one tool"));
    assert_eq!((entry.id.to_string().as_str(), &*entry.tool.name), ("Kit.say@1.0.0", "arguments"));
    assert!(entry.redescribed && entry.tool.description == "In other words");
}

#[tokio::test]
async fn a_name_that_another_tool_has_is_not_given_unless_that_one_is_hidden() {
    let tools = || vec![tool("old"), tool("new")];
    let clash = serving(settings(vec![("Kit.new", named("old"))]), tools()).await;
    assert_eq!(names(&clash), ["Kit_old"]);
    let unserved = clash.catalog().unserved()[0].clone();
    assert_eq!(unserved.cause, UnservedCause::Collision);
    for part in ["[tools.\"Kit.new\"]", "tool `old`"] {
        assert!(unserved.reason.contains(part), "{}", unserved.reason);
    }
    let free = serving(settings(vec![("Kit.new", named("old")), ("Kit.old", hidden(true))]), tools()).await;
    assert_eq!(names(&free), ["Kit_old"]);
    assert_eq!(&*free.catalog().every().next().expect("one").tool.name, "new");
}

#[tokio::test]
async fn a_fixed_argument_is_in_every_call_and_in_no_schema() {
    let rules = settings(vec![("Kit.*", fixing(json!({ "owner": "acme", "other": 1 })))]);
    let gateway = serving(rules, vec![echo(), tool("run")]).await;
    let entry = Arc::clone(gateway.catalog().every().next().expect("a tool"));
    let seen = entry.tool.input.value();
    assert_eq!((&seen["required"], seen["properties"].get("owner")), (&json!(["n"]), None));
    assert_eq!(call(&gateway, "Kit_arguments", json!({ "n": 1 })).await, r#"{"owner":"acme","n":1}"#);
    assert_eq!(call(&gateway, "Kit_run", json!({})).await, "2", "a tool without such a parameter");
    for (arguments, expect) in [
        (json!({ "n": 1, "owner": "evil" }), "invalid: Invalid arguments: `owner` is not a known parameter"),
        (json!({}), "invalid: Invalid arguments: `n` is required but missing"),
    ] {
        assert_eq!(call(&gateway, "Kit_arguments", arguments).await, expect);
    }
}

#[tokio::test]
async fn a_fixed_argument_that_does_not_fit_is_the_fault_of_the_server() {
    let gateway =
        serving(settings(vec![("Kit.arguments", fixing(json!({ "owner": 5 })))]), vec![echo()]).await;
    let told = call(&gateway, "Kit_arguments", json!({ "n": 1 })).await;
    assert!(told.starts_with("internal: "), "{told}");
}

#[tokio::test]
async fn settings_without_effect_are_found() {
    let rules = settings(vec![
        ("Kit.run", fixing(json!({ "a": 1, "b": 2 }))),
        ("Kit.walk", named("go")),
        ("Kit.gone", hidden(true)),
        ("Kit.none", hidden(true)),
    ]);
    let gateway = serving(rules, vec![tool("run"), tool("walk"), tool("gone")]).await;
    let expect = [
        UnusedSetting::Argument(Pattern::new("Kit.run"), "b".into()),
        UnusedSetting::Pattern(Pattern::new("Kit.none")),
    ];
    assert_eq!(gateway.sources().unused_settings(), expect);
}
