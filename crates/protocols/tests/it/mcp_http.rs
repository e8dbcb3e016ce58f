//! MCP as clients of both eras see it over HTTP.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use toolmux_core::gateway::Settings;

use crate::mcp_client::{MODERN, ask, events, modern, modern_as, rpc, send, session, text};
use crate::mcp_fixture::{Kit, Served, locked, serve};

async fn kit() -> Served {
    serve(Settings::default(), vec![("Kit", Arc::new(Kit))]).await
}

/// What calling a tool answers in the modern era, without what every result has.
async fn check_call(name: &str, arguments: Value, expect: (u16, Value)) {
    let served = kit().await;
    let (status, body) =
        ask(&served.url, modern("tools/call", json!({ "name": name, "arguments": arguments }))).await;
    let mut body: Value = serde_json::from_str(&body).expect("as it must be");
    if let Some(result) = body.get_mut("result").and_then(Value::as_object_mut) {
        assert_eq!(result.remove("resultType"), Some(json!("complete")));
        let meta = result["_meta"].as_object_mut().expect("as it must be");
        assert!(meta.remove("io.modelcontextprotocol/serverInfo").is_some());
        if meta.is_empty() {
            result.remove("_meta");
        }
    }
    let said = body.get("result").or_else(|| body.get("error")).expect("as it must be").clone();
    assert_eq!((status, said), expect, "{name}");
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[tokio::test]
async fn values_are_content_and_objects_are_structured_too() {
    let told = |text: &str| (200, json!({ "content": [text_block(text)] }));
    check_call("Kit_echo", json!({ "text": "hi" }), told("hi")).await;
    check_call("Kit_nothing", json!({}), (200, json!({ "content": [] }))).await;
    let big = json!({ "content": [text_block("{\"big\":12345678901234567890}")],
        "structuredContent": { "big": 12_345_678_901_234_567_890_u64 } });
    check_call("Kit_object", json!({}), (200, big)).await;
    let seven = json!({ "content": [text_block("7")], "structuredContent": 7 });
    check_call("Kit_count", json!({}), (200, seven)).await;
    let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
    check_call("Kit_blocks", json!({}), (200, json!({ "content": [text_block("see"), image] }))).await;
}

#[tokio::test]
async fn failures_are_results_and_refusals_are_errors() {
    let failed = json!({
        "content": [text_block("No such order"),
            text_block("Trying again may help, but not before 250 ms have passed."), text_block("Orders: 1, 2")],
        "isError": true,
        "_meta": { "toolmux/can_retry": true, "toolmux/retry_after_ms": 250,
            "toolmux/additional_prompt_content": "Orders: 1, 2" } });
    check_call("Kit_fail", json!({}), (200, failed)).await;
    let lost = json!({ "content": [text_block("`lost` was lost; the tool may have run")], "isError": true });
    check_call("Kit_lost", json!({}), (200, lost)).await;
    let invalid = "Invalid arguments: `text` must be a string, got integer 1";
    let invalid = json!({ "content": [text_block(invalid)], "isError": true });
    check_call("Kit_echo", json!({ "text": 1 }), (200, invalid)).await;
    let unknown = "Tool `Kit_ech` was not found; did you mean `Kit_echo`?";
    check_call("Kit_ech", json!({}), (400, json!({ "code": -32602, "message": unknown }))).await;
    let needs = json!({ "content": [text_block("The tool needs a token of `github`")], "isError": true });
    check_call("Kit_guarded", json!({}), (200, needs)).await;
}

/// What a request of 2026-07-28 answers when its headers or body are changed.
async fn check_ladder(change: impl FnOnce(&mut Vec<(String, String)>, &mut Value), expect: (u16, i64)) {
    let served = kit().await;
    let params = json!({ "name": "Kit_routed", "arguments": { "region": "grün" } });
    let (mut headers, body) = modern("tools/call", params);
    headers.push(("mcp-param-region".to_owned(), "=?base64?Z3LDvG4=?=".to_owned()));
    let mut body: Value = serde_json::from_str(&body).expect("as it must be");
    change(&mut headers, &mut body);
    let (status, text) = ask(&served.url, (headers, body.to_string())).await;
    let answer: Value = serde_json::from_str(&text).expect("as it must be");
    assert_eq!((status, answer["error"]["code"].as_i64().unwrap_or(0)), expect, "{text}");
}

fn without(headers: &mut Vec<(String, String)>, name: &str) {
    headers.retain(|(header, _)| header != name);
}

#[tokio::test]
async fn headers_must_say_what_the_body_says() {
    check_ladder(|_, _| (), (200, 0)).await;
    for name in ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region"] {
        check_ladder(|headers, _| without(headers, name), (400, -32020)).await;
    }
    check_ladder(|headers, _| headers.push(("mcp-method".into(), "tools/call".into())), (400, -32020)).await;
    check_ladder(|_, body| body["params"]["arguments"] = json!({}), (400, -32020)).await;
    check_ladder(|_, body| body["method"] = json!("tools/list"), (400, -32020)).await;
}

