//! `/auth/start`, `/auth/callback` for the user's browser, `/auth/check` for a client that polls, `/auth/client.json`
//! for providers. They ask for no key: a browser has none, and the ids of challenges cannot be guessed.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use toolmux_core::broker::{CameBack, ChallengeStatus, StartFrom};
use toolmux_core::message::Message;
use url::Url;

use super::page::page;
use super::registration::DOCUMENT;
use crate::registry::Served;
use crate::routes::{Access, Routes};
use crate::version_header::stamp;
use crate::web::{Web, json};

/// What a browser shows when it comes back.
const COOKIE: &str = "toolmux_auth";
/// How long a browser keeps it, in seconds.
const COOKIE_LIFE: u32 = 3_600;

pub(crate) const SERVED: Served =
    Served { name: "authorization", path: "/auth", routes, try_it: |_, _| None };

fn routes() -> Routes {
    Routes::default()
        .get("/auth/start/{challenge}", Access::Anybody, start)
        .get("/auth/callback", Access::Anybody, callback)
        .get("/auth/check/{challenge}", Access::Anybody, check)
        .get(DOCUMENT, Access::Anybody, about_us)
}

async fn start(State(web): State<Arc<Web>>, Path(challenge): Path<String>, headers: HeaderMap) -> Response {
    let from = StartFrom { challenge: &challenge, browser: cookie(&headers) };
    let started = match web.gateway.broker() {
        Some(broker) => broker.start(&from).await,
        None => Err(no_provider()),
    };
    match started.and_then(|started| redirect(&started.url, started.browser.expose())) {
        Ok(response) => response,
        Err(message) => told(message),
    }
}

async fn callback(
    State(web): State<Arc<Web>>,
    Query(parameters): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response {
    let came_back = CameBack { parameters: &parameters, browser: cookie(&headers) };
    let finished = match web.gateway.broker() {
        Some(broker) => broker.finish(&came_back).await,
        None => Err(no_provider()),
    };
    match finished {
        Ok(finished) => page(
            StatusCode::OK,
            "Authorization completed",
            &format!(
                "Access to {} has been granted. You can close this page and go back to where you came from.",
                finished.provider
            ),
        ),
        Err(message) => told(message),
    }
}

async fn check(State(web): State<Arc<Web>>, Path(challenge): Path<String>) -> Response {
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
    stamp(json(StatusCode::OK, format!(r#"{{"status":"{word}"}}"#)))
}

/// For providers that know clients by the address of a document about them.
async fn about_us(State(web): State<Arc<Web>>) -> Response {
    match web.gateway.broker().and_then(|broker| broker.about_us()) {
        Some(document) => stamp(json(StatusCode::OK, document)),
        None => told(no_provider()),
    }
}

/// Sends the browser to the provider, with something to remember.
fn redirect(url: &str, browser: &str) -> Result<Response, Message> {
    let mut response = page(StatusCode::SEE_OTHER, "Authorization", "You are being sent to the provider.");
    let scope = cookie_scope(url);
    let cookie = format!("{COOKIE}={browser}; {scope}; Max-Age={COOKIE_LIFE}; HttpOnly; SameSite=Lax");
    let wrong = |_| Message::public("The address of the provider cannot be sent.");
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_str(url).map_err(wrong)?);
    response.headers_mut().insert(header::SET_COOKIE, HeaderValue::from_str(&cookie).map_err(wrong)?);
    Ok(response)
}

/// Where the browser shows its cookie: at our own pages only, as the browser sees their address, which the
/// consent page is told to send it back to.
fn cookie_scope(consent: &str) -> String {
    let parameter = Url::parse(consent).ok().and_then(|consent| {
        let mut pairs = consent.query_pairs();
        pairs.find(|(name, _)| name == "redirect_uri").map(|(_, value)| value.into_owned())
    });
    let Some(back) = parameter.and_then(|address| Url::parse(&address).ok()) else {
        return "Path=/auth".to_owned();
    };
    let path = back.path().strip_suffix("/callback").unwrap_or("/auth");
    let secure = if back.scheme() == "https" { "; Secure" } else { "" };
    format!("Path={path}{secure}")
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let sent = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = sent.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

fn told(message: Message) -> Response {
    tracing::info!(developer = message.developer, "authorization failed: {}", message.public);
    page(StatusCode::BAD_REQUEST, "Authorization failed", &message.public)
}

fn no_provider() -> Message {
    Message::public("This server has no provider of tokens.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base: &str, expect: &str) {
        let back = format!("{base}/auth/callback");
        let consent = Url::parse_with_params("https://provider.test/consent", [("redirect_uri", &back)]);
        assert_eq!(cookie_scope(consent.expect("an address").as_str()), expect);
    }

    #[test]
    fn a_cookie_is_shown_at_our_public_pages_only() {
        check("http://127.0.0.1:1", "Path=/auth");
        check("https://tools.test", "Path=/auth; Secure");
        check("https://tools.test/mux", "Path=/mux/auth; Secure");
    }
}
