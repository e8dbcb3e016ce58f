//! The OXP server beyond the grid: versions, addresses, forms, ids.

use http::{Method, StatusCode};
use proptest::prelude::*;
use serde_json::{Value, json};
use toolmux_core::gateway::{Admission, ApiKey, Settings};
use toolmux_core::secret::Secret;

use crate::oxp::Server;
use crate::scripted_source::Scripted;

async fn open() -> Server {
    Server::start(Settings::default(), Scripted::new()).await
}

async fn check(server: &Server, body: Value, expect: (u16, &str)) {
    let (status, answer) = server.call(&body).await;
    let told = match status {
        StatusCode::OK => answer["value"].to_string(),
        _ => answer["message"].as_str().expect("a message").to_owned(),
    };
    assert_eq!((status.as_u16(), told.as_str()), expect, "{body}");
}

#[tokio::test]
async fn a_version_is_exact_a_major_is_x_0_0_and_none_is_the_newest() {
    let server = open().await;
    let add = |id: &str| json!({ "tool_id": id, "input": { "a": 1, "b": 2 } });
    for good in ["Kit.Add", "Kit.Add@1", "Kit.Add@1.0.0", "Kit.Add@1.2.0"] {
        check(&server, add(good), (200, "3.0")).await;
    }
    for bad in ["Kit.Add@2.0.0", "Kit.Add@1.1.0"] {
        check(&server, add(bad), (400, &format!("Tool `{bad}` was not found"))).await;
    }
    check(&server, add("Kit.Add@2"), (400, "Tool `Kit.Add@2.0.0` was not found")).await;
}

#[tokio::test]
async fn a_tool_is_not_called_in_an_oxp_version_we_do_not_speak() {
    let source = Scripted::new();
    let server = Server::start(Settings::default(), source.clone()).await;
    let body = json!({ "tool_id": "Kit.Nothing" }).to_string();
    for (version, expect) in [("1.0", 200), ("2.0", 400), ("banana", 400)] {
        let (status, headers, _) =
            server.ask(Method::POST, "/tools/call", &[("oxp-version", version)], &body).await;
        assert_eq!((status.as_u16(), headers["oxp-version"].as_bytes()), (expect, &b"1.0"[..]), "{version}");
        let (status, _, _) = server.ask(Method::GET, "/tools", &[("oxp-version", version)], "").await;
        assert_eq!(status.as_u16(), expect, "{version}");
    }
    check(
        &server,
        json!({ "$schema": "urn:oxp:9.0", "request": { "tool_id": "Kit.Nothing" } }),
        (400, "OXP version `9.0` is not supported"),
    )
    .await;
    assert_eq!(source.runs(), 1);
}

#[tokio::test]
async fn every_answer_carries_the_version() {
    let keys = vec![ApiKey { name: "alice".into(), sha256: Secret::new("k").sha256(), toolset: None }];
    let settings = Settings { admission: Admission { keys, jwt: None }, ..Settings::default() };
    let server = Server::start(settings, Scripted::new()).await;
    let large = "x".repeat(100 << 10);
    let rows = [
        (Method::GET, "/health", "", "", 200),
        (Method::GET, "/tools", "", "", 401),
        (Method::POST, "/tools/call", "", "{}", 401),
        (Method::GET, "/tools/nothing/here", "", "", 401),
        (Method::GET, "/tools/nothing/here", "k", "", 404),
        (Method::DELETE, "/tools", "k", "", 405),
        (Method::GET, "/tools/call", "k", "", 405),
        (Method::POST, "/tools/call", "k", &large, 400),
        (Method::POST, "/tools/call", "k", "{", 400),
        (Method::GET, "/openapi.json", "k", "", 200),
        (Method::GET, "/openapi.json", "", "", 401),
    ];
    for (method, path, key, body, expect) in rows {
        let headers = [("oxp-api-key", key)];
        let headers = if key.is_empty() { &[][..] } else { &headers[..] };
        let (status, answered, _) = server.ask(method, path, headers, body).await;
        assert_eq!((status.as_u16(), answered["oxp-version"].as_bytes()), (expect, &b"1.0"[..]), "{path}");
    }
}

