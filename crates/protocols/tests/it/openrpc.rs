//! JSON-RPC servers with an OpenRPC document: where the document comes from, what is sent, and what errors mean.

use std::path::Path;
use std::sync::Arc;

use axum::response::Response;
use serde_json::{Value, json};
use toolmux_core::gateway::Gateway;
use toolmux_core::outcome::{Content, Outcome};

use crate::api_server::{ApiRequest, ApiServer, answer, call, called, json as json_answer, mounted, open};

fn method(name: &str, structure: &str, params: &[&str]) -> Value {
    let params: Vec<Value> = params.iter().map(|name| json!({ "name": name, "schema": {} })).collect();
    json!({ "name": name, "paramStructure": structure, "params": params, "result": { "name": "r", "schema": { "type": "integer" } } })
}

fn document() -> Value {
    json!({
        "openrpc": "1.3.2", "info": { "title": "T", "version": "3.2.1" },
        "methods": [
            method("named", "by-name", &["a", "b"]), method("placed", "by-position", &["a", "b"]),
            method("either", "either", &["a", "b"]), { "name": "tell", "params": [] },
            method("invalid", "either", &[]), method("gone", "either", &[]), method("unread", "either", &[]),
            method("data", "either", &[]), method("status", "either", &[]),
        ],
    })
}

/// Answers methods by their names; others with the parameters that came.
fn serve(request: &ApiRequest) -> Response {
    if request.line == "GET /openrpc.json" {
        return json_answer(&document().to_string());
    }
    let asked: Value = serde_json::from_slice(&request.body).expect("JSON");
    let error = |code: i64, data: Value| json!({ "code": code, "message": "no", "data": data });
    let (status, member, value) = match asked["method"].as_str().expect("a method") {
        "rpc.discover" => (200, "result", document()),
        "tell" => return answer(202, &[], ""),
        "invalid" => (200, "error", error(-32602, Value::Null)),
        "gone" => (200, "error", error(-32601, Value::Null)),
        "unread" => (400, "error", error(-32600, Value::Null)),
        "data" => (200, "error", error(7, json!({ "why": "x" }))),
        "status" => (500, "error", error(-32000, Value::Null)),
        _ => (200, "result", asked["params"].clone()),
    };
    let body = json!({ "jsonrpc": "2.0", "id": asked["id"], member: value }).to_string();
    answer(status, &[("content-type", "application/json")], body)
}

async fn source(table: Value) -> Arc<Gateway> {
    mounted(open("openrpc", table, Path::new(".")).unwrap_or_else(|error| panic!("{error}"))).await
}

