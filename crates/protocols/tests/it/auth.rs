//! The authorization broker against a small OAuth server.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use futures_util::FutureExt;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use toolmux_broker::{Base, OAuthBroker, Owner, SealingKey};
use toolmux_core::gateway::{Admission, ApiKey, Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::broker::{Broker, TokenReply, TokenRequest};
use toolmux_core::ports::store::{SealedKey, Store};
use toolmux_core::requirements::{Authorization, Requirements};
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming, ToolSettings};
use toolmux_core::toolset::Pattern;
use toolmux_http::client::{HttpClient, HttpLimits};

use crate::auth_provider::{CLIENT, Provider, SECRET, Seen};
use crate::oxp::{SETTLE, Server};
use crate::scripted_source::Scripted;

/// A server with a broker, a provider, and the store both keep their secrets in.
pub(crate) struct Stage {
    server: Server,
    pub(crate) provider: Provider,
    pub(crate) broker: Arc<OAuthBroker>,
    pub(crate) store: Arc<dyn Store>,
}

fn settings(broker: Arc<OAuthBroker>) -> Settings {
    let key = |name: &str| ApiKey { name: name.into(), sha256: Secret::new(name).sha256(), toolset: None };
    let needs = |scopes: &[&str]| ToolSettings {
        requires: Some(Requirements {
            authorization: vec![Authorization::new(
                "github",
                scopes.iter().map(ToString::to_string).collect(),
            )],
            ..Requirements::default()
        }),
        ..ToolSettings::default()
    };
    Settings {
        admission: Admission { keys: vec![key("alice"), key("bob")], jwt: None },
        tools: vec![
            (Pattern::new("Kit.Needy"), needs(&["repo"])),
            (Pattern::new("Kit.Nothing"), needs(&["gist"])),
        ],
        broker: Some(broker),
        ..Settings::default()
    }
}

/// What one server has of what all share.
fn broker(provider: &Provider, store: &Arc<dyn Store>, base: &Base) -> Arc<OAuthBroker> {
    let github = toolmux_broker::Provider::discovered(&provider.base, CLIENT)
        .expect("an address")
        .secret(Some(Secret::new(SECRET)))
        .scopes(vec!["offline_access".into()]);
    let providers = HashMap::from([("github".to_owned(), github)]);
    let broker = OAuthBroker::new(providers, store.clone(), SealingKey::new([1; 32]), base.clone());
    Arc::new(broker.with_token_issuer(Some(provider.base.clone())))
}

pub(crate) async fn stage() -> Stage {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let provider = Provider::start().await;
    let base: Base = Arc::new(OnceLock::new());
    let broker = broker(&provider, &store, &base);
    let gateway = Gateway::new(settings(broker.clone()), store.clone());
    gateway.sources().mount(Mount::new("scripted", "Kit", Naming::Prefixed, Scripted::new()));
    gateway.sources().settled(SETTLE).await;
    let server = Server::serve(gateway).await;
    base.set(server.base.clone()).expect("set once");
    Stage { server, provider, broker, store }
}

impl Stage {
    async fn call(&self, caller: &str, tool: &str, user: Option<&str>) -> (StatusCode, Value) {
        let body = json!({ "tool_id": tool, "context": { "user_id": user } }).to_string();
        let (status, _, answer) =
            self.server.ask(Method::POST, "/tools/call", &[("oxp-api-key", caller)], &body).await;
        (status, answer)
    }

    /// The address of the challenge that a call meets.
    pub(crate) async fn challenge(&self, caller: &str, user: Option<&str>) -> Value {
        let (status, answer) = self.call(caller, "Kit.Needy", user).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        answer["missing_requirements"]["authorization"][0].clone()
    }

    /// What `check_url` says.
    pub(crate) async fn status(&self, challenge: &Value) -> String {
        let (status, _, body) = get(&url(challenge, "check_url"), None).await;
        assert_eq!(status, StatusCode::OK);
        let answer: Value = serde_json::from_str(&body).expect("JSON");
        answer["status"].as_str().expect("a status").to_owned()
    }

    /// Lets the length of a token's life be chosen.
    fn life(&self, seconds: u64) {
        self.provider.seen(|seen| seen.life = seconds);
    }
}

pub(crate) fn url(challenge: &Value, member: &str) -> String {
    challenge[member].as_str().unwrap_or_else(|| panic!("{challenge}")).to_owned()
}