#[tokio::test]
async fn health_tells_when_the_server_is_stopping() {
    let server = open().await;
    assert_eq!(server.ask(Method::GET, "/health", &[], "").await.0, StatusCode::OK);
    server.gateway.close(std::time::Duration::ZERO).await;
    assert_eq!(server.ask(Method::GET, "/health", &[], "").await.0, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn authorization_is_ignored_where_nobody_has_to_authenticate() {
    let server = open().await;
    let (status, _, _) = server.ask(Method::GET, "/tools", &[("authorization", "Bearer nonsense")], "").await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn the_older_name_of_input_is_read_too() {
    check(&open().await, json!({ "tool_id": "Kit.Add", "inputs": { "a": 1, "b": 2 } }), (200, "3.0")).await;
}

#[tokio::test]
async fn members_beside_an_enveloped_request_are_let_be() {
    let server = open().await;
    let (status, answer) =
        server.call(&json!({ "request": { "tool_id": "Kit.Nothing" }, "note": "hi" })).await;
    assert_eq!((status, &answer["result"]["success"]), (StatusCode::OK, &json!(true)));
}

#[tokio::test]
async fn a_call_id_is_returned_or_made() {
    let server = open().await;
    let given = server.call(&json!({ "tool_id": "Kit.Nothing", "call_id": "mine" })).await.1;
    assert_eq!(given["call_id"], "mine");
    let made = async || server.call(&json!({ "tool_id": "Kit.Nothing" })).await.1["call_id"].clone();
    assert_ne!(made().await, made().await);
    let key = [("idempotency-key", "from-header")];
    let body = json!({ "tool_id": "Kit.Nothing" }).to_string();
    assert_eq!(server.ask(Method::POST, "/tools/call", &key, &body).await.2["call_id"], "from-header");
    let long = "x".repeat(257);
    check(
        &server,
        json!({ "tool_id": "Kit.Nothing", "call_id": long }),
        (400, "`call_id` is longer than 256 bytes"),
    )
    .await;
}

#[tokio::test]
async fn grants_come_from_the_context_and_are_never_quoted() {
    let server = open().await;
    let grants = json!({ "authorization": [{ "id": "github", "token": "gho_1" }], "secrets": [{ "id": "SHOP_TOKEN", "value": "hunter2" }], "user_id": "bob" });
    check(
        &server,
        json!({ "tool_id": "Kit.Needy", "context": grants }),
        (200, r#"{"token":5,"secret":7,"user":"bob"}"#),
    )
    .await;
    let (status, answer) =
        server.call(&json!({ "tool_id": "Kit.Needy", "context": { "secrets": "hunter2" } })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(!answer.to_string().contains("hunter2"), "{answer}");
}

#[tokio::test]
async fn our_own_document_describes_our_own_answers() {
    let server = open().await;
    let document = server.ask(Method::GET, "/openapi.json", &[], "").await.2;
    let schema = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}"), "components": document["components"] });
    let fits = |name: &str, answer: &Value| {
        let validator = jsonschema::validator_for(&schema(name)).expect("compiles");
        let faults: Vec<String> = validator.iter_errors(answer).map(|error| error.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{name}: {answer}");
    };
    fits("ToolList", &server.ask(Method::GET, "/tools", &[], "").await.2);
    fits("Health", &server.ask(Method::GET, "/health", &[], "").await.2);
    for (name, body) in [
        ("CallToolResponse", json!({ "tool_id": "Kit.Nothing" })),
        ("CallToolResponse", json!({ "tool_id": "Kit.Stumble" })),
        ("EnvelopedResponse", json!({ "request": { "tool_id": "Kit.Fail" } })),
        ("ServerErrorResponse", json!({ "tool_id": "Kit.Needy" })),
        ("ValidationErrorResponse", json!({ "tool_id": "Kit.Add" })),
    ] {
        fits(name, &server.call(&body).await.1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// No text in the place of a tool id or a version is more than a 400.
    #[test]
    fn any_tool_id_is_answered_in_its_class(
        ids in proptest::collection::vec("([A-Za-z0-9_.@é ]{0,24}|Kit.Nothing@[0-3](.0.[0-2])?)", 32),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        runtime.block_on(async {
            let server = open().await;
            for id in ids {
                let (status, answer) = server.call(&json!({ "tool_id": id })).await;
                let exists = matches!(id.as_str(), "Kit.Nothing" | "Kit.Nothing@1" | "Kit.Nothing@1.0.0");
                assert_eq!(status, if exists { StatusCode::OK } else { StatusCode::BAD_REQUEST }, "{id}: {answer}");
            }
        });
    }
}
