//! A small OAuth 2.0 server for tests: consents at once, checks PKCE, gives codes and refresh tokens that
//! are good once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;

use crate::oxp::listen;

pub(crate) const CLIENT: &str = "toolmux";
pub(crate) const SECRET: &str = "client secret";

/// How the server behaves, and what it has seen.
#[derive(Default)]
pub(crate) struct Seen {
    /// Codes given, each with the challenge it answers to.
    codes: HashMap<String, String>,
    /// Refresh tokens that are still good.
    refresh: Vec<String>,
    given: usize,
    pub(crate) refreshed: usize,
    pub(crate) revoked: Vec<String>,
    pub(crate) scopes_asked: Vec<String>,
    /// Seconds that tokens live.
    pub(crate) life: u64,
    /// What the user answers.
    pub(crate) denies: bool,
    /// Done when a token is to be renewed, before the answer is sent.
    pub(crate) at_renewal: Option<Box<dyn FnOnce() + Send>>,
    /// What clients said when they registered themselves.
    pub(crate) registered: Vec<Value>,
    /// What tokens were asked for, at the consent page and at the token endpoint.
    pub(crate) resources: Vec<String>,
    /// More of its description of itself, over the usual.
    pub(crate) says: Value,
    /// What it calls itself when it sends users back.
    pub(crate) iss: Option<String>,
    /// Whose account a token is of, as an id token says it.
    pub(crate) account: Option<String>,
    /// Where it sent users back to.
    pub(crate) redirect_uris: Vec<String>,
    /// As whom clients came.
    pub(crate) clients: Vec<String>,
}

impl Seen {
    /// Leaves out the numbers of some tokens.
    pub(crate) fn skip(&mut self, tokens: usize) {
        self.given += tokens;
    }
}

pub(crate) type Shared = Arc<Mutex<Seen>>;

pub(crate) struct Provider {
    pub(crate) base: String,
    pub(crate) seen: Shared,
    serving: JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let seen: Shared = Arc::new(Mutex::new(Seen { life: 3_600, ..Seen::default() }));
        let router = Router::new()
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/revoke", post(revoke))
            .route("/register", post(register))
            .route("/.well-known/openid-configuration", get(configuration))
            .with_state(Arc::clone(&seen));
        let (base, serving) = listen(router).await;
        Provider { base, seen, serving }
    }

    pub(crate) fn seen<T>(&self, read: impl FnOnce(&mut Seen) -> T) -> T {
        read(&mut self.seen.lock().expect("not poisoned"))
    }
}

async fn configuration(State(seen): State<Shared>, headers: HeaderMap) -> String {
    let base = format!("http://{}", headers["host"].to_str().expect("text"));
    let mut said = json!({ "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"), "revocation_endpoint": format!("{base}/revoke"),
        "registration_endpoint": format!("{base}/register"), "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic"] });
    if let Some(more) = seen.lock().expect("not poisoned").says.as_object() {
        said.as_object_mut().expect("an object").extend(more.clone());
    }
    said.to_string()
}

async fn register(State(seen): State<Shared>, body: String) -> (StatusCode, String) {
    seen.lock().expect("not poisoned").registered.push(serde_json::from_str(&body).expect("JSON"));
    (StatusCode::CREATED, json!({ "client_id": CLIENT, "client_secret": SECRET }).to_string())
}

async fn authorize(State(seen): State<Shared>, Query(asked): Query<HashMap<String, String>>) -> Redirect {
    let mut seen = seen.lock().expect("not poisoned");
    assert_eq!(asked["code_challenge_method"], "S256");
    seen.clients.push(asked["client_id"].clone());
    seen.redirect_uris.push(asked["redirect_uri"].clone());
    seen.scopes_asked.push(asked.get("scope").cloned().unwrap_or_default());
    seen.resources.extend(asked.get("resource").cloned());
    let (back, state) = (&asked["redirect_uri"], &asked["state"]);
    if seen.denies {
        return Redirect::to(&format!(
            "{back}?state={state}&error=access_denied&error_description=%3Cb%3Eno"
        ));
    }
    let code = format!("code{}", seen.codes.len());
    seen.codes.insert(code.clone(), asked["code_challenge"].clone());
    let iss = seen.iss.as_ref().map(|iss| format!("&iss={iss}")).unwrap_or_default();
    Redirect::to(&format!("{back}?state={state}&code={code}{iss}"))
}

async fn token(
    State(seen): State<Shared>,
    headers: HeaderMap,
    Form(form): Form<HashMap<String, String>>,
) -> Response {
    let mut seen = seen.lock().expect("not poisoned");
    let basic = format!("Basic {}", STANDARD.encode(format!("{CLIENT}:{}", SECRET.replace(' ', "+"))));
    if headers.get("authorization").is_none_or(|sent| sent.as_bytes() != basic.as_bytes()) {
        return refused("invalid_client");
    }
    seen.resources.extend(form.get("resource").cloned());
    let good = match form["grant_type"].as_str() {
        "authorization_code" => {
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
            seen.codes.remove(&form["code"]) == Some(challenge)
        }
        "refresh_token" => {
            seen.refreshed += 1;
            if let Some(happens) = seen.at_renewal.take() {
                happens();
            }
            let place = seen.refresh.iter().position(|known| *known == form["refresh_token"]);
            place.map(|place| seen.refresh.remove(place)).is_some()
        }
        other => panic!("{other}"),
    };
    if !good {
        return refused("invalid_grant");
    }
    seen.given += 1;
    let refresh = format!("refresh{}", seen.given);
    seen.refresh.push(refresh.clone());
    let mut answer = json!({ "access_token": format!("access{}", seen.given), "token_type": "Bearer",
        "expires_in": seen.life, "refresh_token": refresh });
    if let Some(sub) = &seen.account {
        let iss = format!("http://{}", headers["host"].to_str().expect("text"));
        let claims = URL_SAFE_NO_PAD.encode(json!({ "iss": iss, "sub": sub, "aud": CLIENT }).to_string());
        answer["id_token"] = json!(format!("e30.{claims}.c2ln"));
    }
    answer.to_string().into_response()
}

async fn revoke(State(seen): State<Shared>, Form(form): Form<HashMap<String, String>>) {
    seen.lock().expect("not poisoned").revoked.push(form["token"].clone());
}

fn refused(error: &str) -> Response {
    (StatusCode::BAD_REQUEST, json!({ "error": error }).to_string()).into_response()
}
