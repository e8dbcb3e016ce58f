//! The model bridge: one catalogue and one turn of a conversation in every vendor's words.

use std::sync::Arc;

use http::{Method, StatusCode};
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use toolmux_core::gateway::Settings;

use crate::oxp::Server;
use crate::scripted_source::Scripted;

async fn server() -> (Arc<Scripted>, Server) {
    let source = Scripted::new();
    (Arc::clone(&source), Server::start(Settings::default(), source).await)
}

/// The tools as a vendor sees them, cut to the first two.
async fn tools(vendor: &str) -> Value {
    let (_, server) = server().await;
    let (status, _, mut body) = server.ask(Method::GET, &format!("/model/{vendor}/tools"), &[], "").await;
    assert_eq!(status, StatusCode::OK);
    let list = match body["tools"].pointer_mut("/0/functionDeclarations") {
        Some(list) => list,
        None => &mut body["tools"],
    };
    list.as_array_mut().expect("a list").truncate(2);
    body
}

/// One turn: the model says something and asks for a sum, a failure, a tool that is not there, and one with
/// arguments that are wrong.
async fn turn(vendor: &str, answer: Value) -> Value {
    let (source, server) = server().await;
    let path = format!("/model/{vendor}/run");
    let (status, _, body) = server.ask(Method::POST, &path, &[], &answer.to_string()).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(source.runs(), 2);
    body
}

fn uses() -> [(&'static str, &'static str, Value); 4] {
    [
        ("call_1", "Kit_Add", json!({ "a": 1, "b": 2 })),
        ("call_2", "Kit_Stumble", json!({})),
        ("call_3", "Kit_Ad", json!({})),
        ("call_4", "Kit_Add", json!({ "a": "one" })),
    ]
}

#[tokio::test]
async fn anthropic() {
    let mut content = vec![json!({ "type": "text", "text": "Let me see." })];
    content.extend(
        uses().map(|(id, name, input)| json!({ "type": "tool_use", "id": id, "name": name, "input": input })),
    );
    let answer = json!({ "id": "msg_1", "role": "assistant", "stop_reason": "tool_use", "content": content });
    assert_json_snapshot!("model_anthropic", [tools("anthropic").await, turn("anthropic", answer).await]);
}

#[tokio::test]
async fn openai() {
    let calls = uses().map(|(id, name, input)| {
        json!({ "id": id, "type": "function", "function": { "name": name, "arguments": input.to_string() } })
    });
    let message = json!({ "role": "assistant", "content": "Let me see.", "tool_calls": calls });
    let answer =
        json!({ "id": "c1", "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] });
    assert_json_snapshot!("model_openai", [tools("openai").await, turn("openai", answer).await]);
}

#[tokio::test]
async fn openai_responses() {
    let mut output = vec![
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Let me see." }] }),
    ];
    output.extend(uses().map(|(id, name, input)| {
        json!({ "type": "function_call", "call_id": id, "name": name, "arguments": input.to_string() })
    }));
    let answer = json!({ "id": "resp_1", "output": output });
    let told = [tools("openai-responses").await, turn("openai-responses", answer).await];
    assert_json_snapshot!("model_openai_responses", told);
}

#[tokio::test]
async fn gemini() {
    let mut parts = vec![json!({ "text": "Let me see." })];
    parts.extend(uses().map(|(_, name, input)| json!({ "functionCall": { "name": name, "args": input } })));
    let answer = json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
    assert_json_snapshot!("model_gemini", [tools("gemini").await, turn("gemini", answer).await]);
}

#[tokio::test]
async fn plain() {
    let mut content = vec![json!({ "type": "text", "text": "Let me see." })];
    content
        .extend(uses().map(|(_, name, input)| json!({ "type": "tool_use", "name": name, "input": input })));
    let told = [tools("plain").await, turn("plain", json!({ "content": content })).await];
    assert_json_snapshot!("model_plain", told);
}

#[tokio::test]
async fn arguments_that_are_no_json_are_told_to_the_model() {
    let (source, server) = server().await;
    let calls = [json!({ "id": "1", "function": { "name": "Kit_Add", "arguments": "{\"a\":1," } })];
    let answer = json!({ "role": "assistant", "content": null, "tool_calls": calls });
    let (_, _, body) = server.ask(Method::POST, "/model/openai/run", &[], &answer.to_string()).await;
    let told = body["messages"][1]["content"].as_str().expect("a text");
    assert!(told.starts_with("Error: The arguments are not JSON"), "{told}");
    assert_eq!((source.runs(), &body["done"]), (0, &json!(false)));
}

#[tokio::test]
async fn an_answer_that_asks_for_nothing_is_the_last() {
    let (_, server) = server().await;
    let answer = json!({ "content": [{ "type": "text", "text": "It is 3." }] });
    let (_, _, body) = server.ask(Method::POST, "/model/anthropic/run", &[], &answer.to_string()).await;
    assert_eq!((&body["done"], &body["text"]), (&json!(true), &json!("It is 3.")));
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn the_same_answer_again_runs_nothing_twice() {
    let (source, server) = server().await;
    let content = [json!({ "type": "tool_use", "id": "t1", "name": "Kit_Nothing", "input": {} })];
    let answer = json!({ "content": content }).to_string();
    let key = [("idempotency-key", "turn-7")];
    for _ in 0..2 {
        server.ask(Method::POST, "/model/anthropic/run", &key, &answer).await;
    }
    assert_eq!(source.runs(), 1);
}

#[tokio::test]
async fn what_is_no_answer_is_refused() {
    let (_, server) = server().await;
    for (path, body, expect) in [
        ("/model/anthropic/run", "{}", StatusCode::BAD_REQUEST),
        ("/model/openai/run", "[", StatusCode::BAD_REQUEST),
        ("/model/gemini/run", r#"{"candidates":[]}"#, StatusCode::BAD_REQUEST),
        ("/model/nobody/run", "{}", StatusCode::NOT_FOUND),
    ] {
        let (status, _, answer) = server.ask(Method::POST, path, &[], body).await;
        assert_eq!(status, expect, "{path}: {answer}");
    }
}
