//! Questions of sources that speak MCP: asked in the caller's era, and only of who declared that it answers.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::Settings;
use toolmux_core::json_text::raw_of;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::ports::source::{Listing, Relay, Relayed, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::requirements::Grants;
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Passthrough, Tool};

use crate::mcp_client::{answer_as_bob, ask, modern_as, rpc, send, text};
use crate::mcp_fixture::{Served, open, serve};

/// What servers with questions say.
struct Curious;

fn url_question() -> Value {
    json!({ "mode": "url", "elicitationId": "e1", "url": "https://pay.example.com", "message": "Pay first" })
}

impl Source for Curious {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let tool = |name: &str| Tool::new(name, name, Schema::no_parameters());
        Box::pin(std::future::ready(Ok(vec![tool("bold"), tool("paid")].into())))
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        let outcome = match call.tool_name() {
            "bold" => {
                let asked = json!({ "method": "sampling/createMessage", "params": {} });
                let whole = json!({ "resultType": "input_required", "inputRequests": { "s": asked } });
                let extra = Passthrough::of("mcp", raw_of(&whole));
                Outcome::Returned(Output { extra, ..Output::value(raw_of(&Value::Null)) })
            }
            _ => {
                let data = json!({ "elicitations": [url_question()] });
                let error = json!({ "code": -32042, "message": "pay", "data": data });
                let extra = Passthrough::of("mcp-error", raw_of(&error));
                Outcome::Failed(ToolError { extra, ..ToolError::new("pay") })
            }
        };
        Box::pin(std::future::ready(Ok(outcome)))
    }

    fn offered(&self) -> Passthrough {
        Passthrough::of("mcp", raw_of(&json!({ "prompts": [{ "name": "greet" }] })))
    }

    fn relay<'a>(
        &'a self,
        _: &'a Relay,
        _: &'a Grants,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Relayed, SourceError>> {
        Box::pin(async move {
            let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            let params = json!({ "message": "Name?", "requestedSchema": schema });
            let question = json!({ "method": "elicitation/create", "params": params });
            let answer = progress
                .ask("mcp", raw_of(&question))
                .await
                .map_or(json!({}), |said| serde_json::from_str(said.get()).expect("an answer"));
            let name = answer["result"]["content"]["name"].as_str().unwrap_or("nobody").to_owned();
            Ok(Ok(raw_of(&json!({ "messages": [], "description": format!("hello {name}") }))))
        })
    }
}

async fn curious() -> Served {
    serve(Settings::default(), vec![("Up", Arc::new(Curious))]).await
}

/// What a modern call is answered with by who can do this.
async fn check(tool: &str, can: Value, expect: (u16, Value)) {
    let served = curious().await;
    let (status, body) = ask(&served.url, modern_as("tools/call", json!({ "name": tool }), can)).await;
    let body: Value = serde_json::from_str(&body).expect("an answer");
    let said = match &body["error"] {
        Value::Null => json!([body["result"]["resultType"], body["result"]["inputRequests"]]),
        error => json!([error["code"], error["data"]["requiredCapabilities"]]),
    };
    assert_eq!((status, said), expect, "{body}");
}

#[tokio::test]
async fn nobody_is_asked_for_what_it_did_not_declare() {
    check("Up_bold", json!({ "elicitation": {} }), (400, json!([-32021, { "sampling": {} }]))).await;
    let asked = json!({ "s": { "method": "sampling/createMessage", "params": {} } });
    check("Up_bold", json!({ "sampling": {} }), (200, json!(["input_required", asked]))).await;
}

#[tokio::test]
async fn an_address_to_open_is_asked_for_by_a_result() {
    let asked = json!({ "e1": { "method": "elicitation/create", "params": url_question() } });
    let can = json!({ "elicitation": { "form": {}, "url": {} } });
    check("Up_paid", can, (200, json!(["input_required", asked]))).await;
    let required = json!([-32021, { "elicitation": { "url": {} } }]);
    check("Up_paid", json!({ "elicitation": {} }), (400, required)).await;
    let served = curious().await;
    let legacy = rpc(1, "tools/call", json!({ "name": "Up_paid" }));
    let (_, body) = text(send(&served.url, Method::POST, &[], legacy).await).await;
    assert!(body.contains(r#""code":-32042"#) && body.contains("pay.example.com"), "{body}");
}

/// A prompt that asks for a name, got by callers of either era.
async fn check_prompt(served: &Served, prompt: &str) {
    let can = json!({ "elicitation": {} });
    let get = json!({ "name": prompt });
    let (_, asked) = ask(&served.url, modern_as("prompts/get", get.clone(), can.clone())).await;
    let asked: Value = serde_json::from_str(&asked).expect("an answer");
    let requests = asked["result"]["inputRequests"].as_object().expect("a question");
    let (key, question) = requests.iter().next().expect("one question");
    assert_eq!(question["params"]["message"], "Name?");
    let again = json!({ "name": prompt, "requestState": asked["result"]["requestState"],
        "inputResponses": { key.as_str(): { "action": "accept", "content": { "name": "Ada" } } } });
    let (_, body) = ask(&served.url, modern_as("prompts/get", again, can)).await;
    assert!(body.contains("hello Ada"), "{body}");

    let (question, rest) = answer_as_bob(&served.url, "2025-06-18", "prompts/get", get.clone()).await;
    assert_eq!(question["params"]["message"], "Name?");
    assert!(rest.contains("hello Bob"), "{rest}");
}

#[tokio::test]
async fn prompts_ask_callers_of_either_era() {
    let inner = curious().await;
    check_prompt(&inner, "Up_greet").await;
    for between in ["legacy", "modern"] {
        let outer = open(json!({ "url": inner.url, "era": between }));
        let outer = serve(Settings::default(), vec![("Far", outer)]).await;
        check_prompt(&outer, "Far_Up_greet").await;
    }
    let (_, body) = ask(&inner.url, modern_as("prompts/get", json!({ "name": "Up_greet" }), json!({}))).await;
    assert!(body.contains("hello nobody"), "{body}");
}
