//! Every outcome and refusal over OXP, in both body forms: requests and answers are checked against the OpenAPI
//! document of the protocol, answers against that of our own server too.

use std::sync::LazyLock;

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
        developers: vec!["alice".to_owned()],
        ..Settings::default()
    }
}

/// The grid fails on purpose, and often.
fn restless() -> Limits {
    Limits { breaker_failures: 1_000, ..Limits::default() }
}

/// OXP 1.0 as any server may speak it.
static PROTOCOL: LazyLock<Value> =
    LazyLock::new(|| read(include_str!("../../../../docs/protocols/oxp-1.0-openapi.json")));
/// Our own server, which is narrower.
static SERVED: LazyLock<Value> = LazyLock::new(|| read(include_str!("../../src/oxp/openapi.json")));

/// Rows whose request is not one of the protocol, so that it refuses them before it looks for a tool.
const NOT_REQUESTS: [&str; 4] = ["malformed", "no tool id", "bad tool id", "not an object"];

fn read(document: &str) -> Value {
    serde_json::from_str(document).expect("JSON")
}

/// What a value lacks to fit a schema of a document.
fn faults(document: &Value, name: &str, value: &Value) -> Vec<String> {
    let schema =
        json!({ "$ref": format!("#/components/schemas/{name}"), "components": document["components"] });
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    validator.iter_errors(value).map(|error| error.to_string()).collect()
}

/// A body form and the schemas of its bodies.
struct Form {
    request: &'static str,
    result: &'static str,
    served_result: &'static str,
}

const BARE: Form = Form { request: "BareRequest", result: "BareResult", served_result: "CallToolResponse" };
const ENVELOPED: Form =
    Form { request: "EnvelopedRequest", result: "EnvelopedResult", served_result: "EnvelopedResponse" };

fn check_answer(form: &Form, status: StatusCode, answer: &Value) {
    let (protocol, served) = match status.as_u16() {
        200 => (form.result, form.served_result),
        // The protocol defines no body for 401; ours is that of any refusal.
        400 | 401 => ("ServerError", "ServerErrorResponse"),
        422 => ("InputError", "ValidationErrorResponse"),
        other => panic!("{other} is no status of the protocol"),
    };
    for (document, name) in [(&*PROTOCOL, protocol), (&*SERVED, served)] {
        assert_eq!(faults(document, name, answer), Vec::<String>::new(), "{name} {status}: {answer:#}");
    }
}

/// One row: asks in both forms, checks the shapes, and gives the bare answer without what differs each time.
async fn check(server: &Server, key: &str, request: Value) -> (StatusCode, HeaderMap, Value) {
    let headers = [("oxp-api-key", key)];
    let ask = async |body: &Value| server.ask(Method::POST, "/tools/call", &headers, &body.to_string()).await;
    let (status, answer_headers, bare) = ask(&request).await;
    check_answer(&BARE, status, &bare);
    let (also, enveloped_headers, enveloped) = ask(&enveloped(&request)).await;
    check_answer(&ENVELOPED, also, &enveloped);
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

fn enveloped(request: &Value) -> Value {
    json!({ "$schema": "urn:oxp:1.0", "request": request })
}

fn is_request(request: &Value) -> bool {
    let fits = |form: &Form, body: &Value| faults(&PROTOCOL, form.request, body).is_empty();
    let bare = fits(&BARE, request);
    assert_eq!(fits(&ENVELOPED, &enveloped(request)), bare, "{request}");
    bare
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
        assert_eq!(is_request(&request), !NOT_REQUESTS.contains(&name), "{name}");
        let (status, headers, answer) = check(&server, key, request).await;
        let after = headers.get("retry-after").map(|after| after.to_str().expect("digits"));
        let after = after.map(|after| format!(" retry-after {after}")).unwrap_or_default();
        grid.push(format!("{name}: {}{after} {answer}", status.as_u16()));
    }
    insta::assert_snapshot!(grid.join("\n"));
}

#[tokio::test]
async fn the_list_fits_the_protocol_and_our_own_document() {
    let server = Server::start(settings(), Scripted::new()).await;
    let (status, headers, list) =
        server.ask(Method::GET, "/tools", &[("authorization", &format!("Bearer {KEY}"))], "").await;
    assert_eq!((status, headers["oxp-version"].as_bytes()), (StatusCode::OK, &b"1.0"[..]));
    for document in [&*PROTOCOL, &*SERVED] {
        assert_eq!(faults(document, "ToolList", &list), Vec::<String>::new(), "{list:#}");
    }
    insta::assert_json_snapshot!(list);
}
