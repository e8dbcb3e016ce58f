//! Tokens and identities of other users, taken by a caller.

use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::upstream::{Answer, Heard, Upstream};
use crate::process::{Serving, folder, until};

const ALICE: &str = "ALICE-SECRET-TOKEN";

/// A modern MCP server that shows to the owner of a token what is private to it.
fn private(heard: &Heard) -> Answer {
    let Some(token) = heard.token() else {
        let headers = "www-authenticate: Bearer scope=\"read\"\r\n";
        return Answer { status: 401, headers, body: json!({}) };
    };
    let asked = heard.json();
    let result = match asked["method"].as_str().unwrap_or_default() {
        "server/discover" => {
            let capabilities = json!({ "tools": {}, "prompts": {}, "resources": {}, "completions": {} });
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities })
        }
        "tools/list" => json!({ "tools": [{ "name": "send", "inputSchema": { "type": "object" } }] }),
        "resources/list" => {
            json!({ "resources": [{ "uri": "diary://mine", "name": format!("of {token}") }] })
        }
        "prompts/list" => json!({ "prompts": [{ "name": "plan", "description": format!("of {token}") }] }),
        "resources/read" => {
            json!({ "contents": [{ "uri": "diary://mine", "text": format!("private diary of {token}") }] })
        }
        "prompts/get" => json!({ "description": format!("private plan of {token}"), "messages": [] }),
        "completion/complete" => json!({ "completion": { "values": [format!("private word of {token}")] } }),
        _ => json!({ "content": [{ "type": "text", "text": "sent" }] }),
    };
    Answer::good(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }))
}

fn config(upstream: &Upstream) -> String {
    format!(
        r#"
store = "memory"

[keys.alice]
key = "the key of alice"
[keys.bob]
key = "the key of bob"

[auth]
key = "a key of at least thirty-two characters"
[auth.providers.mail]
authorize_url = "https://login.example.com/authorize"
token_url = "https://login.example.com/token"
client_id = "toolmux"

[sources.Mail]
kind = "mcp"
url = "{}/mcp"
authorization = {{ provider = "mail" }}
"#,
        upstream.base
    )
}

/// Calls over OXP with a token that the caller brings.
fn call_with(serving: &Serving, tool: &str, token: &str) -> String {
    let context = json!({ "authorization": [{ "id": "mail", "token": token }] });
    let body = json!({ "tool_id": tool, "input": {}, "context": context }).to_string();
    serving.post("/tools/call", "authorization: Bearer the key of alice\r\n", body.as_bytes()).1
}

fn bob(serving: &Serving, method: &str, params: &Value) -> String {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    serving.post("/mcp", "authorization: Bearer the key of bob\r\n", body.as_bytes()).1
}

#[test]
fn a_caller_does_not_read_with_the_token_of_another() {
    let upstream = Upstream::start(private);
    let folder = folder(&config(&upstream));
    let serving = Serving::start(folder.path());
    let given = call_with(&serving, "Mail.authorize", ALICE);
    assert!(given.contains("Access was granted: 1 tool can be called"), "{given}");
    until("the tools of the source", || {
        call_with(&serving, "Mail.send", ALICE).contains("sent").then_some(())
    });
    let reference = json!({ "type": "ref/prompt", "name": "Mail_plan" });
    let completing = json!({ "ref": reference, "argument": { "name": "a", "value": "b" } });
    for (method, params) in [
        ("resources/read", json!({ "uri": "diary://mine" })),
        ("prompts/get", json!({ "name": "Mail_plan" })),
        ("completion/complete", completing),
    ] {
        let answer = bob(&serving, method, &params);
        assert!(!answer.contains("private") && !answer.contains(ALICE), "{method}: {answer}");
        assert!(answer.contains("/auth/start/"), "{method} asks for bob's own: {answer}");
    }
    for list in ["resources/list", "resources/templates/list", "prompts/list"] {
        let answer = bob(&serving, list, &json!({}));
        assert!(answer.contains("result") && !answer.contains(ALICE), "{list}: {answer}");
    }
    let of_alice = upstream.heard().into_iter().filter(|heard| heard.token() == Some(ALICE));
    let methods: Vec<String> =
        of_alice.filter_map(|heard| heard.json()["method"].as_str().map(str::to_owned)).collect();
    let own = ["server/discover", "tools/list", "tools/call"];
    assert!(methods.iter().all(|method| own.contains(&method.as_str())), "{methods:?}");
}

#[test]
fn a_token_that_a_request_brings_is_not_used_after_it() {
    let upstream = Upstream::start(private);
    let folder = folder(&format!("{}\n[limits]\nrefresh = \"100ms\"\n", config(&upstream)));
    let serving = Serving::start(folder.path());
    call_with(&serving, "Mail.authorize", ALICE);
    let sent = || call_with(&serving, "Mail.send", ALICE).contains("sent").then_some(());
    until("the tools of the source", sent);
    let before = upstream.heard().len();
    until("the source to be asked for its list again", || {
        (upstream.heard().len() > before + 2).then_some(())
    });
    let later = upstream.heard().split_off(before);
    assert!(later.iter().all(|heard| heard.token() != Some(ALICE)), "{later:?}");
    sent().expect("the tools are still there");
}

/// A command that says for whom it acts.
const ACTING: &str = r#"
store = "memory"

[toolsets.all]
tools = ["*"]

[jwt]
secret = "a secret that is shared, and long enough"

[sources.Shell]
kind = "command"
[sources.Shell.tools.whoami]
description = "Says for whom it acts"
command = ["sh", "-c", "echo acting for $WHO"]
[tools."Shell.whoami"]
requires = { user_id = true }
deliver = [{ user_id = true, env = "WHO" }]
"#;

fn token(act_as: &Value) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let claims = json!({ "sub": "alice", "toolset": "all", "exp": now + 600, "act_as": act_as });
    let key = EncodingKey::from_secret(b"a secret that is shared, and long enough");
    encode(&Header::new(Algorithm::HS256), &claims, &key).expect("a token")
}

#[test]
fn a_caller_does_not_act_for_another_user() {
    let folder = folder(ACTING);
    let serving = Serving::start(folder.path());
    let call = |act_as: Value, context: Value| {
        let headers = format!("authorization: Bearer {}\r\n", token(&act_as));
        let body = json!({ "tool_id": "Shell.whoami", "input": {}, "context": context }).to_string();
        serving.post("/tools/call", &headers, body.as_bytes())
    };
    let as_bob = || json!({ "user_id": "bob-the-ceo" });
    let (status, refused) = call(json!(null), as_bob());
    assert!(status == 401 && !refused.contains("acting for"), "{status} {refused}");
    let (status, refused) = call(json!(["eve"]), as_bob());
    assert!(status == 401 && !refused.contains("acting for"), "{status} {refused}");
    for (act_as, context, expect) in [
        (json!(null), json!({}), "acting for alice"),
        (json!(null), json!({ "user_id": "alice" }), "acting for alice"),
        (json!(["eve", "bob-the-ceo"]), as_bob(), "acting for bob-the-ceo"),
        (json!("*"), as_bob(), "acting for bob-the-ceo"),
    ] {
        let (status, ran) = call(act_as.clone(), context);
        assert!(status == 200 && ran.contains(expect), "{act_as}: {status} {ran}");
    }
}
