//! What models and their SDKs really write, and what the vendors refuse: one tool call of a form we do not serve,
//! members that are null, images, long descriptions, schemas outside a vendor's subset.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::Settings;
use toolmux_core::json_text::raw_of;
use toolmux_core::outcome::{Content, Outcome, Output};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::schema::Schema;
use toolmux_core::tool::Tool;

use crate::oxp::Server;

/// An image of four bytes.
const IMAGE: &str = "iVBORw==";

/// Tools with what vendors dislike; `Draw` gives text, an image and a sound.
struct Gallery(Vec<Tool>);

fn tool(name: &str, description: &str, input: Value) -> Tool {
    Tool::new(name, description, Schema::new(input))
}

impl Source for Gallery {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(self.0.clone().into())))
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        let output = if call.tool_name() == "Draw" {
            let block = |block: Value| Content::raw(raw_of(&block));
            let content = vec![
                Content::text("a house"),
                block(json!({ "type": "image", "data": IMAGE, "mimeType": "image/png" })),
                block(json!({ "type": "audio", "data": IMAGE, "mimeType": "audio/wav" })),
            ];
            Output { content, ..Output::value(raw_of(&Value::Null)) }
        } else {
            Output::value(raw_of(&json!(3)))
        };
        Box::pin(std::future::ready(Ok(Outcome::Returned(output))))
    }
}

async fn gallery(tools: Vec<Tool>) -> Server {
    Server::start(Settings::default(), Arc::new(Gallery(tools))).await
}

/// One turn of a server with `Kit_Add` and `Kit_Draw`.
async fn turn(vendor: &str, answer: Value) -> Value {
    let server = gallery(["Add", "Draw"].map(|name| tool(name, name, json!({}))).into()).await;
    let path = format!("/model/{vendor}/run");
    let (status, _, body) = server.ask(Method::POST, &path, &[], &answer.to_string()).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    body
}

/// The list of a server with these tools.
async fn list(vendor: &str, tools: Vec<Tool>) -> Value {
    let server = gallery(tools).await;
    let (_, _, body) = server.ask(Method::GET, &format!("/model/{vendor}/tools"), &[], "").await;
    body["tools"].clone()
}

fn function(id: &str, name: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": "{}" } })
}

#[tokio::test]
async fn a_custom_tool_call_is_answered_and_the_others_run() {
    let custom = json!({ "id": "c2", "type": "custom", "custom": { "name": "grammar", "input": "a b" } });
    let calls = json!([function("c1", "Kit_Add"), custom, function("c3", "Kit_Add")]);
    let body = turn("openai", json!({ "role": "assistant", "content": null, "tool_calls": calls })).await;
    let told =
        "Error: There is no custom tool `grammar` here; the tools here are functions with JSON arguments";
    assert_eq!(
        body["messages"].as_array().expect("messages")[1..],
        [
            json!({ "role": "tool", "tool_call_id": "c1", "content": "3" }),
            json!({ "role": "tool", "tool_call_id": "c2", "content": told }),
            json!({ "role": "tool", "tool_call_id": "c3", "content": "3" }),
        ]
    );
    let custom = json!({ "type": "custom_tool_call", "call_id": "c2", "name": "grammar", "input": "a b" });
    let body = turn("openai-responses", json!({ "output": [custom] })).await;
    let expect = json!({ "type": "custom_tool_call_output", "call_id": "c2", "output": told });
    assert_eq!((&body["messages"][1], &body["done"]), (&expect, &json!(false)));
}

#[tokio::test]
async fn a_legacy_function_call_is_answered() {
    let call = json!({ "name": "Kit_Add", "arguments": "{}" });
    let body = turn("openai", json!({ "role": "assistant", "content": null, "function_call": call })).await;
    let kept = json!({ "role": "assistant", "content": null, "function_call": call });
    let answered = json!({ "role": "function", "name": "Kit_Add", "content": "3" });
    assert_eq!((&body["messages"], &body["done"]), (&json!([kept, answered]), &json!(false)));
}

#[tokio::test]
async fn text_in_parts_and_reasoning_are_kept() {
    let content = json!([{ "type": "text", "text": "one" }, { "type": "refusal", "refusal": "no" }, { "type": "text", "text": "two" }]);
    let message = json!({ "role": "assistant", "content": content, "reasoning_content": "why",
        "tool_calls": [function("c1", "Kit_Add")], "function_call": null, "audio": null, "refusal": null });
    let body = turn("openai", json!({ "choices": [{ "message": message }] })).await;
    assert_eq!(body["text"], "one\ntwo");
    assert_eq!(body["messages"][0]["reasoning_content"], "why");
    assert_eq!(body["messages"][0]["content"], content);
    assert_eq!(body["messages"][1]["content"], "3");
}