#[tokio::test]
async fn parameters_go_by_name_or_by_position_and_errors_keep_their_code() {
    let server = ApiServer::start(serve).await;
    let gateway = source(json!({ "url": server.base, "output": "off" })).await;
    let both = r#"{"b":2.50, "a":123456789012345678901234567890}"#;
    for (tool, arguments, expect) in [
        ("named", both, both),
        ("placed", both, "[123456789012345678901234567890,2.50]"),
        ("placed", r#"{"b":1}"#, "[null,1]"),
        ("either", r#"{"a":1}"#, "[1]"),
        ("either", r#"{"b":1}"#, r#"{"b":1}"#),
        ("tell", "{}", "null"),
        ("invalid", "{}", "failed: no (JSON-RPC error -32602)"),
        ("gone", "{}", "unknown_tool: Tool `gone` was not found"),
        ("unread", "{}", "internal: The server could not read the request"),
        ("data", "{}", r#"failed: no (JSON-RPC error 7): {"why":"x"}"#),
        ("status", "{}", "failed: no (JSON-RPC error -32000)"),
        ("named", r#"{"c":1}"#, "invalid: Invalid arguments: `c` is not a known parameter"),
    ] {
        server.take();
        let told = called(&gateway, tool, arguments).await;
        // Our server reads numbers before it writes them, so that what it was sent is what counts.
        let sent = server.take().first().map(ApiRequest::text).unwrap_or_default();
        let is_echo = expect.starts_with(['[', '{']);
        assert!(
            told == expect || is_echo && sent.ends_with(&format!(r#""params":{expect}}}"#)),
            "{tool}: {told} {sent}"
        );
    }
    let notification = {
        called(&gateway, "tell", "{}").await;
        server.take().remove(0).text()
    };
    assert_eq!(notification, r#"{"jsonrpc":"2.0","method":"tell","params":[]}"#);
    let catalog = gateway.catalog();
    let entry = catalog.every().find(|entry| &*entry.flat == "named").expect("listed");
    assert_eq!(entry.tool.version.to_string(), "3.2.1");
}

#[tokio::test]
async fn results_are_checked_against_the_document() {
    let server = ApiServer::start(serve).await;
    for (check, expect) in [("warn", 2), ("strict", 0)] {
        let gateway = source(json!({ "url": server.base, "output": check })).await;
        match call(&gateway, "either", r#"{"a":"x"}"#).await {
            Ok(Outcome::Returned(output)) => {
                assert_eq!(output.content.len(), expect, "{check}");
                let note = output.content.last().and_then(Content::as_text).unwrap_or_default();
                assert!(note.contains("must be an integer"), "{note}");
            }
            Ok(Outcome::Failed(error)) => assert_eq!(check, "strict", "{error:?}"),
            Err(refusal) => panic!("{refusal:?}"),
        }
    }
}

/// Where the document names its server by `servers`, whether the tools are listed, and what a call says.
async fn check_server(table: &dyn Fn(&Path) -> Value, named: Option<&str>, expect: Result<(), &str>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = document();
    if let Some(url) = named {
        document["servers"] = json!([{ "url": url }]);
    }
    let file = folder.path().join("api.json");
    std::fs::write(&file, document.to_string()).expect("a file");
    let source = open("openrpc", table(&file), folder.path()).unwrap_or_else(|error| panic!("{error}"));
    let told = match source.tools().await {
        Ok(_) => called(&mounted(source).await, "either", r#"{"a":1}"#).await,
        Err(error) => error.message().public,
    };
    match expect {
        Ok(()) => assert_eq!(told, "[1]"),
        Err(expect) => assert!(told.contains(expect), "{expect} is not in: {told}"),
    }
}

#[tokio::test]
async fn a_server_that_only_the_document_names_is_not_trusted() {
    let server = ApiServer::start(serve).await;
    let base = server.base.as_str();
    let by_file = |file: &Path| json!({ "document": file });
    check_server(&by_file, None, Err("names no server")).await;
    check_server(&by_file, Some("/rpc"), Err("names no server")).await;
    check_server(&by_file, Some("file:///etc/passwd"), Err("names no server")).await;
    check_server(&by_file, Some(base), Err("unavailable: Cannot connect to")).await;
    let private = |file: &Path| json!({ "document": file, "allow_private": true, "output": "off" });
    check_server(&private, Some(base), Ok(())).await;
    let with_headers =
        |file: &Path| json!({ "document": file, "allow_private": true, "headers": { "X-Key": "hunter2" } });
    check_server(&with_headers, Some(base), Err("add its address as `url`")).await;
    let configured = |file: &Path| json!({ "document": file, "url": base, "headers": { "X-Key": "hunter2" }, "output": "off" });
    check_server(&configured, Some("http://evil.example/"), Ok(())).await;
    assert_eq!(server.take().last().expect("asked").header("x-key"), "hunter2");
}

#[tokio::test]
async fn a_document_at_an_address_leads_to_the_server_beside_it() {
    let server = ApiServer::start(|request| {
        if request.line == "GET /openrpc.json" {
            let mut document = document();
            document["servers"] = json!([{ "url": "rpc" }]);
            return json_answer(&document.to_string());
        }
        serve(request)
    })
    .await;
    let other = ApiServer::start(serve).await;
    let address = format!("{}/openrpc.json", server.base);
    let headers = json!({ "X-Key": "hunter2" });
    let gateway = source(json!({ "document": address, "headers": headers, "output": "off" })).await;
    assert_eq!(called(&gateway, "either", r#"{"a":1}"#).await, "[1]");
    let asked = server.take();
    assert!(asked.iter().all(|request| request.header("x-key") == "hunter2"));
    assert_eq!(asked.last().expect("asked").line, "POST /rpc");
    // What is for one host is not shown to the other that has the document.
    let gateway =
        source(json!({ "document": address, "url": other.base, "headers": headers, "output": "off" })).await;
    assert_eq!(called(&gateway, "either", r#"{"a":1}"#).await, "[1]");
    assert!(server.take().iter().all(|request| request.header("x-key").is_empty()));
    assert!(other.take().iter().all(|request| request.header("x-key") == "hunter2"));
}

#[tokio::test]
async fn a_server_that_does_not_describe_itself_says_what_to_do() {
    let server = ApiServer::start(|_| {
        json_answer(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#)
    })
    .await;
    let source = open("openrpc", json!({ "url": server.base }), Path::new("."))
        .unwrap_or_else(|error| panic!("{error}"));
    let words = source.tools().await.expect_err("no list").message().public;
    assert!(words.contains("`rpc.discover`") && words.contains("`document` can name"), "{words}");
    let message = |table: Value| open("openrpc", table, Path::new(".")).err().expect("refused").to_string();
    assert!(message(json!({})).contains("needs a `url` or a `document`"));
    assert!(message(json!({ "url": "ftp://h" })).contains("`url` is not the address"));
    assert!(message(json!({ "document": "absent.json" })).contains("cannot be read"));
}
