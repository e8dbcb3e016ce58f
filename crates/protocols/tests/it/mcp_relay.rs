//! MCP in, MCP out: nothing is lost on the way, and either era reaches the other.

use http::Method;
use serde_json::{Value, json};
use toolmux_core::gateway::Settings;

use crate::mcp_client::{answer_as_bob, ask, call, events, modern, modern_as, rpc, send, text};
use crate::mcp_fixture::{Served, open, serve, upstream};

async fn relay(arguments: &[&str]) -> Served {
    serve(Settings::default(), vec![("Up", upstream(arguments, &json!({})))]).await
}

/// Two of our own servers in a row, the test server behind them.
async fn relay_over_http(arguments: &[&str], era: &str) -> (Served, Served) {
    let inner = relay(arguments).await;
    let outer = open(json!({ "url": inner.url, "era": era }));
    (serve(Settings::default(), vec![("Far", outer)]).await, inner)
}

#[tokio::test]
async fn a_listed_tool_keeps_every_member_but_its_name() {
    for era in ["legacy", "modern"] {
        let served = relay(&[era, "paged"]).await;
        let (_, body) = ask(&served.url, modern("tools/list", json!({}))).await;
        let echo = concat!(
            r#"{"name":"Up_echo","description":"echo","inputSchema":{"type":"object","properties":{"text":"#,
            r#"{"type":"string"},"n":{}}},"title":"Echo","icons":[{"src":"data:,x"}],"#,
            r#""execution":{"taskSupport":"forbidden"},"annotations":{"readOnlyHint":true,"x-hint":1},"#,
            r#""x-unknown":{"z":1,"a":2},"_meta":{"k":"v"}}"#
        );
        assert!(body.contains(echo), "{body}");
        assert!(body.contains(r#""name":"Up_get_thing-_""#), "{body}");
        assert_eq!(body.matches("inputSchema").count(), 18, "every page was read");
    }
}

#[tokio::test]
async fn a_result_keeps_every_member_order_and_digit() {
    let strange = concat!(
        r#""x-first":12345678901234567890123,"content":[{"type":"hologram","b":1.10,"a":{"k":null}}],"#,
        r#""structuredContent":{"z":1e400,"a":"\u00e9"},"_meta":{"m":[1,2]},"unknown":true"#
    );
    // Clients of 2026-07-28 are told beside it who answered.
    let (before, after) = strange.split_once("},\"unknown\"").expect("as it must be");
    let keeps = |body: &str| {
        let named = format!("{before},\"io.modelcontextprotocol/serverInfo\":{{\"name\":\"toolmux\"");
        body.contains(&named) && body.contains(&format!("}}}},\"unknown\"{after}"))
    };
    for era in ["legacy", "modern"] {
        let served = relay(&[era]).await;
        assert!(keeps(&call(&served.url, "Up_strange").await));
        let legacy = rpc(1, "tools/call", json!({ "name": "Up_strange" }));
        let (_, body) = text(send(&served.url, Method::POST, &[], legacy).await).await;
        assert_eq!(body, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{strange}}}}}"#));
        let (far, _inner) = relay_over_http(&[era], "auto").await;
        assert!(keeps(&call(&far.url, "Far_Up_strange").await), "twice over HTTP");
        let error = r#""error":{"code":-32042,"message":"no","data":{"b":1,"a":2}}"#;
        assert!(call(&served.url, "Up_error").await.contains(error));
    }
}

/// The same call again, under the same key.
async fn again(served: &Served, tool: &str) -> [String; 2] {
    let (mut headers, body) = modern("tools/call", json!({ "name": tool }));
    headers.push(("idempotency-key".to_owned(), tool.to_owned()));
    [ask(&served.url, (headers.clone(), body.clone())).await.1, ask(&served.url, (headers, body)).await.1]
}

#[tokio::test]
async fn a_recorded_answer_is_the_first_one_to_the_letter() {
    let served = relay(&["modern"]).await;
    for (tool, word) in [("Up_strange", "hologram"), ("Up_error", "-32042")] {
        let [first, second] = again(&served, tool).await;
        assert!(first.contains(word), "{first}");
        assert_eq!(first, second);
    }
}

#[tokio::test]
async fn a_question_is_answered_under_the_key_of_the_call_that_asked() {
    let (served, can) = (relay(&["modern"]).await, json!({ "elicitation": {} }));
    let keyed = async |params: Value| {
        let (mut headers, body) = modern_as("tools/call", params, can.clone());
        headers.push(("idempotency-key".to_owned(), "1".to_owned()));
        ask(&served.url, (headers, body)).await.1
    };
    let asked: Value = serde_json::from_str(&keyed(json!({ "name": "Up_ask" })).await).expect("an answer");
    let requests = asked["result"]["inputRequests"].as_object().expect("a question");
    let answers: Value = requests
        .keys()
        .map(|key| (key.clone(), json!({ "action": "accept", "content": { "name": "Ada" } })))
        .collect();
    let state = &asked["result"]["requestState"];
    let answered = keyed(json!({ "name": "Up_ask", "requestState": state, "inputResponses": answers })).await;
    assert!(answered.contains("hello Ada"), "{answered}");
}

