//! What a toolset leaves out does not exist for its callers, prompts and resources as little as tools; and that they
//! asked for it is recorded.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use toolmux_core::audit::AuditAction;
use toolmux_core::gateway::{Admission, ApiKey, Settings};
use toolmux_core::secret::Secret;
use toolmux_core::toolset::{Pattern, Toolset};

use crate::mcp_client::{ask, modern_as, rpc, send, text};
use crate::mcp_fixture::{Served, serve, upstream};

/// Alice may call one tool, and have the prompt of another source.
async fn served() -> Served {
    let toolset = Some(Arc::from("some"));
    let key = ApiKey { name: "alice".into(), sha256: Secret::new("hunter2").sha256(), toolset };
    let tools = ["Up.echo", "Other.greet", "Other.test://t/*"].map(Pattern::new).to_vec();
    let settings = Settings {
        admission: Admission { keys: vec![key], jwt: None },
        toolsets: vec![Toolset { name: "some".to_owned(), tools }],
        ..Settings::default()
    };
    let source = || upstream(&["legacy"], &json!({}));
    serve(settings, vec![("Up", source()), ("Other", source())]).await
}

/// The error of an answer to a client of 2026-07-28 with these capabilities.
async fn modern_error(served: &Served, method: &str, params: Value, can: Value) -> (u16, Value) {
    let (mut headers, body) = modern_as(method, params, can);
    headers.push(("authorization".to_owned(), "Bearer hunter2".to_owned()));
    let (status, body) = ask(&served.url, (headers, body)).await;
    let answer: Value = serde_json::from_str(&body).expect("plain JSON, no stream");
    (status, answer["error"].clone())
}

async fn legacy_error(served: &Served, method: &str, params: Value) -> Value {
    let headers = [("authorization", "Bearer hunter2")];
    let answer = send(&served.url, Method::POST, &headers, rpc(1, method, params)).await;
    let answer: Value = serde_json::from_str(&text(answer).await.1).expect("plain JSON, no stream");
    answer["error"].clone()
}

/// The errors for clients that can be asked something and for those that cannot are the same.
async fn check(served: &Served, method: &str, params: Value, [modern, legacy]: [Value; 2]) {
    for can in [json!({}), json!({ "elicitation": {} })] {
        let answer = modern_error(served, method, params.clone(), can).await;
        assert_eq!(answer, (400, modern.clone()), "{method} {params}");
    }
    assert_eq!(legacy_error(served, method, params.clone()).await, legacy, "{method} {params}");
}

#[tokio::test]
async fn prompts_and_resources_outside_the_toolset_are_answered_as_unknown_and_recorded() {
    let served = served().await;
    for name in ["Up_greet", "Up_absent"] {
        let unknown = json!({ "code": -32602, "message": format!("Prompt `{name}` was not found") });
        check(&served, "prompts/get", json!({ "name": name }), [unknown.clone(), unknown]).await;
    }
    let uri = "test://one";
    let unknown = |code| json!({ "code": code, "message": "Resource `test://one` was not found", "data": { "uri": uri } });
    let answers = [unknown(-32602), unknown(-32002)];
    check(&served, "resources/read", json!({ "uri": uri }), answers.clone()).await;
    let reference = |reference| json!({ "ref": reference, "argument": { "name": "who", "value": "" } });
    let of_resource = reference(json!({ "type": "ref/resource", "uri": uri }));
    check(&served, "completion/complete", of_resource, answers).await;
    let unknown = json!({ "code": -32602, "message": "Prompt `Up_greet` was not found" });
    let of_prompt = reference(json!({ "type": "ref/prompt", "name": "Up_greet" }));
    check(&served, "completion/complete", of_prompt, [unknown.clone(), unknown]).await;

    let subjects = until_refusals(&served, 12).await;
    assert_eq!(subjects.iter().filter(|subject| *subject == "Up.greet not_permitted").count(), 6);
    assert_eq!(subjects.iter().filter(|subject| *subject == "Up.test://one not_permitted").count(), 6);
}

/// What the audit has of refused calls, once there are as many as wanted.
async fn until_refusals(served: &Served, wanted: usize) -> Vec<String> {
    for _ in 0..100_000 {
        let records = served.store.audit_list(100).await.expect("memory");
        if records.len() >= wanted {
            assert!(records.iter().all(|record| record.action == AuditAction::CallRefused));
            return records.iter().map(|record| record.subject.to_string()).collect();
        }
        tokio::task::yield_now().await;
    }
    panic!("not every refusal is recorded")
}

#[tokio::test]
async fn prompts_and_resources_of_the_toolset_are_answered() {
    let served = served().await;
    let headers = [("authorization", "Bearer hunter2")];
    for (method, params, part) in [
        ("prompts/get", json!({ "name": "Other_greet" }), "\"text\":\"greet\""),
        ("resources/read", json!({ "uri": "test://t/5" }), "\"text\":\"contents\""),
    ] {
        let answer = send(&served.url, Method::POST, &headers, rpc(1, method, params)).await;
        let (_, body) = text(answer).await;
        assert!(body.contains(part), "{body}");
    }
}
