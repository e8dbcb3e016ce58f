//! Routes of the broker: pages for the user's browser, `/auth/check` for a client that polls, `/auth/client.json`
//! for providers. They ask for no key: a browser has none, and the ids of challenges cannot be guessed.

use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::time::timeout;
use toolmux_core::gateway::Credential;
use toolmux_core::message::Message;
use toolmux_core::ports::broker::{
    Broker, ChallengeStatus, ConsentRequest, Finished, OAuthCallback, Proof, StartFrom, Started,
};
use toolmux_http::serve::page::page;
use toolmux_http::serve::{Access, PathPart, Routes, Served, Web, json};
use url::form_urlencoded;

use crate::consent_page::{FORM_TOKEN, PROOF, SIGN_IN, YES, consent_page};
use crate::cookie::{Cookies, shown};
use crate::registration::DOCUMENT;

/// The largest form, in bytes: tokens are some thousand long.
const LARGEST_FORM: usize = 64 << 10;

pub const SERVED: Served = Served {
    name: "authorization",
    path: "/auth",
    routes,
    try_it: |_, _| None,
    shows: None,
    client_headers: None,
};

fn routes() -> Routes {
    Routes::default()
        .get("/auth/start/{challenge}", Access::Anybody, show)
        .post("/auth/start/{challenge}", Access::Anybody, start)
        .get("/auth/callback/{provider}", Access::Anybody, callback)
        .get("/auth/check/{challenge}", Access::Anybody, check)
        .get(DOCUMENT, Access::Anybody, about_us)
}

/// Says who asks for what. It changes nothing: anybody can have a browser open an address.
async fn show(State(web): State<Arc<Web>>, PathPart(challenge): PathPart) -> Response {
    let asked = match web.gateway.broker() {
        Some(broker) => broker.show(&challenge).await,
        None => Err(no_provider()),
    };
    asked.and_then(|asked| asking(&web, &challenge, &asked)).unwrap_or_else(told)
}

fn asking(web: &Web, challenge: &str, asked: &ConsentRequest) -> Result<Response, Message> {
    let cookie = Cookies::of(web).form(challenge, asked.browser.expose());
    let mut response = consent_page(asked);
    set_cookie(&mut response, &cookie)?;
    Ok(response)
}

/// The user goes on from there.
async fn start(State(web): State<Arc<Web>>, PathPart(challenge): PathPart, request: Request) -> Response {
    let Some(broker) = web.gateway.broker() else { return told(no_provider()) };
    match go_on(&web, &*broker, &challenge, request).await {
        Ok(response) => response,
        Err(message) => told(message),
    }
}

async fn go_on(
    web: &Web,
    broker: &dyn Broker,
    challenge: &str,
    request: Request,
) -> Result<Response, Message> {
    let (parts, body) = request.into_parts();
    let unread = || Message::public("The form could not be read. Open the link again.");
    let body = timeout(web.limits.body_timeout, axum::body::to_bytes(body, LARGEST_FORM)).await;
    let body = body.map_err(|_| unread())?.map_err(|_| unread())?;
    let field = |name: &str| {
        let found = form_urlencoded::parse(&body).find(|(known, _)| known == name);
        found.map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let form_token = field(FORM_TOKEN);
    let subject = subject_of(web, &field(PROOF));
    let proof = match &subject {
        Some(subject) => Proof::Token(subject),
        None if field(SIGN_IN) == YES => Proof::SignIn,
        None => Proof::Nothing,
    };
    let from = StartFrom {
        challenge,
        form_token: &form_token,
        form_browser: shown(&parts.headers, Cookies::FORM),
        browser: shown(&parts.headers, Cookies::of(web).name()),
        proof,
    };
    redirect(web, &broker.start(&from).await?)
}

/// The subject of a token that is good here.
fn subject_of(web: &Web, token: &str) -> Option<String> {
    let token = token.trim();
    let token = token.strip_prefix("Bearer ").unwrap_or(token);
    let caller = web.gateway.admit(Credential::Bearer(token), None).ok()?;
    caller.subject().map(str::to_owned)
}

async fn callback(
    State(web): State<Arc<Web>>,
    PathPart(provider): PathPart,
    Query(parameters): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response {
    let came_back = OAuthCallback {
        callback: &provider,
        parameters: &parameters,
        browser: shown(&headers, Cookies::of(&web).name()),
    };
    let finished = match web.gateway.broker() {
        Some(broker) => broker.finish(&came_back).await,
        None => Err(no_provider()),
    };
    let answered = finished.and_then(|finished| match finished {
        Finished::Completed { provider } => Ok(completed(&provider)),
        Finished::SignedIn(started) => redirect(&web, &started),
    });
    answered.unwrap_or_else(told)
}

fn completed(provider: &str) -> Response {
    let words = format!(
        "Access to {provider} has been granted. You can close this page and go back to where you came from."
    );
    page(StatusCode::OK, "Authorization completed", &words)
}

async fn check(State(web): State<Arc<Web>>, PathPart(challenge): PathPart) -> Response {
    let status = match web.gateway.broker() {
        Some(broker) => broker.status(&challenge).await,
        None => Ok(ChallengeStatus::Failed),
    };
    let status = status.unwrap_or_else(|message| {
        tracing::warn!(developer = message.developer, "{}", message.public);
        ChallengeStatus::Pending
    });
    let word = match status {
        ChallengeStatus::Pending => "pending",
        ChallengeStatus::Completed => "completed",
        ChallengeStatus::Failed => "failed",
    };
    web.shared(json(StatusCode::OK, format!(r#"{{"status":"{word}"}}"#)))
}

/// For providers that know clients by the address of a document about them.
async fn about_us(State(web): State<Arc<Web>>) -> Response {
    match web.gateway.broker().and_then(|broker| broker.about_us()) {
        Some(document) => web.shared(json(StatusCode::OK, document)),
        None => told(no_provider()),
    }
}

/// Sends the browser to the provider, with something to remember.
fn redirect(web: &Web, started: &Started) -> Result<Response, Message> {
    let mut response = page(StatusCode::SEE_OTHER, "Authorization", "You are being sent to the provider.");
    let wrong = |_| Message::public("The address of the provider cannot be sent.");
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_str(&started.url).map_err(wrong)?);
    set_cookie(&mut response, &Cookies::of(web).callback(started.browser.expose()))?;
    Ok(response)
}

fn set_cookie(response: &mut Response, cookie: &str) -> Result<(), Message> {
    let wrong = |_| Message::public("The address of this server cannot be sent.");
    response.headers_mut().insert(header::SET_COOKIE, HeaderValue::from_str(cookie).map_err(wrong)?);
    Ok(())
}

fn told(message: Message) -> Response {
    tracing::info!(developer = message.developer, "authorization failed: {}", message.public);
    page(StatusCode::BAD_REQUEST, "Authorization failed", &message.public)
}

fn no_provider() -> Message {
    Message::public("This server has no token provider.")
}
