//! Workflows: checked before they run, run step by step for whoever calls, served as a tool.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolmux_core::gateway::{Admission, ApiKey, Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::source::Source;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::toolset::{Pattern, Toolset};
use toolmux_protocols::registry::{OpenError, Opening};
use toolmux_protocols::workflow::check as faults;

use crate::opentool::{SETTLE, Server};
use crate::scripted_source::Scripted;

fn document(steps: Value) -> String {
    let info = json!({ "title": "flow", "version": "0.1.0" });
    json!({ "openworkflow": "1.0.0", "info": info, "workflow": steps }).to_string()
}

fn open(text: &str) -> Result<Arc<dyn Source>, OpenError> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("w.json"), text).expect("written");
    let table = json!({ "document": "w.json", "step_timeout": "5s" });
    open_in(folder.path(), table)
}

fn open_in(folder: &Path, table: Value) -> Result<Arc<dyn Source>, OpenError> {
    let kind = toolmux_protocols::SOURCES.iter().find(|kind| kind.kind == "workflow").expect("known");
    (kind.open)(&Opening { name: "Flow", table, folder, secrets: &|_| Err("none".to_owned()) })
}

async fn serve(steps: Value, settings: Settings) -> (Server, Arc<Scripted>) {
    let scripted = Scripted::lowercase();
    let gateway = Gateway::new(settings, Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Bare, scripted.clone()));
    let flow = open(&document(steps)).unwrap_or_else(|error| panic!("{error}"));
    gateway.sources().mount(Mount::new("Flow", "Flow", Naming::Bare, flow));
    gateway.sources().settled(SETTLE).await;
    (Server::over(gateway).await, scripted)
}

/// What a workflow of these steps gives, or the words of its error, and how many calls it made.
async fn check(steps: Value, params: &str, expect: (Value, usize)) {
    let (server, scripted) = serve(steps, Settings::default()).await;
    let answer: Value = serde_json::from_str(&server.call("flow", params).await.1).expect("JSON");
    let told = answer["error"].get("message").unwrap_or(&answer["result"]).clone();
    assert_eq!((told, scripted.runs()), expect);
}

fn two_steps() -> Value {
    json!({
        "start": { "function": "echo", "arguments": { "list": [1, { "deep": "found" }], "n": 2 }, "results": { "list": [0] }, "next": "wait" },
        "wait": { "function": "sleep", "arguments": { "milliseconds": 1 }, "results": {}, "next": "end" },
        "end": { "function": "echo", "results": {}, "next": "null",
            "arguments": { "a": ["#/start/results/list/1/deep"], "b": { "c": "#/start/arguments/n" } } }
    })
}

#[tokio::test]
async fn steps_run_in_order_with_what_earlier_ones_took_and_gave() {
    check(two_steps(), "{}", (json!({ "a": ["found"], "b": { "c": 2 } }), 2)).await;
}

