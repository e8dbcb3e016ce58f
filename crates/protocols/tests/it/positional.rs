//! An array is no request: members that stand in the order of our structs, without their names, run nothing.

use http::Method;
use serde_json::{Value, json};
use toolmux_core::gateway::Settings;

use crate::oxp::Server;
use crate::scripted_source::Scripted;

async fn check(path: &str, body: &Value) {
    let source = Scripted::new();
    let server = Server::start(Settings::default(), source.clone()).await;
    let headers = [("accept", "application/json, text/event-stream")];
    let (status, _, answer) = server.ask(Method::POST, path, &headers, &body.to_string()).await;
    assert_eq!(source.runs(), 0, "{path} {body}: {status} {answer}");
    assert!(!answer.to_string().contains("\"id\":0"), "no id was given: {answer}");
}

#[tokio::test]
async fn an_array_is_no_call() {
    let add = json!({ "a": 1, "b": 2 });
    check("/opentool/call", &json!(["Kit_Add", add, "1"])).await;
    check("/opentool/call", &json!([0])).await;
    check("/tools/call", &json!(["Kit.Add", "call-1", null, add])).await;
    check("/tools/call", &json!({ "request": ["Kit.Add", "call-1", null, add] })).await;
    let params = json!(["Kit_Add", null, add]);
    check("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
}
