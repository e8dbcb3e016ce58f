//! The OpenTool server beyond the grid: what public clients send, documents, streams, the end.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_protocols::opentool::{OpenTool, check as faults};

use crate::opentool::Server;
use crate::scripted_source::Scripted;

async fn check(headers: &[(&str, &str)], body: &str, expect: (u16, &str)) {
    let server = Server::scripted().await;
    let (status, _, answer) = server.ask(Method::POST, "/opentool/call", headers, body).await;
    assert_eq!((status, answer.as_str()), expect, "{body}");
}

const GOOD: &str = r#"{"jsonrpc":"2.0","result":{"a":1},"error":null,"id":"id-1"}"#;

#[tokio::test]
async fn requests_of_the_public_clients_are_understood() {
    let json = ("content-type", "application/json");
    let charset = ("content-type", "application/json; charset=utf-8");
    let axios = [
        json,
        ("accept", "application/json, text/plain, */*"),
        ("user-agent", "axios/1.11.0"),
        ("accept-encoding", "gzip, compress, deflate, br"),
    ];
    check(&axios, r#"{"jsonrpc":"2.0.0","method":"echo","id":"id-1","params":{"a":1}}"#, (200, GOOD)).await;
    let okhttp = [charset, ("accept-encoding", "gzip"), ("user-agent", "okhttp/5.5.0")];
    check(&okhttp, r#"{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":"id-1"}"#, (200, GOOD)).await;
    let csharp = [charset, ("accept", "application/json")];
    check(&csharp, r#"{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":"id-1"}"#, (200, GOOD)).await;
    let dart = [json, ("accept", "application/json")];
    check(&dart, r#"{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":"id-1"}"#, (200, GOOD)).await;
}

#[tokio::test]
async fn liberties_of_clients_are_taken_in_good_part() {
    let number = r#"{"jsonrpc":"2.0","result":{},"error":null,"id":42}"#;
    check(&[], r#"{"jsonrpc":"2.0","method":"echo","params":{},"id":42}"#, (200, number)).await;
    check(&[], r#"{"method":"echo","params":null,"id":42,"more":[]}"#, (200, number)).await;
    check(&[("content-type", "text/plain")], r#"{"id":42,"method":"echo"}"#, (200, number)).await;
}

#[tokio::test]
async fn what_is_no_call_is_told_so_with_an_empty_result() {
    let refused = |why: &str| {
        json!({ "jsonrpc": "2.0", "result": {}, "error": { "code": -32700, "message": why }, "id": null })
            .to_string()
    };
    check(&[], r#"{"method":"echo","params":{}}"#, (400, &refused("The request has no `id`"))).await;
    check(&[], r#"{"method":"echo","id":null}"#, (400, &refused("The request has no `id`"))).await;
    check(&[], r#"{"method":"echo","id":{}}"#, (400, &refused("`id` must be a string or a number"))).await;
    check_told(r#"{"method":"echo","id":1"#, (400, -32700, json!(null), "EOF while parsing")).await;
    check_told(r#"{"id":"k","params":{}}"#, (400, -32700, json!("k"), "missing field `method`")).await;
    check_told(r#"{"id":7,"method":["echo"]}"#, (400, -32700, json!(7), "invalid type")).await;
    check_told(r#"{"id":7,"method":"a","method":"b"}"#, (400, -32700, json!(7), "duplicate field `method`"))
        .await;
    check_told(r#"{"id":7,"id":8,"method":"a"}"#, (400, -32700, json!(null), "duplicate field `id`")).await;
}

/// Status, code, id and a part of the message of what answers a body.
async fn check_told(body: &str, (status, code, id, message): (u16, i64, Value, &str)) {
    let server = Server::scripted().await;
    let (told, _, answer) = server.ask(Method::POST, "/opentool/call", &[], body).await;
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let error = &answer["error"];
    assert_eq!((told, &error["code"], &answer["id"]), (status, &json!(code), &id), "{body}: {answer}");
    assert!(error["message"].as_str().expect("a text").contains(message), "{body}: {answer}");
}

#[tokio::test]
async fn a_call_whose_arguments_cannot_be_read_is_answered_under_its_id() {
    for (params, message) in [
        ("[1]", "must be an object, got array"),
        (r#""text""#, "must be an object, got string"),
        (r#"{"a":1,"a":2}"#, "duplicate key `a`"),
        (r#"{"a":1e400}"#, "number out of range"),
        (r#"{"a":"\ud800"}"#, "unexpected end of hex escape"),
    ] {
        let body = format!(r#"{{"method":"echo","id":"k","params":{params}}}"#);
        check_told(&body, (200, 400, json!("k"), message)).await;
    }
}

#[tokio::test]
async fn numbers_and_blanks_come_back_as_the_tool_wrote_them() {
    let server = Server::scripted().await;
    let exact = r#"{"jsonrpc":"2.0","result":{"big":123456789012345678901234567890,"spaced" : [1.50, 1e400]},"error":null,"id":"7"}"#;
    assert_eq!(server.call("exact", "{}").await, (200, exact.to_owned()));
    let params = r#"{"n":1.10,"s" : "é"}"#;
    let echoed = format!(r#"{{"jsonrpc":"2.0","result":{params},"error":null,"id":"7"}}"#);
    assert_eq!(server.call("echo", params).await, (200, echoed));
}

#[tokio::test]
async fn the_version_has_three_numbers() {
    let server = Server::scripted().await;
    let (status, _, body) = server.ask(Method::GET, "/opentool/version", &[], "").await;
    assert_eq!((status, body), (200, format!(r#"{{"version":"{}"}}"#, env!("CARGO_PKG_VERSION"))));
}

#[tokio::test]
async fn the_document_is_good_whole_and_unchanged_until_the_tools_change() {
    let server = Server::scripted().await;
    let (status, headers, body) = server.ask(Method::GET, "/opentool/load", &[], "").await;
    assert_eq!((status, faults(&body)), (200, Vec::new()));
    let document: OpenTool = body.parse().expect("a document");
    assert_eq!(document.functions.len(), 23);
    assert!(document.schemas.is_empty());
    let tag = headers["etag"].to_str().expect("text").to_owned();
    let (status, _, body) = server.ask(Method::GET, "/opentool/load", &[("if-none-match", &tag)], "").await;
    assert_eq!((status, body.as_str()), (304, ""));
    let (status, _, _) = server.ask(Method::GET, "/opentool/load", &[("if-none-match", "\"x\"")], "").await;
    assert_eq!(status, 200);
    server.gateway.sources().unmount("Kit");
    let (status, _, body) = server.ask(Method::GET, "/opentool/load", &[("if-none-match", &tag)], "").await;
    assert_eq!((status, body.as_str()), (200, "{}"));
}

#[tokio::test]
async fn without_tools_the_document_is_empty() {
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    let server = Server::over(gateway).await;
    assert_eq!(server.ask(Method::GET, "/opentool/load", &[], "").await.2, "{}");
}

#[tokio::test]
async fn every_event_is_one_piece_in_the_bytes_that_the_public_client_matches() {
    let server = Server::scripted().await;
    insta::assert_json_snapshot!(server.stream("steps", "{}").await, @r#"
    [
      "event:start\ndata:{\"start\":\"steps\"}\n\n",
      "event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{\"progress\":{\"done\":1.0,\"total\":3.0,\"message\":null}},\"id\":\"7\"}\n\n",
      "event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{\"progress\":{\"done\":2.5,\"total\":3.0,\"message\":\"nearly\"}},\"id\":\"7\"}\n\n",
      "event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{\"log\":{\"level\":\"info\",\"data\":{\"x\": 1}}},\"id\":\"7\"}\n\n",
      "event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{\"done\": true},\"id\":\"7\"}\n\n",
      "event:done\ndata:{\"done\":\"steps\"}\n\n"
    ]
    "#);
    insta::assert_json_snapshot!(server.stream("stumble", "{}").await, @r#"
    [
      "event:start\ndata:{\"start\":\"stumble\"}\n\n",
      "event:error\ndata:{\"jsonrpc\":\"2.0\",\"result\":{},\"error\":{\"code\":500,\"message\":\"Doorbell ID not found\",\"data\":{\"can_retry\":true,\"retry_after_ms\":500,\"additional_prompt_content\":\"ids: doorbell42,doorbell84\"}},\"id\":\"7\"}\n\n"
    ]
    "#);
}

#[tokio::test]
async fn every_event_has_one_data_line_however_the_result_was_written() {
    let server = Server::scripted().await;
    insta::assert_json_snapshot!(server.stream("pretty", "{}").await, @r#"
    [
      "event:start\ndata:{\"start\":\"pretty\"}\n\n",
      "event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{   \"a\": [      1   ] },\"id\":\"7\"}\n\n",
      "event:done\ndata:{\"done\":\"pretty\"}\n\n"
    ]
    "#);
}

#[tokio::test]
async fn stop_ends_the_server_where_callers_may_do_that() {
    let server = Server::scripted().await;
    let (status, _, body) = server.ask(Method::POST, "/opentool/stop", &[], "").await;
    assert_eq!((status, body.as_str()), (200, r#"{"status":"stopped"}"#));
    assert!(server.stopped.is_cancelled());
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_cancels_its_tool() {
    let source = Arc::new(crate::opentool::Endless::default());
    let server = Server::start(Settings::default(), source.clone()).await;
    let body = r#"{"method":"forever","id":1}"#;
    let mut answer =
        crate::opentool::send(&server.base, Method::POST, "/opentool/streamCall", &[], body).await;
    answer.piece().await.expect("a piece");
    answer.piece().await.expect("a piece");
    drop(answer);
    source.dropped.notified().await;
}

#[tokio::test]
async fn ids_of_calls_are_not_idempotency_keys() {
    let source = Scripted::lowercase();
    let server = Server::start(Settings::default(), source.clone()).await;
    for _ in 0..2 {
        server.call("echo", "{}").await;
    }
    assert_eq!(source.runs(), 2);
}

#[tokio::test]
async fn a_public_loader_finds_all_it_insists_on() {
    let server = Server::scripted().await;
    let body = server.ask(Method::GET, "/opentool/load", &[], "").await.2;
    let document: Value = serde_json::from_str(&body).expect("JSON");
    let add = &document["functions"][0];
    let expect = json!({ "name": "add", "description": "Does Add",
        "parameters": [
            { "name": "a", "schema": { "type": "number" }, "required": true },
            { "name": "b", "schema": { "type": "number" }, "required": true } ],
        "return": { "name": "result", "schema": { "type": "number" } } });
    assert_eq!(*add, expect);
}