#[tokio::test]
async fn a_request_keeps_what_the_caller_said() {
    let served = relay(&["modern"]).await;
    let body = concat!(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"Up_params","x-more":[1],"#,
        r#""arguments":{"n":12345678901234567890123,"b":1.0},"_meta":{"traceparent":"00-a-b-01","x":{"b":1,"a":2},"#,
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientCapabilities":{"roots":{"x":1}}}}}"#
    );
    let (headers, _) = modern("tools/call", json!({ "name": "Up_params" }));
    let (_, answer) = ask(&served.url, (headers, body.to_owned())).await;
    let answer: Value = serde_json::from_str(&answer).expect("as it must be");
    let heard = answer["result"]["content"][0]["text"].as_str().expect("as it must be");
    assert!(
        heard.contains(r#""name":"params","x-more":[1],"arguments":{"n":12345678901234567890123,"b":1.0}"#)
    );
    assert!(heard.contains(r#""_meta":{"traceparent":"00-a-b-01","x":{"b":1,"a":2},"#), "{heard}");
    assert!(heard.contains(r#""io.modelcontextprotocol/clientCapabilities":{"roots":{"x":1}}"#), "{heard}");
}

/// What a caller of either era hears when the tool of a server of either era asks for a name.
async fn check_question(served: &Served, tool: &str) {
    let can = json!({ "elicitation": {} });
    let (_, asked) = ask(&served.url, modern_as("tools/call", json!({ "name": tool }), can.clone())).await;
    let asked: Value = serde_json::from_str(&asked).expect("as it must be");
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let (key, request) = asked["result"]["inputRequests"]
        .as_object()
        .expect("as it must be")
        .iter()
        .next()
        .expect("as it must be");
    assert_eq!(request["params"]["message"], "Name?");
    let again = json!({ "name": tool, "requestState": asked["result"]["requestState"],
        "inputResponses": { key.as_str(): { "action": "accept", "content": { "name": "Ada" } } } });
    let (_, body) = ask(&served.url, modern_as("tools/call", again, can)).await;
    assert!(body.contains("hello Ada"), "{body}");

    let params = json!({ "name": tool });
    let (question, rest) = answer_as_bob(&served.url, "2025-11-25", "tools/call", params).await;
    assert_eq!(question["method"], "elicitation/create");
    assert!(rest.contains("hello Bob"), "{rest}");
}

#[tokio::test]
async fn questions_reach_callers_of_either_era() {
    for era in ["legacy", "modern"] {
        check_question(&relay(&[era]).await, "Up_ask").await;
        for between in ["legacy", "modern"] {
            let (far, _inner) = relay_over_http(&[era], between).await;
            check_question(&far, "Far_Up_ask").await;
        }
    }
}

#[tokio::test]
async fn a_caller_that_cannot_be_asked_is_not_asked() {
    let legacy = relay(&["legacy"]).await;
    assert!(call(&legacy.url, "Up_ask").await.contains("is not supported here"));
    let modern = relay(&["modern"]).await;
    assert!(call(&modern.url, "Up_ask").await.contains("cannot be asked"));
}

#[tokio::test]
async fn progress_and_logs_come_through() {
    for (era, between) in [("legacy", "legacy"), ("modern", "modern"), ("legacy", "modern")] {
        let (far, _inner) = relay_over_http(&[era], between).await;
        let meta = json!({ "progressToken": 9, "io.modelcontextprotocol/logLevel": "info" });
        let request = modern("tools/call", json!({ "name": "Far_Up_steps", "_meta": meta }));
        let (_, body) = ask(&far.url, request).await;
        let steps = body.matches(r#""params":{"progressToken":9,"progress":"#).count();
        assert_eq!(steps, 3, "{era} behind {between}: {body}");
        assert!(body.contains(r#""total":3,"message":"step 3""#), "{body}");
        assert!(body.contains(r#"{"level":"warning","data":{"half":true}}"#), "{body}");
    }
}

#[tokio::test]
async fn prompts_and_resources_are_relayed_under_our_names() {
    let served = relay(&["legacy"]).await;
    let (_, body) = ask(&served.url, modern("prompts/list", json!({}))).await;
    assert!(body.contains(r#"{"name":"Up_greet","x-more":1,"arguments":[{"name":"who"}]}"#), "{body}");
    let (_, body) = ask(&served.url, modern("prompts/get", json!({ "name": "Up_greet" }))).await;
    assert!(body.contains(r#""text":"greet""#) && body.contains(r#""x-kept":1"#), "{body}");
    assert_eq!(ask(&served.url, modern("prompts/get", json!({ "name": "greet" }))).await.0, 400);
    for uri in ["test://one", "test://t/5"] {
        let (_, body) = ask(&served.url, modern("resources/read", json!({ "uri": uri }))).await;
        assert!(body.contains(&format!(r#""uri":"{uri}","text":"contents""#)), "{body}");
        assert!(body.contains(r#""resultType":"complete""#) && body.contains("ttlMs"), "{body}");
    }
    let reference = json!({ "ref": { "type": "ref/prompt", "name": "Up_greet" },
        "argument": { "name": "who", "value": "" } });
    let (_, body) = ask(&served.url, modern("completion/complete", reference)).await;
    assert!(body.contains(r#""values":["greet"]"#), "{body}");
}

#[tokio::test]
async fn a_changed_list_is_read_and_told() {
    for (era, between) in [("legacy", "modern"), ("modern", "legacy")] {
        let (far, _inner) = relay_over_http(&[era], between).await;
        let (headers, body) =
            modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let mut listening = send(&far.url, Method::POST, &headers, body).await;
        events(&mut listening, 1).await;
        assert!(call(&far.url, "Far_Up_grow").await.contains("grown"));
        assert_eq!(events(&mut listening, 1).await[0]["method"], "notifications/tools/list_changed");
        let (_, body) = ask(&far.url, modern("tools/list", json!({}))).await;
        assert!(body.contains("Far_Up_late"), "{body}");
    }
}