#[tokio::test]
async fn requests_carry_their_version_and_capabilities() {
    let meta = |key: &'static str| format!("io.modelcontextprotocol/{key}");
    let drop = |key: &'static str| {
        move |_: &mut Vec<(String, String)>, body: &mut Value| {
            body["params"]["_meta"].as_object_mut().expect("as it must be").remove(&meta(key));
        }
    };
    check_ladder(drop("protocolVersion"), (400, -32602)).await;
    check_ladder(drop("clientCapabilities"), (400, -32602)).await;
    check_ladder(
        |headers, body| {
            without(headers, "mcp-protocol-version");
            headers.push(("mcp-protocol-version".into(), "2099-01-01".into()));
            body["params"]["_meta"][meta("protocolVersion")] = json!("2099-01-01");
        },
        (400, -32022),
    )
    .await;
    check_ladder(
        |headers, body| {
            without(headers, "mcp-method");
            headers.push(("mcp-method".into(), "tools/fly".into()));
            body["method"] = json!("tools/fly");
        },
        (404, -32601),
    )
    .await;
}

#[tokio::test]
async fn lists_show_schemas_and_hints() {
    let served = kit().await;
    let (status, body) = ask(&served.url, modern("tools/list", json!({}))).await;
    let body: Value = serde_json::from_str(&body).expect("as it must be");
    let tools = body["result"]["tools"].as_array().expect("as it must be");
    let named = |name: &str| tools.iter().find(|tool| tool["name"] == name).expect("as it must be");
    assert_eq!((status, tools.len()), (200, 11));
    assert_eq!(named("Kit_count")["outputSchema"], json!({ "type": "number" }));
    assert_eq!(named("Kit_echo")["annotations"], json!({ "readOnlyHint": true }));
    assert_eq!(body["result"]["cacheScope"], "private");
    let (_, body) = text(send(&served.url, Method::POST, &[], rpc(1, "tools/list", json!({}))).await).await;
    let body: Value = serde_json::from_str(&body).expect("as it must be");
    let count = body["result"]["tools"]
        .as_array()
        .expect("as it must be")
        .iter()
        .find(|tool| tool["name"] == "Kit_count");
    assert_eq!(
        count.expect("as it must be").get("outputSchema"),
        None,
        "before 2026-07-28 it had to describe an object"
    );
    assert_eq!(body["result"].get("resultType"), None);
}

#[tokio::test]
async fn discovery_tells_what_there_is() {
    let served = kit().await;
    let (status, body) = ask(&served.url, modern("server/discover", json!({}))).await;
    let body: Value = serde_json::from_str(&body).expect("as it must be");
    assert_eq!(status, 200);
    assert_eq!(body["result"]["supportedVersions"], json!([MODERN]));
    let extensions = json!({ "io.modelcontextprotocol/tasks": {} });
    let capabilities = json!({ "tools": { "listChanged": true }, "logging": {}, "extensions": extensions });
    assert_eq!(body["result"]["capabilities"], capabilities);
    let (status, body) = ask(&served.url, modern("prompts/list", json!({}))).await;
    assert_eq!(status, 404, "{body}");
}

