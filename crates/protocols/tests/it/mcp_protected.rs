//! Servers that want a token of the user: found out, asked for, attached, widened; never the caller's own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolmux_broker::{OAuthBroker, Provider as Registered, SealingKey};
use toolmux_core::gateway::{ApiKey, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::store::Store;
use toolmux_core::secret::Secret;
use toolmux_core::sources::SourceStatus;

use crate::auth::complete;
use crate::auth_provider::{CLIENT, Provider, SECRET};
use crate::mcp_client::{modern, send, text};
use crate::mcp_fixture::{Served, locked, open, serve};
use crate::oxp::listen;

/// What the server has seen of `authorization` headers, and whom it names as its authorization server.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) tokens: Vec<String>,
    pub(crate) issuer: String,
    /// What it calls itself; its address when absent.
    pub(crate) resource: Option<String>,
    /// Tokens that it no longer takes.
    pub(crate) rejects: Vec<String>,
    /// Methods that it answered, each with the token.
    pub(crate) asked: Vec<(String, String)>,
}

type Shared = Arc<Mutex<Seen>>;

pub(crate) struct Protected {
    pub(crate) base: String,
    seen: Shared,
    serving: JoinHandle<()>,
}

impl Drop for Protected {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Protected {
    pub(crate) fn seen<T>(&self, read: impl FnOnce(&mut Seen) -> T) -> T {
        read(&mut self.seen.lock().expect("not poisoned"))
    }