#[tokio::test]
async fn members_that_an_sdk_writes_as_null_are_absent() {
    let part = |text: Value, call: Value| json!({ "text": text, "functionCall": call, "thought": null, "inlineData": null });
    let parts = [
        part(json!("Let me see."), Value::Null),
        part(Value::Null, json!({ "id": null, "name": "Kit_Add", "args": null })),
    ];
    let body =
        turn("gemini", json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] })).await;
    assert_eq!((&body["text"], &body["calls"]), (&json!("Let me see."), &json!(1)));
    let expect = json!([{ "text": "Let me see." }, { "functionCall": { "name": "Kit_Add" } }]);
    assert_eq!(body["messages"][0]["parts"], expect);
    // As the same SDK writes it without its aliases.
    let parts = [
        json!({ "text": null, "function_call": { "name": "Kit_Add", "args": {} }, "thought_signature": "c2ln" }),
    ];
    let body = turn("gemini", json!({ "candidates": [{ "content": { "parts": parts } }] })).await;
    assert_eq!(
        (&body["calls"], &body["messages"][0]["parts"][0]["thought_signature"]),
        (&json!(1), &json!("c2ln"))
    );
    let nothing =
        json!({ "candidates": [{ "content": { "role": "model", "parts": null }, "finishReason": "STOP" }] });
    assert_eq!(
        turn("gemini", nothing).await,
        json!({ "messages": [], "text": "", "calls": 0, "done": true })
    );
}

#[tokio::test]
async fn images_go_to_a_model_as_images_where_its_tool_results_have_them() {
    let sound = "[audio of type audio/wav, 4 bytes: it cannot be shown to the model here]";
    let calls = json!([function("c1", "Kit_Draw")]);
    let body = turn("openai", json!({ "content": null, "tool_calls": calls })).await;
    let image = "[image of type image/png, 4 bytes: it cannot be shown to the model here]";
    assert_eq!(body["messages"][1]["content"], json!(format!("a house\n{image}\n{sound}")));

    let call = json!({ "type": "function_call", "call_id": "c1", "name": "Kit_Draw", "arguments": "{}" });
    let body = turn("openai-responses", json!({ "output": [call] })).await;
    let expect = json!([
        { "type": "input_text", "text": "a house" },
        { "type": "input_image", "image_url": format!("data:image/png;base64,{IMAGE}") },
        { "type": "input_text", "text": sound },
    ]);
    assert_eq!(body["messages"][1]["output"], expect);

    let call = json!({ "functionCall": { "name": "Kit_Draw", "args": {} } });
    let body = turn("gemini", json!({ "candidates": [{ "content": { "parts": [call] } }] })).await;
    let expect = json!({ "name": "Kit_Draw", "response": { "result": format!("a house\n{sound}") },
        "parts": [{ "inlineData": { "mimeType": "image/png", "data": IMAGE } }] });
    assert_eq!(body["messages"][1]["parts"][0]["functionResponse"], expect);

    let call = json!({ "type": "tool_use", "id": "c1", "name": "Kit_Draw", "input": {} });
    let body = turn("anthropic", json!({ "content": [call] })).await;
    let expect = json!([
        { "type": "text", "text": "a house" },
        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": IMAGE } },
        { "type": "text", "text": sound },
    ]);
    assert_eq!(body["messages"][1]["content"][0]["content"], expect);
}

#[tokio::test]
async fn descriptions_are_cut_where_the_vendor_limits_them() {
    let long = "ä".repeat(1_500);
    let described = |path: &'static str, vendor: &'static str| {
        let tools = vec![tool("Long", &long, json!({})), tool("Fits", &long[..2_048], json!({}))];
        async move {
            let list = list(vendor, tools).await;
            let length =
                |tool: &Value| tool.pointer(path).and_then(Value::as_str).map(|text| text.chars().count());
            let list = if vendor == "gemini" { &list[0]["functionDeclarations"] } else { &list };
            let cut = list[0].pointer(path).and_then(Value::as_str).is_some_and(|text| text.ends_with('…'));
            (length(&list[0]), cut, length(&list[1]))
        }
    };
    assert_eq!(described("/function/description", "openai").await, (Some(1_024), true, Some(1_024)));
    assert_eq!(described("/description", "openai-responses").await, (Some(1_024), true, Some(1_024)));
    assert_eq!(described("/description", "anthropic").await, (Some(1_500), false, Some(1_024)));
    assert_eq!(described("/description", "gemini").await, (Some(1_500), false, Some(1_024)));
}

#[tokio::test]
async fn gemini_gets_a_type_for_everything_and_no_empty_choice() {
    let input = json!({ "type": "object", "required": ["order", "gone"], "properties": {
        "order": { "type": "string", "enum": ["", "asc", "desc"] },
        "empty": { "type": "string", "enum": [""] },
        "anything": { "description": "any value" },
        "number": { "enum": [1, 2] },
        "list": { "items": {} },
        "free": { "type": "object", "properties": {}, "required": ["x"] },
        "either": { "anyOf": [{ "type": "integer" }, { "description": "else" }] },
    } });
    let list = list("gemini", vec![tool("Sort", "Sorts", input)]).await;
    let expect = json!({ "type": "object", "required": ["order"], "properties": {
        "order": { "type": "string", "enum": ["asc", "desc"] },
        "empty": { "type": "string" },
        "anything": { "description": "any value", "type": "string" },
        "number": { "type": "integer" },
        "list": { "type": "array", "items": { "type": "string" } },
        "free": { "type": "object" },
        "either": { "anyOf": [{ "type": "integer" }, { "description": "else", "type": "string" }] },
    } });
    assert_eq!(list[0]["functionDeclarations"][0]["parameters"], expect);
}

#[tokio::test]
async fn without_tools_the_list_is_empty() {
    for vendor in ["anthropic", "openai", "openai-responses", "gemini", "plain"] {
        assert_eq!(list(vendor, Vec::new()).await, json!([]), "{vendor}");
    }
}
