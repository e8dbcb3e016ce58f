//! Rust functions as tools, served in this process.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use toolmux::oxp::{Client, ToolCall};
use toolmux::source::{Outcome, Source};
use toolmux::{Context, Hints, Running, Secret, Server, ToolError, Toolkit, Version, tool};

use crate::process::request;

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

async fn divide(numbers: Numbers) -> Result<i64, ToolError> {
    numbers.a.checked_div(numbers.b).ok_or_else(|| ToolError::new("cannot divide by zero"))
}

async fn nothing() -> Result<(), ToolError> {
    Ok(())
}

async fn call(running: &Running, tool: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "method": tool, "params": params, "id": 7 }).to_string();
    let mut stream = tokio::net::TcpStream::connect(running.address()).await.expect("it listens");
    stream.write_all(&request("POST /opentool/call", "", body.as_bytes())).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(body).expect("JSON")
}

async fn check(name: &str, params: Value, expect: Value) {
    let toolkit = Toolkit::new("Calculator").tool(tool("divide", "Divides", divide)).tool(tool(
        "nothing",
        "Does nothing",
        nothing,
    ));
    let running = Server::new().listen("127.0.0.1:0").toolkit(toolkit).start().await.expect("started");
    let answer = call(&running, name, params).await;
    running.stop().await;
    assert_eq!(answer, expect);
}

#[tokio::test]
async fn a_function_returns() {
    check(
        "Calculator_divide",
        json!({ "a": 7, "b": 2 }),
        json!({ "jsonrpc": "2.0", "result": { "result": 3 }, "error": null, "id": 7 }),
    )
    .await;
    check("Calculator_nothing", json!({}), json!({ "jsonrpc": "2.0", "result": {}, "error": null, "id": 7 }))
        .await;
}

#[tokio::test]
async fn a_function_fails() {
    check(
        "Calculator_divide",
        json!({ "a": 7, "b": 0 }),
        json!({ "jsonrpc": "2.0", "result": {}, "error": { "code": 500, "message": "cannot divide by zero" }, "id": 7 }),
    )
    .await;
}

#[tokio::test]
async fn its_types_are_its_schema() {
    let faults = json!([
        { "parameter": "a", "message": "must be an integer, got number 1.5" },
        { "parameter": "b", "message": "is required but missing" },
    ]);
    let message = "Invalid arguments: `a` must be an integer, got number 1.5; `b` is required but missing";
    let error = json!({ "code": 400, "message": message, "data": { "parameter_errors": faults } });
    let expect = json!({ "jsonrpc": "2.0", "result": {}, "error": error, "id": 7 });
    check("Calculator_divide", json!({ "a": 1.5 }), expect).await;
}

async fn greet(numbers: Numbers, context: Context) -> Result<String, ToolError> {
    Ok(format!("{} asks for {}", context.caller, numbers.a))
}

#[tokio::test]
async fn a_function_may_take_nothing_an_input_or_an_input_and_a_context() {
    let toolkit = Toolkit::new("Kit")
        .tool(tool("none", "", nothing))
        .tool(tool("input", "", divide))
        .tool(tool("both", "", greet))
        .tool(tool("unit", "", |(): (), context: Context| async move { Ok(context.caller) }));
    let running = Server::new().listen("127.0.0.1:0").toolkit(toolkit).start().await.expect("started");
    for (name, input, expect) in [
        ("none", json!({}), json!(null)),
        ("input", json!({ "a": 6, "b": 2 }), json!(3)),
        ("both", json!({ "a": 6, "b": 2 }), json!("anonymous asks for 6")),
        ("unit", json!({}), json!("anonymous")),
    ] {
        assert_eq!(returned(&running, &format!("Kit.{name}"), &input).await, expect, "{name}");
    }
    running.stop().await;
}

pub(crate) async fn returned(running: &Running, tool: &str, input: &Value) -> Value {
    let client = Client::new(&running.url()).expect("an address");
    match client.call(&ToolCall::new(tool, input)).await.expect("an answer").outcome {
        Outcome::Returned(output) => serde_json::from_str(output.value.get()).expect("JSON"),
        Outcome::Failed(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn what_is_said_of_a_tool_is_said_of_no_other_in_any_order() {
    let second = Version::new(2, 0, 0);
    let idempotent = Hints { idempotent: Some(true), ..Hints::default() };
    let toolkit = Toolkit::new("Calculator")
        .tool(tool("divide", "Divides", divide).version(second).read_only().hints(idempotent))
        .tool(tool("divide", "Divides", divide).hints(idempotent).destructive())
        .tool(tool("nothing", "Does nothing", nothing));
    let said: Vec<_> = toolkit
        .tools()
        .await
        .expect("a list")
        .tools
        .iter()
        .map(|tool| (tool.version, tool.hints.read_only, tool.hints.idempotent, tool.hints.destructive))
        .collect();
    let yes = Some(true);
    let first = Version::FIRST;
    assert_eq!(said, [(second, yes, yes, None), (first, None, yes, yes), (first, None, None, None)]);
}

#[tokio::test]
async fn two_versions_of_a_function_are_two_functions() {
    let toolkit = Toolkit::new("Kit")
        .tool(tool("name", "", || async { Ok("old") }))
        .tool(tool("name", "", || async { Ok("new") }).version(Version::new(2, 0, 0)));
    let running = Server::new().listen("127.0.0.1:0").toolkit(toolkit).start().await.expect("started");
    assert_eq!(returned(&running, "Kit.name@1.0.0", &json!({})).await, "old");
    assert_eq!(returned(&running, "Kit.name@2.0.0", &json!({})).await, "new");
    running.stop().await;
}

#[tokio::test]
async fn what_another_server_lists_does_not_keep_this_one_from_starting() {
    let toolkit = || Toolkit::new("Calculator").tool(tool("divide", "Divides", divide));
    let server = || Server::new().listen("127.0.0.1:0").toolkit(toolkit());
    let running = server().source("Calculator", Arc::new(toolkit())).start().await.expect("started");
    assert_eq!(running.gateway().catalog().unserved().len(), 1);
    running.stop().await;
    let mistake = server().toolkit(toolkit()).start().await.err().expect("refused").to_string();
    assert!(mistake.contains("`divide` of `Calculator 2` cannot be served"), "{mistake}");
}

#[tokio::test]
async fn an_address_that_others_reach_needs_a_key() {
    let open = Server::new().listen("0.0.0.0:0").start().await;
    assert!(open.err().expect("refused").to_string().contains("no key is given"));
    let keyed =
        Server::new().listen("0.0.0.0:0").key("ann", &Secret::new("k")).start().await.expect("started");
    keyed.stop().await;
}