pub(crate) async fn get(url: &str, cookie: Option<&str>) -> (StatusCode, HeaderMap, String) {
    send(Method::GET, url, cookie, String::new()).await
}

async fn send(
    method: Method,
    url: &str,
    cookie: Option<&str>,
    body: String,
) -> (StatusCode, HeaderMap, String) {
    let mut headers = HeaderMap::new();
    if let Some(cookie) = cookie {
        headers.insert("cookie", cookie.parse().expect("a cookie"));
    }
    let client = HttpClient::new(HttpLimits::default());
    let answer = client.send(method, &url.parse().expect("url"), headers, body).await.expect("answers");
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = answer.body().await.expect("a body");
    (status, headers, String::from_utf8(body.to_vec()).expect("text"))
}

pub(crate) fn location(headers: &HeaderMap) -> String {
    headers["location"].to_str().expect("text").to_owned()
}

fn cookie(headers: &HeaderMap) -> String {
    let cookie = headers["set-cookie"].to_str().expect("text");
    cookie.split(';').next().expect("a pair").to_owned()
}

/// The page that says who asks, as a browser keeps it: the value of its form, and its cookie.
pub(crate) struct Shown {
    pub(crate) form: String,
    pub(crate) cookie: String,
}

/// Opens a link.
pub(crate) async fn open(start: &str) -> Shown {
    let (status, headers, page) = get(start, None).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    assert!(headers.get("location").is_none());
    let form = page.split("name=\"form\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let form = form.unwrap_or_else(|| panic!("no form in {page}")).to_owned();
    Shown { form, cookie: cookie(&headers) }
}

/// Goes on from there, with a token of the user where one is asked for.
pub(crate) async fn go_on(start: &str, shown: &Shown, token: &str) -> (StatusCode, HeaderMap, String) {
    let body = format!("form={}&token={token}", shown.form);
    send(Method::POST, start, Some(&shown.cookie), body).await
}

/// Goes to the provider as a browser does; gives the address it is sent back to, and its cookie.
async fn consent(start: &str) -> (String, String) {
    let (status, headers, page) = go_on(start, &open(start).await, "").await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    let cookie = cookie(&headers);
    let (_, headers, _) = get(&location(&headers), None).await;
    (location(&headers), cookie)
}

/// The whole way; gives the last page.
pub(crate) async fn complete(start: &str) -> (StatusCode, String) {
    let (back, cookie) = consent(start).await;
    let (status, headers, page) = get(&back, Some(&cookie)).await;
    assert!(headers["content-type"].to_str().expect("text").starts_with("text/html"));
    (status, page)
}

#[tokio::test]
async fn after_the_user_consented_the_same_call_succeeds() {
    let stage = stage().await;
    let challenge = stage.challenge("alice", Some("ann")).await;
    assert_eq!(
        (challenge["id"].as_str(), stage.status(&challenge).await.as_str()),
        (Some("github"), "pending")
    );
    let (status, page) = complete(&url(&challenge, "url")).await;
    assert_eq!((status, page.contains("Authorization completed")), (StatusCode::OK, true), "{page}");
    assert_eq!(stage.status(&challenge).await, "completed");
    let (status, answer) = stage.call("alice", "Kit.Needy", Some("ann")).await;
    assert_eq!((status, &answer["value"]["token"]), (StatusCode::OK, &json!("access1".len())), "{answer}");
    assert_eq!(stage.provider.seen(|seen| seen.scopes_asked.clone()), ["repo offline_access"]);
}

#[tokio::test]
async fn a_token_is_of_one_caller_and_one_user() {
    let stage = stage().await;
    let challenge = stage.challenge("alice", Some("ann")).await;
    complete(&url(&challenge, "url")).await;
    for (caller, user) in [("bob", Some("ann")), ("alice", Some("eve")), ("alice", None)] {
        assert_eq!(
            stage.call(caller, "Kit.Needy", user).await.0,
            StatusCode::BAD_REQUEST,
            "{caller} {user:?}"
        );
    }
}

#[tokio::test]
async fn a_waiting_challenge_is_handed_out_again_and_each_owner_has_its_own() {
    let stage = stage().await;
    let first = stage.challenge("alice", Some("ann")).await;
    assert_eq!(first, stage.challenge("alice", Some("ann")).await);
    assert_ne!(first, stage.challenge("alice", Some("eve")).await);
    assert_ne!(first, stage.challenge("bob", Some("ann")).await);
}

#[tokio::test]
async fn a_challenge_opened_twice_is_decided_once() {
    let stage = stage().await;
    let challenge = stage.challenge("alice", Some("u1")).await;
    let (first, cookie) = consent(&url(&challenge, "url")).await;
    let (second, other) = consent(&url(&challenge, "url")).await;
    assert_eq!(get(&first, Some(&cookie)).await.0, StatusCode::OK);
    let denied = second.replace("code=", "error=access_denied&was=");
    assert_eq!(get(&denied, Some(&other)).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(stage.status(&challenge).await, "completed", "the first decision holds");
}

#[tokio::test]
async fn a_state_is_good_once_and_in_the_browser_that_began() {
    let stage = stage().await;
    let challenge = stage.challenge("alice", None).await;
    let (back, cookie) = consent(&url(&challenge, "url")).await;
    assert_eq!(get(&back, Some("toolmux_auth=stolen")).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(get(&back, Some(&cookie)).await.0, StatusCode::BAD_REQUEST, "the state is used up");
    assert_eq!(stage.status(&challenge).await, "pending");
    assert_eq!(complete(&url(&challenge, "url")).await.0, StatusCode::OK, "the user may begin again");
    assert_eq!(get(&url(&challenge, "url"), None).await.0, StatusCode::BAD_REQUEST, "but not after the end");
    let made_up = format!("{}/auth/callback/github?state=made-up&code=code0", stage.server.base);
    assert_eq!(get(&made_up, Some(&cookie)).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_code_of_one_flow_completes_no_other() {
    let stage = stage().await;
    let (alice, bob) = (stage.challenge("alice", None).await, stage.challenge("bob", None).await);
    let (of_alice, _) = consent(&url(&alice, "url")).await;
    let (of_bob, cookie) = consent(&url(&bob, "url")).await;
    let code = |back: &str| back.split("code=").nth(1).expect("a code").to_owned();
    let mixed = of_bob.replace(&code(&of_bob), &code(&of_alice));
    assert_eq!(get(&mixed, Some(&cookie)).await.0, StatusCode::BAD_REQUEST, "PKCE binds the code");
    assert_eq!(stage.status(&bob).await, "failed");
}

#[tokio::test]
async fn a_user_who_says_no_fails_the_challenge_and_is_told_so_safely() {
    let stage = stage().await;
    stage.provider.seen(|seen| seen.denies = true);
    let challenge = stage.challenge("alice", None).await;
    let (status, page) = complete(&url(&challenge, "url")).await;
    assert_eq!((status, page.contains("<b>")), (StatusCode::BAD_REQUEST, false), "{page}");
    assert_eq!(stage.status(&challenge).await, "failed");
    assert_ne!(challenge, stage.challenge("alice", None).await, "the next call asks anew");
}

#[tokio::test]
async fn an_unknown_challenge_has_failed() {
    let stage = stage().await;
    let unknown = json!({ "check_url": format!("{}/auth/check/nothing", stage.server.base) });
    assert_eq!(stage.status(&unknown).await, "failed");
}

#[tokio::test]
async fn a_token_near_its_end_is_renewed_once_however_many_ask() {
    let stage = stage().await;
    stage.life(0);
    complete(&url(&stage.challenge("alice", None).await, "url")).await;
    stage.life(3_600);
    let calls = (0..8).map(|_| stage.call("alice", "Kit.Needy", None));
    for (status, answer) in futures_util::future::join_all(calls).await {
        assert_eq!(status, StatusCode::OK, "{answer}");
    }
    assert_eq!(stage.provider.seen(|seen| seen.refreshed), 1);
}

#[tokio::test]
async fn of_several_servers_one_renews_a_token_and_all_use_it() {
    let stage = stage().await;
    stage.life(0);
    complete(&url(&stage.challenge("alice", None).await, "url")).await;
    stage.life(3_600);
    let base: Base = Arc::new(OnceLock::new());
    let servers: Vec<_> = (0..8).map(|_| broker(&stage.provider, &stage.store, &base)).collect();
    let needed = Authorization::new("github", vec!["repo".into()]);
    let wanted =
        TokenRequest { caller: "alice", subject: None, needed_by: "Kit.Needy", user: "", needed: &needed };
    for token in futures_util::future::join_all(servers.iter().map(|server| server.token(&wanted))).await {
        match token {
            Ok(TokenReply::Token(token)) => assert_eq!(token.expose(), "access2"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(stage.provider.seen(|seen| seen.refreshed), 1);
    assert!(stage.store.sealed_list("renewal").await.is_ok_and(|names| names.is_empty()));
}

#[tokio::test]
async fn what_becomes_of_a_grant_while_it_is_renewed_counts() {
    let stage = stage().await;
    stage.life(0);
    complete(&url(&stage.challenge("alice", None).await, "url")).await;
    stage.life(3_600);
    let place = SealedKey { kind: "token".into(), name: json!(["github", "alice", ""]).to_string() };
    let (store, revoked) = (stage.store.clone(), place.clone());
    let revoke = move || {
        let taken = store.sealed_take(&revoked).now_or_never().expect("memory answers at once");
        assert!(taken.is_ok_and(|taken| taken.is_some()));
    };
    stage.provider.seen(|seen| seen.at_renewal = Some(Box::new(revoke)));
    stage.challenge("alice", None).await;
    assert_eq!(stage.provider.seen(|seen| seen.refreshed), 1);
    assert!(stage.store.sealed_find(&place).await.is_ok_and(|kept| kept.is_none()), "it stays revoked");
}

#[tokio::test]
async fn a_grant_that_is_gone_asks_the_user_again() {
    let stage = stage().await;
    stage.life(0);
    complete(&url(&stage.challenge("alice", None).await, "url")).await;
    stage.provider.seen(|seen| *seen = Seen::default());
    assert_eq!(stage.challenge("alice", None).await["id"], "github");
}

#[tokio::test]
async fn a_tool_of_other_scopes_asks_for_all_of_them() {
    let stage = stage().await;
    complete(&url(&stage.challenge("alice", None).await, "url")).await;
    let (status, answer) = stage.call("alice", "Kit.Nothing", None).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    complete(&url(&answer["missing_requirements"]["authorization"][0], "url")).await;
    let asked = stage.provider.seen(|seen| seen.scopes_asked.clone());
    assert_eq!(asked, ["repo offline_access", "gist offline_access repo"]);
    for tool in ["Kit.Needy", "Kit.Nothing"] {
        assert_eq!(stage.call("alice", tool, None).await.0, StatusCode::OK, "{tool}");
    }
}

#[tokio::test]
async fn tokens_are_listed_and_revoked_here_and_there() {
    let stage = stage().await;
    complete(&url(&stage.challenge("alice", Some("ann")).await, "url")).await;
    let owner = Owner { provider: "github".into(), caller: "alice".into(), user: "ann".into() };
    let owners = stage.broker.owners().await.unwrap_or_else(|error| panic!("{}", error.message.public));
    assert_eq!(owners, std::slice::from_ref(&owner));
    let revoked =
        stage.broker.revoke(&owner).await.unwrap_or_else(|error| panic!("{}", error.message.public));
    assert_eq!(revoked, (true, None));
    assert_eq!(stage.provider.seen(|seen| seen.revoked.clone()), ["refresh1", "access1"]);
    assert_eq!(stage.call("alice", "Kit.Needy", Some("ann")).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn what_is_kept_is_sealed() {
    let stage = stage().await;
    complete(&url(&stage.challenge("alice", None).await, "url")).await;
    let name = json!(["github", "alice", ""]).to_string();
    let place = SealedKey { kind: "token".into(), name };
    let sealed =
        stage.store.sealed_find(&place).await.unwrap_or_else(|error| panic!("{}", error.message.public));
    let sealed = sealed.expect("kept");
    assert!(!String::from_utf8_lossy(&sealed).contains("access1"));
}

/// Lets the time of every challenge be over.
async fn expire(store: &Arc<dyn Store>) {
    for kind in ["challenge", "challenge_of", "form", "state"] {
        for name in store.sealed_list(kind).await.unwrap_or_default() {
            let key = SealedKey { kind: kind.into(), name };
            let past = Some(SystemTime::UNIX_EPOCH);
            assert!(store.sealed_put(&key, b"", past).await.is_ok());
        }
    }
}

#[tokio::test]
async fn challenges_expire() {
    let stage = stage().await;
    let challenge = stage.challenge("alice", None).await;
    expire(&stage.store).await;
    assert_eq!(stage.status(&challenge).await, "failed");
    assert_eq!(get(&url(&challenge, "url"), None).await.0, StatusCode::BAD_REQUEST);
}
