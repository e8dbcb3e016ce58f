//! Every outcome and refusal over OXP, in both body forms, each checked against the published OpenAPI files.

use std::path::Path;

use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use toolmux_core::gateway::{Admission, ApiKey, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::secret::Secret;
use toolmux_core::toolset::{Pattern, Toolset};

use crate::oxp::{Scripted, Server};

const KEY: &str = "0123456789abcdef0123456789abcdef";
const FENCED: &str = "fencedfencedfencedfencedfencedfe";

fn settings() -> Settings {
    let key = |name: &str, key: &str, toolset: Option<&str>| ApiKey {
        name: name.into(),
        sha256: Secret::new(key).sha256(),
        toolset: toolset.map(Into::into),
    };
    let keys = vec![key("alice", KEY, None), key("fenced", FENCED, Some("few"))];
    let few = Toolset { name: "few".into(), tools: vec![Pattern::new("Kit.Nothing")] };
    Settings {
        admission: Admission { keys, jwt: None },
        toolsets: vec![few],
        limits: restless(),
        ..Settings::default()
    }
}

/// The grid fails on purpose, and often.
fn restless() -> Limits {
    Limits { breaker_failures: 1_000, ..Limits::default() }
}

/// The response schema of a published OpenAPI file. CI has the files beside the checkout.
fn published(file: &str, path: &str, method: &str, status: StatusCode) -> Option<Value> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let place = above.map(|folder| folder.join("shared/specs").join(file)).find(|place| place.exists());
    let place = place.unwrap_or_else(|| panic!("`shared/specs/{file}` must stand beside the checkout"));
    let text = std::fs::read_to_string(&place).expect("readable");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    // As published, `additionalProperties: false` beside `oneOf` forbids the very members that `oneOf` asks
    // for; no answer at all would be valid.
    let response = &mut document["components"]["schemas"]["CallToolResponse"];
    let removed = response.as_object_mut().expect("a schema").remove("additionalProperties");
    assert_eq!(removed, Some(json!(false)), "the published file was repaired: drop this");
    let operation = &document["paths"][path][method]["responses"][status.as_str()];
    let schema = operation.get("content")?["application/json"]["schema"].clone();
    Some(json!({ "allOf": [schema], "components": document["components"] }))
}

fn check_published(file: &str, (path, method): (&str, &str), status: StatusCode, answer: &Value) {
    if let Some(schema) = published(file, path, method, status) {
        let validator = jsonschema::validator_for(&schema).expect("a published schema compiles");
        let faults: Vec<String> = validator.iter_errors(answer).map(|error| error.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{file} {status}: {answer:#}");
    }
}

/// One row: asks in both forms, checks the shapes, and gives the bare answer without what differs each time.
async fn check(server: &Server, key: &str, request: Value) -> (StatusCode, HeaderMap, Value) {
    let headers = [("oxp-api-key", key)];
    let ask = async |body: &Value| server.ask(Method::POST, "/tools/call", &headers, &body.to_string()).await;
    let (status, answer_headers, bare) = ask(&request).await;
    check_published("oxp-1.0-openapi.json", ("/tools/call", "post"), status, &bare);
    let (also, enveloped_headers, enveloped) =
        ask(&json!({ "$schema": "urn:oxp:1.0", "request": request })).await;
    check_published("oxp-1.0-enveloped-openapi.json", ("/tools/call", "post"), also, &enveloped);
    assert_eq!(status, also);
    assert_eq!(
        (answer_headers["oxp-version"].as_bytes(), enveloped_headers["oxp-version"].as_bytes()),
        (&b"1.0"[..], &b"1.0"[..])
    );
    let inner = if status == StatusCode::OK { &enveloped["result"] } else { &enveloped };
    if status != StatusCode::UNAUTHORIZED {
        assert_eq!(enveloped["$schema"], "urn:oxp:1.0");
    }
    let (bare, inner) = (settle(bare), settle(inner.clone()));
    assert_eq!(bare, inner);
    (status, answer_headers, bare)
}

/// Without the members that differ from call to call.
fn settle(mut answer: Value) -> Value {
    let members = answer.as_object_mut().expect("an object");
    members.remove("$schema");
    if members.contains_key("success") {
        assert!(members.remove("duration").is_some_and(|took| took.is_number()));
        assert!(members.remove("call_id").is_some_and(|id| id.is_string()));
    }
    answer
}

#[tokio::test]
async fn every_outcome_has_its_answer() {
    let server = Server::start(settings(), Scripted::new()).await;
    let taken = json!({ "tool_id": "Kit.Add", "call_id": "c", "input": { "a": 1, "b": 1 } });
    check(&server, KEY, taken).await;
    let rows = [
        ("returned", KEY, json!({ "tool_id": "Kit.Add", "input": { "a": 10, "b": 5 } })),
        ("returned nothing", KEY, json!({ "tool_id": "Kit.Nothing" })),
        ("failed", KEY, json!({ "tool_id": "Kit.Fail", "input": {} })),
        ("failed, try again", KEY, json!({ "tool_id": "Kit.Stumble" })),
        ("may have run", KEY, json!({ "tool_id": "Kit.Lost" })),
        ("panicked", KEY, json!({ "tool_id": "Kit.Panic" })),
        ("malformed", KEY, json!({ "tool": "Kit.Add" })),
        ("no tool id", KEY, json!({})),
        ("bad tool id", KEY, json!({ "tool_id": "Kit_Add" })),
        ("unauthenticated", "wrong", json!({ "tool_id": "Kit.Add" })),
        ("unknown tool", KEY, json!({ "tool_id": "Kit.Ad" })),
        ("unknown version", KEY, json!({ "tool_id": "Kit.Add@2.0.0" })),
        ("not permitted", FENCED, json!({ "tool_id": "Kit.Add" })),
        ("challenged", KEY, json!({ "tool_id": "Kit.Needy" })),
        ("invalid", KEY, json!({ "tool_id": "Kit.Add", "input": { "a": 10, "b": "infinity" } })),
        ("not an object", KEY, json!({ "tool_id": "Kit.Add", "input": [1] })),
        ("conflict", KEY, json!({ "tool_id": "Kit.Add", "call_id": "c", "input": { "a": 1, "b": 2 } })),
        ("busy", KEY, json!({ "tool_id": "Kit.Busy" })),
        ("unavailable", KEY, json!({ "tool_id": "Kit.Down" })),
        ("internal", KEY, json!({ "tool_id": "Kit.Broken" })),
    ];
    let mut grid = Vec::new();
    for (name, key, request) in rows {
        let (status, headers, answer) = check(&server, key, request).await;
        let after = headers.get("retry-after").map(|after| after.to_str().expect("digits"));
        let after = after.map(|after| format!(" retry-after {after}")).unwrap_or_default();
        grid.push(format!("{name}: {}{after} {answer}", status.as_u16()));
    }
    insta::assert_snapshot!(grid.join("\n"));
}

#[tokio::test]
async fn the_list_fits_both_published_schemas() {
    let server = Server::start(settings(), Scripted::new()).await;
    let (status, headers, list) =
        server.ask(Method::GET, "/tools", &[("authorization", &format!("Bearer {KEY}"))], "").await;
    assert_eq!((status, headers["oxp-version"].as_bytes()), (StatusCode::OK, &b"1.0"[..]));
    for file in ["oxp-1.0-openapi.json", "oxp-1.0-enveloped-openapi.json"] {
        check_published(file, ("/tools", "get"), status, &list);
    }
    insta::assert_json_snapshot!(list);
}