#[tokio::test]
async fn the_handshake_agrees_on_a_revision() {
    let served = kit().await;
    for (asked, got) in [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), (MODERN, "2025-11-25")] {
        let (session, result) = session(&served.url, asked, json!({})).await;
        assert_eq!(result["protocolVersion"], got);
        let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", got)];
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        assert_eq!(text(send(&served.url, Method::POST, &headers, note).await).await, (202, String::new()));
        let pong = text(send(&served.url, Method::POST, &headers, rpc(3, "ping", json!({}))).await).await;
        assert_eq!(pong, (200, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#.to_owned()));
        assert_eq!(text(send(&served.url, Method::DELETE, &headers, String::new()).await).await.0, 204);
    }
}

#[tokio::test]
async fn a_session_that_is_not_ours_is_not_found() {
    let served = kit().await;
    let headers = [("mcp-session-id", "stale")];
    let (status, body) =
        text(send(&served.url, Method::POST, &headers, rpc(1, "tools/list", json!({}))).await).await;
    assert_eq!(status, 404, "{body}");
    assert_eq!(text(send(&served.url, Method::GET, &headers, String::new()).await).await.0, 404);
}

#[tokio::test]
async fn a_session_that_was_deleted_is_not_found() {
    let served = kit().await;
    let (session, _) = session(&served.url, "2025-03-26", json!({})).await;
    let headers = [("mcp-session-id", session.as_str())];
    let ask = async |body: String| text(send(&served.url, Method::POST, &headers, body).await).await.0;
    let ping = rpc(1, "ping", json!({}));
    assert_eq!((ask(ping.clone()).await, ask(format!("[{ping}]")).await), (200, 200));
    assert_eq!(text(send(&served.url, Method::DELETE, &headers, String::new()).await).await.0, 204);
    assert_eq!((ask(ping.clone()).await, ask(format!("[{ping}]")).await), (404, 404));
}

#[tokio::test]
async fn garbage_is_told_from_other_json() {
    let served = kit().await;
    let answer = async |body: &str| text(send(&served.url, Method::POST, &[], body.to_owned()).await).await;
    let (status, body) = answer("{").await;
    assert!(status == 400 && body.contains("-32700") && body.contains(r#""id":null"#), "{body}");
    let (status, body) = answer(r#"{"id":1}"#).await;
    assert!(status == 400 && body.contains("-32600"), "{body}");
}

#[tokio::test]
async fn arrays_are_for_one_revision_only() {
    let served = kit().await;
    let batch = format!(
        r#"[{},{},{{"jsonrpc":"2.0","method":"notifications/x"}}]"#,
        rpc(1, "ping", json!({})),
        rpc(2, "nope", json!({}))
    );
    let answer = async |version: &str, body: &str| {
        let headers = [("mcp-protocol-version", version)];
        text(send(&served.url, Method::POST, &headers, body.to_owned()).await).await
    };
    let (status, body) = answer("2025-03-26", &batch).await;
    assert_eq!(status, 200);
    assert!(
        body.starts_with(r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"error":"#),
        "{body}"
    );
    assert_eq!(answer("2025-06-18", &batch).await.0, 400);
}

#[tokio::test]
async fn progress_and_logs_leave_before_the_answer() {
    let served = kit().await;
    let meta = json!({ "progressToken": "p", "io.modelcontextprotocol/logLevel": "info" });
    let (_, body) =
        ask(&served.url, modern("tools/call", json!({ "name": "Kit_steps", "_meta": meta }))).await;
    let events: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("data:")).collect();
    assert_eq!(events.len(), 5, "{body}");
    assert_eq!(
        events[0],
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":3}}"#
    );
    assert!(events[2].contains(r#""progress":2.5"#), "a step that does not grow is left out: {body}");
    assert_eq!(
        events[3],
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"half way"}}"#
    );
    assert!(events[4].contains(r#""id":7,"result""#), "{body}");
    let (_, silent) = ask(&served.url, modern("tools/call", json!({ "name": "Kit_steps" }))).await;
    assert!(silent.starts_with('{'), "nobody asked for progress: {silent}");
}

#[tokio::test]
async fn a_modern_client_is_asked_by_a_result() {
    let served = kit().await;
    let can = json!({ "elicitation": {} });
    let call = json!({ "name": "Kit_ask" });
    let (_, body) = ask(&served.url, modern_as("tools/call", call.clone(), can.clone())).await;
    let body: Value = serde_json::from_str(&body).expect("as it must be");
    assert_eq!(body["result"]["resultType"], "input_required");
    assert_eq!(body["result"]["inputRequests"]["q1"]["method"], "elicitation/create");
    let mut again = call.clone();
    again["requestState"] = body["result"]["requestState"].clone();
    let (_, asked_again) = ask(&served.url, modern_as("tools/call", again.clone(), can.clone())).await;
    let asked_again: Value = serde_json::from_str(&asked_again).expect("as it must be");
    assert_eq!(asked_again["result"]["resultType"], "input_required", "an answer was missing");
    again["requestState"] = asked_again["result"]["requestState"].clone();
    again["inputResponses"] = json!({ "q1": { "action": "accept", "content": { "name": "Ada" } } });
    let (_, body) = ask(&served.url, modern_as("tools/call", again.clone(), can.clone())).await;
    let body: Value = serde_json::from_str(&body).expect("as it must be");
    assert_eq!(body["result"]["structuredContent"]["result"]["content"]["name"], "Ada", "{body}");
    let (status, _) = ask(&served.url, modern_as("tools/call", again, can)).await;
    assert_eq!(status, 400, "a state is good once");
    let (_, body) = ask(&served.url, modern("tools/call", call)).await;
    assert!(body.contains("nobody answers"), "{body}");
}

#[tokio::test]
async fn a_legacy_client_is_asked_on_its_stream() {
    let served = kit().await;
    let (session, _) = session(&served.url, "2025-06-18", json!({ "elicitation": {} })).await;
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-06-18")];
    let call = rpc(5, "tools/call", json!({ "name": "Kit_ask" }));
    let mut answer = send(&served.url, Method::POST, &headers, call).await;
    let first = answer.piece().await.expect("as it must be").expect("as it must be");
    let first = String::from_utf8(first.to_vec()).expect("as it must be");
    let question: Value = serde_json::from_str(
        first.lines().find_map(|line| line.strip_prefix("data:")).expect("as it must be"),
    )
    .expect("as it must be");
    assert_eq!(question["method"], "elicitation/create");
    let said = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    assert_eq!(text(send(&served.url, Method::POST, &headers, said.to_string()).await).await.0, 202);
    let (_, rest) = text(answer).await;
    assert!(rest.contains(r#""id":5,"result""#) && rest.contains("decline"), "{rest}");
}

#[tokio::test]
async fn no_event_can_be_resumed() {
    let served = kit().await;
    let call = json!({ "name": "Kit_steps", "_meta": { "progressToken": 1 } });
    let (_, stream) = text(send(&served.url, Method::POST, &[], rpc(5, "tools/call", call)).await).await;
    assert!(stream.lines().any(|line| line.starts_with("data:")), "{stream}");
    assert!(!stream.lines().any(|line| line.starts_with("id:")), "{stream}");
    let seen = [("last-event-id", "5")];
    let mut fresh = send(&served.url, Method::GET, &seen, String::new()).await;
    assert_eq!(fresh.status().as_u16(), 200);
    assert_eq!(
        &fresh.piece().await.expect("a stream").expect("a piece")[..],
        b":\n\n",
        "nothing is told again"
    );
}

#[tokio::test]
async fn strangers_are_told_how_to_come_in() {
    let served = serve(locked(), vec![("Kit", Arc::new(Kit))]).await;
    let answer = send(&served.url, Method::POST, &[], rpc(1, "tools/list", json!({}))).await;
    assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    assert_eq!(answer.status().as_u16(), 401);
    let headers = [("authorization", "Bearer hunter2")];
    let answer = send(&served.url, Method::POST, &headers, rpc(1, "tools/list", json!({}))).await;
    assert_eq!(answer.status().as_u16(), 200);
}

#[tokio::test]
async fn changes_are_told_to_those_who_listen() {
    let served = kit().await;
    let filter = json!({ "notifications": { "toolsListChanged": true, "promptsListChanged": true } });
    let (headers, body) = modern("subscriptions/listen", filter);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let mut modern = send(&served.url, Method::POST, &headers, body).await;
    let first = events(&mut modern, 1).await;
    assert_eq!(first[0]["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first[0]["params"]["notifications"], json!({ "toolsListChanged": true }));
    let mut legacy = send(&served.url, Method::GET, &[], String::new()).await;
    legacy.piece().await.expect("as it must be");
    served.gateway.sources().unmount("Kit");
    let told = events(&mut modern, 1).await;
    assert_eq!(told[0]["method"], "notifications/tools/list_changed");
    assert_eq!(told[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    assert_eq!(events(&mut legacy, 1).await[0]["method"], "notifications/tools/list_changed");
}