#[tokio::test]
async fn arguments_of_the_first_step_are_the_parameters_of_the_tool() {
    check(two_steps(), r#"{"n":9}"#, (json!({ "a": ["found"], "b": { "c": 9 } }), 2)).await;
    check(
        two_steps(),
        r#"{"n":"x"}"#,
        (json!("Invalid arguments: `n` must be a number, got string \"x\""), 0),
    )
    .await;
}

#[tokio::test]
async fn a_value_that_is_no_object_is_the_member_result() {
    let steps = json!({
        "start": { "function": "add", "arguments": { "a": 1, "b": 2 }, "results": { "result": 0 }, "next": "two" },
        "two": { "function": "Kit.add", "arguments": { "a": "#/start/results/result", "b": 1 }, "results": {}, "next": null }
    });
    check(steps, "{}", (json!({ "result": 4.0 }), 2)).await;
}

#[tokio::test]
async fn nothing_runs_when_a_function_is_missing() {
    let steps = json!({
        "start": { "function": "echo", "arguments": {}, "results": {}, "next": "two" },
        "two": { "function": "gone", "arguments": {}, "results": {}, "next": "" }
    });
    check(steps, "{}", (json!("The workflow needs functions that do not exist: `gone` of step `two`"), 0))
        .await;
}

#[tokio::test]
async fn a_step_that_fails_ends_the_run_and_says_what_has_run() {
    let then = |function: &str, arguments: Value| {
        json!({
            "start": { "function": "echo", "arguments": { "x": 1 }, "results": {}, "next": "two" },
            "two": { "function": function, "arguments": arguments, "results": { "id": 0 }, "next": "" }
        })
    };
    let failed = "Step `two` (`fail`) failed: It is not there; ran before: start";
    check(then("fail", json!({})), "{}", (json!(failed), 2)).await;
    let refused = "Step `two` (`add`) failed: Invalid arguments: `a` is required but missing; `b` is required but missing; ran before: start";
    check(then("add", json!({})), "{}", (json!(refused), 1)).await;
    let shape =
        "Step `two` (`echo`) failed: its result does not fit `results`: `id` is missing; ran before: start";
    check(then("echo", json!({})), "{}", (json!(shape), 2)).await;
    let nowhere = "Step `two` (`echo`) failed: `#/start/results/y` leads nowhere; ran before: start";
    check(then("echo", json!({ "id": "#/start/results/y" })), "{}", (json!(nowhere), 1)).await;
}

#[tokio::test]
async fn progress_is_told_step_by_step() {
    let (server, _) = serve(two_steps(), Settings::default()).await;
    let pieces = server.stream("flow", "{}").await;
    let told = |n: usize| pieces[n].contains(&format!(r#""progress":{{"done":{}.0,"total":3.0"#, n - 1));
    assert!(told(1) && told(2) && told(3), "{pieces:?}");
    assert_eq!(pieces.len(), 6);
}

#[tokio::test]
async fn a_workflow_can_do_no_more_than_its_caller() {
    let keys =
        vec![ApiKey { name: "few".into(), sha256: Secret::new("k").sha256(), toolset: Some("few".into()) }];
    let settings = Settings {
        admission: Admission { keys, jwt: None },
        toolsets: vec![Toolset { name: "few".into(), tools: vec![Pattern::new("Flow.*")] }],
        ..Settings::default()
    };
    let (server, scripted) = serve(two_steps(), settings).await;
    let body = r#"{"method":"flow","id":1}"#;
    let key = [("authorization", "Bearer k")];
    let answer = server.ask(http::Method::POST, "/opentool/call", &key, body).await.2;
    assert!(answer.contains("functions that do not exist: `echo` of step `start`"), "{answer}");
    assert_eq!(scripted.runs(), 0);
}

#[tokio::test]
async fn workflows_that_call_each_other_in_circles_come_to_an_end() {
    let steps = json!({ "start": { "function": "flow", "arguments": {}, "results": {}, "next": "" } });
    check(steps, "{}", (json!("Tools call each other more than 8 levels deep"), 0)).await;
}

#[test]
fn every_fault_is_told_before_anything_runs() {
    let text = r##"{
  "info": { "title": "faults" },
  "workflow": {
    "begin": {},
    "start": { "function": "f", "arguments": { "a": "#/later/results/x", "b": ["#/nobody/results/x"], "c": "#/x" }, "results": [], "next": "later" },
    "later": { "function": "g", "arguments": { "a": "#/start/arguments/none", "b": "#/start/results/none" }, "results": {}, "next": "start" },
    "lost": { "function": "h", "arguments": {}, "results": {} }
  }
}"##;
    let told = |text: &str| {
        let each: Vec<String> =
            faults(text).iter().map(|fault| format!("{fault}\n    {}", fault.remedy)).collect();
        each.join("\n")
    };
    insta::assert_snapshot!("faults", told(text));
    insta::assert_snapshot!(
        "faults_of_order",
        told(&text.replace(r#""begin": {},"#, "").replace("\"results\": []", "\"results\": {}"))
    );
    assert_eq!(faults(&document(two_steps())), Vec::new());
    let error = open(text).err().expect("refused");
    assert!(error.to_string().contains("is not a workflow that can run"), "{error}");
}

#[test]
fn settings_say_what_is_wrong_with_them() {
    let told = |table: Value| open_in(Path::new("."), table).err().expect("refused").to_string();
    assert!(told(json!({ "document": "none.json" })).starts_with("the file of `document` cannot be read: "));
    assert_eq!(told(json!({})), "it needs `document`");
}

#[test]
fn a_document_may_stand_in_the_configuration() {
    let inline = |text: &str| {
        let document: Value = serde_json::from_str(text).expect("JSON");
        open_in(Path::new("."), json!({ "document": document }))
    };
    assert!(inline(&document(two_steps())).is_ok());
    let error =
        inline(r#"{ "openworkflow": "1.0.0", "workflow": { "sk-live-SECRET": 1 } }"#).err().expect("refused");
    assert_eq!(error.to_string(), "`document` is not a workflow that can run");
}