    pub(crate) async fn start(issuer: &str) -> Self {
        let seen = Arc::new(Mutex::new(Seen { issuer: issuer.to_owned(), ..Seen::default() }));
        let router = Router::new()
            .route("/mcp", post(answer))
            .route("/.well-known/oauth-protected-resource/mcp", get(metadata))
            .with_state(Arc::clone(&seen));
        let (base, serving) = listen(router).await;
        Protected { base, seen, serving }
    }
}

async fn metadata(State(seen): State<Shared>, headers: HeaderMap) -> String {
    let resource = format!("http://{}/mcp", headers["host"].to_str().expect("text"));
    let seen = seen.lock().expect("not poisoned");
    let (issuer, resource) = (&seen.issuer, seen.resource.as_ref().unwrap_or(&resource));
    json!({ "resource": resource, "authorization_servers": [issuer], "scopes_supported": ["read"] })
        .to_string()
}

/// The first token is good for reading, the second for writing too.
async fn answer(State(seen): State<Shared>, headers: HeaderMap, body: String) -> Response {
    let token = headers.get("authorization").map(|value| value.to_str().expect("text").to_owned());
    seen.lock().expect("not poisoned").tokens.extend(token.clone());
    let token = token.unwrap_or_default();
    let rejected = seen.lock().expect("not poisoned").rejects.contains(&token);
    if rejected || !token.starts_with("Bearer access") {
        return refused(StatusCode::UNAUTHORIZED, r#"Bearer scope="read""#);
    }
    let message: Value = serde_json::from_str(&body).expect("JSON");
    let name = message["params"]["name"].as_str().unwrap_or_default();
    if name == "write" && token != "Bearer access2" {
        let challenge = r#"Bearer error="insufficient_scope", scope="read write""#;
        return refused(StatusCode::FORBIDDEN, challenge);
    }
    let method = message["method"].as_str().expect("a method");
    seen.lock().expect("not poisoned").asked.push((method.to_owned(), token.clone()));
    let result = match method {
        "server/discover" => {
            let capabilities = json!({ "tools": {}, "prompts": {}, "resources": {}, "completions": {} });
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities })
        }
        "resources/list" => json!({ "resources": [{ "uri": format!("diary://{token}"), "name": "diary" }] }),
        "resources/templates/list" => json!({ "resourceTemplates": [] }),
        "prompts/list" => json!({ "prompts": [{ "name": "plan", "description": format!("of {token}") }] }),
        "resources/read" => {
            let text = format!("private diary of {token}");
            json!({ "contents": [{ "uri": message["params"]["uri"], "text": text }] })
        }
        "prompts/get" => json!({ "description": format!("private plan of {token}"), "messages": [] }),
        "completion/complete" => json!({ "completion": { "values": [format!("private word of {token}")] } }),
        "tools/list" => {
            let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
            json!({ "tools": [tool("read"), tool("write")] })
        }
        _ => json!({ "content": [{ "type": "text", "text": format!("did {name}") }] }),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    ([("content-type", "application/json")], answer.to_string()).into_response()
}

fn refused(status: StatusCode, challenge: &str) -> Response {
    (status, [("www-authenticate", challenge)]).into_response()
}

/// toolmux in front of it, with a broker for the provider.
async fn behind(protected: &Protected, provider: &Provider) -> Served {
    let registered = Registered::discovered(&provider.base, CLIENT).expect("an address");
    let registered = registered.secret(Some(Secret::new(SECRET)));
    let providers = HashMap::from([("files".to_owned(), registered)]);
    let authorization = json!({ "provider": "files", "scopes": ["read"] });
    fronted(protected, providers, authorization, Arc::new(MemoryStore::default())).await
}

/// The same with other settings.
pub(crate) async fn fronted(
    protected: &Protected,
    providers: HashMap<String, Registered>,
    authorization: Value,
    store: Arc<dyn Store>,
) -> Served {
    let base = Arc::new(OnceLock::new());
    let broker = OAuthBroker::new(providers, store, SealingKey::new([1; 32]), Arc::clone(&base));
    let source = open(json!({ "url": format!("{}/mcp", protected.base), "max_restart_pause_ms": 1,
        "authorization": authorization }));
    let mut settings = Settings { broker: Some(Arc::new(broker)), ..locked() };
    let bob = ApiKey { name: "bob".into(), sha256: Secret::new("bobs-key").sha256(), toolset: None };
    settings.admission.keys.push(bob);
    let served = serve(settings, vec![("Up", source)]).await;
    base.set(served.url.trim_end_matches("/mcp").to_owned()).expect("set once");
    served
}

/// What alice is answered.
pub(crate) async fn alice(served: &Served, method: &str, params: Value) -> String {
    answer_to("hunter2", served, method, params).await
}

/// What bob is answered.
async fn bob(served: &Served, method: &str, params: Value) -> String {
    answer_to("bobs-key", served, method, params).await
}

async fn answer_to(key: &str, served: &Served, method: &str, params: Value) -> String {
    let (mut headers, body) = modern(method, params);
    headers.push(("authorization".to_owned(), format!("Bearer {key}")));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    text(send(&served.url, Method::POST, &headers, body).await).await.1
}

pub(crate) async fn alice_calls(served: &Served, tool: &str) -> String {
    alice(served, "tools/call", json!({ "name": tool })).await
}

/// Asks until the answer has this in it.
pub(crate) async fn until_said(expect: &str, mut ask: impl AsyncFnMut() -> String) -> String {
    let begun = Instant::now();
    loop {
        let said = ask().await;
        if said.contains(expect) {
            return said;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "waited for {expect}: {said}");
        tokio::task::yield_now().await;
    }
}

/// The address that an answer asks the user to open.
pub(crate) fn link(said: &str) -> &str {
    let start = said.find("http://").expect("an address");
    let end = said[start..].find(['"', ' ', '\\', ')']).expect("its end");
    &said[start..start + end]
}

/// The user allows what the answer asks for.
pub(crate) async fn allow(said: &str) {
    let (status, page) = complete(link(said)).await;
    assert_eq!(status, StatusCode::OK, "{page}");
}

#[tokio::test]
async fn users_allow_their_token_and_it_goes_along_with_their_calls() {
    let provider = Provider::start().await;
    let protected = Protected::start(&provider.base).await;
    let served = behind(&protected, &provider).await;
    let listed = alice(&served, "tools/list", json!({})).await;
    assert!(listed.contains("Up_authorize") && !listed.contains("Up_read"), "{listed}");
    allow(&alice_calls(&served, "Up_authorize").await).await;
    let given = alice_calls(&served, "Up_authorize").await;
    assert!(given.contains("2 tools can be called now"), "{given}");
    until_said("Up_read", async || alice(&served, "tools/list", json!({})).await).await;
    assert!(alice_calls(&served, "Up_read").await.contains("did read"));
    allow(&alice_calls(&served, "Up_write").await).await;
    assert!(alice_calls(&served, "Up_write").await.contains("did write"));
    assert_eq!(provider.seen(|seen| seen.scopes_asked.clone()), ["read", "read write"]);
    let tokens = protected.seen.lock().expect("not poisoned").tokens.clone();
    assert!(
        tokens.iter().all(|token| ["Bearer access1", "Bearer access2"].contains(&token.as_str())),
        "{tokens:?}"
    );
}

#[tokio::test]
async fn whose_tokens_a_server_takes_is_told_to_whoever_configures_it() {
    let protected = Protected::start("https://issuer.example").await;
    let source = open(json!({ "url": format!("{}/mcp", protected.base) }));
    let served = serve(Settings::default(), vec![("Up", source)]).await;
    let [report] = &served.gateway.sources().reports()[..] else { panic!("one source") };
    let SourceStatus::Failing(message) = &report.status else { panic!("{report:?}") };
    assert_eq!(message.public, "The server requires other credentials");
    let remedy = message.developer.as_deref().expect("a remedy");
    assert!(remedy.contains("issuer https://issuer.example; scopes: read"), "{remedy}");
}

/// Requests that a source is asked beside calls, and what only the owner of a token is answered.
fn private_requests() -> [(&'static str, Value, &'static str); 3] {
    let reference = json!({ "type": "ref/prompt", "name": "Up_plan" });
    [
        ("resources/read", json!({ "uri": "diary://mine" }), "private diary"),
        ("prompts/get", json!({ "name": "Up_plan" }), "private plan"),
        (
            "completion/complete",
            json!({ "ref": reference, "argument": { "name": "a", "value": "b" } }),
            "private word",
        ),
    ]
}

/// A protected server whose tools Alice has allowed.
async fn allowed_to_alice() -> (Provider, Protected, Served) {
    let provider = Provider::start().await;
    let protected = Protected::start(&provider.base).await;
    let served = behind(&protected, &provider).await;
    allow(&alice_calls(&served, "Up_authorize").await).await;
    alice_calls(&served, "Up_authorize").await;
    until_said("Up_read", async || alice(&served, "tools/list", json!({})).await).await;
    (provider, protected, served)
}

#[tokio::test]
async fn prompts_and_resources_are_asked_for_under_the_callers_own_token() {
    let (_provider, _protected, served) = allowed_to_alice().await;
    assert!(alice_calls(&served, "Up_read").await.contains("did read"));
    for (method, params, private) in private_requests() {
        let own = alice(&served, method, params.clone()).await;
        assert!(own.contains(&format!("{private} of Bearer access1")), "{method}: {own}");
        let refused = bob(&served, method, params).await;
        assert!(refused.contains("/auth/start/") && !refused.contains("private"), "{method}: {refused}");
    }
    for list in ["resources/list", "prompts/list"] {
        assert!(alice(&served, list, json!({})).await.contains("Bearer access1"), "{list}");
        let others = bob(&served, list, json!({})).await;
        assert!(!others.contains("Bearer"), "{others}");
    }
    allow(&bob(&served, "resources/read", json!({ "uri": "diary://mine" })).await).await;
    for (method, params, private) in private_requests() {
        let own = bob(&served, method, params).await;
        assert!(own.contains(&format!("{private} of Bearer access2")), "{method}: {own}");
    }
    assert!(bob(&served, "resources/list", json!({})).await.contains("diary://Bearer access2"));
    assert!(alice(&served, "resources/list", json!({})).await.contains("diary://Bearer access1"));
}

#[tokio::test]
async fn a_token_that_the_server_no_longer_takes_is_renewed_for_a_resource_too() {
    let (provider, protected, served) = allowed_to_alice().await;
    protected.seen(|seen| seen.rejects.push("Bearer access1".to_owned()));
    let read = alice(&served, "resources/read", json!({ "uri": "diary://mine" })).await;
    assert!(read.contains("private diary of Bearer access2"), "{read}");
    assert_eq!(provider.seen(|seen| (seen.refreshed, seen.scopes_asked.len())), (1, 1), "nobody was asked");
}

#[tokio::test]
async fn the_token_that_lists_are_read_with_is_used_for_nothing_else() {
    let (_provider, protected, served) = allowed_to_alice().await;
    bob(&served, "resources/list", json!({})).await;
    bob(&served, "resources/read", json!({ "uri": "diary://mine" })).await;
    let asked = protected.seen(|seen| seen.asked.clone());
    let connection = ["server/discover", "tools/list"];
    assert!(asked.iter().all(|(method, _)| connection.contains(&method.as_str())), "{asked:?}");
}
