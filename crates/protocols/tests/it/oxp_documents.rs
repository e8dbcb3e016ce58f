//! The rows of the answer grid over OXP, in both body forms: requests and answers are checked against the OpenAPI
//! document of the protocol, answers against that of our own server too.

use std::sync::LazyLock;

use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use crate::grid::{Ask, KEY, rows, server};
use crate::grid_columns::oxp_call;
use crate::oxp::Server;

/// OXP 1.0 as any server may speak it.
static PROTOCOL: LazyLock<Value> =
    LazyLock::new(|| read(include_str!("../../../../docs/protocols/oxp-1.0-openapi.json")));
/// Our own server, which is narrower.
static SERVED: LazyLock<Value> = LazyLock::new(|| read(include_str!("../../src/oxp/openapi.json")));

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
async fn every_answer_of_the_grid_fits_both_documents_in_both_forms() {
    let server = server().await;
    for row in rows() {
        let (request, repeated) = match row.ask {
            Ask::NotJson | Ask::NotACall => continue,
            Ask::Call(tool, arguments) => (oxp_call(tool, &arguments), None),
            Ask::Reused(tool, arguments) => {
                let under_id = |arguments: &Value| {
                    let mut call = oxp_call(tool, arguments);
                    call["call_id"] = json!("c");
                    call
                };
                (under_id(&arguments), Some(under_id(&json!({}))))
            }
        };
        assert_eq!(is_request(&request), request["input"].is_object(), "{}", row.what);
        let key = row.key.unwrap_or_default();
        if let Some(repeated) = repeated {
            assert_eq!(check(&server, key, repeated).await.0, StatusCode::OK);
        }
        check(&server, key, request).await;
    }
}

#[tokio::test]
async fn what_the_protocol_does_not_take_for_a_request_is_refused_before_a_tool_is_looked_for() {
    let server = server().await;
    let mut told = Vec::new();
    for request in [json!({ "tool": "Kit.Add" }), json!({}), json!({ "tool_id": "Kit_Add" })] {
        assert!(!is_request(&request), "{request}");
        let (status, _, answer) = check(&server, KEY, request).await;
        told.push(format!("{status} {}", answer["message"].as_str().expect("a text")));
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[tokio::test]
async fn the_list_fits_the_protocol_and_our_own_document() {
    let server = server().await;
    let (status, headers, list) =
        server.ask(Method::GET, "/tools", &[("authorization", &format!("Bearer {KEY}"))], "").await;
    assert_eq!((status, headers["oxp-version"].as_bytes()), (StatusCode::OK, &b"1.0"[..]));
    for document in [&*PROTOCOL, &*SERVED] {
        assert_eq!(faults(document, "ToolList", &list), Vec::<String>::new(), "{list:#}");
    }
    insta::assert_json_snapshot!(list);
}
