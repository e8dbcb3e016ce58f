//! What every protocol reads of a request besides its body: the idempotency key, the trace, a part of the address, and
//! whether it may change something.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Path};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use toolmux_core::call::{CallId, KeptUntil, Request};
use toolmux_core::message::Message;
use toolmux_core::refusal::Refusal;

static TRACE: HeaderName = HeaderName::from_static("traceparent");
static TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");
/// Where a browser says which site made it send a request; no page can set it.
pub static FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The header that makes the same call again the same call.
static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Until when that holds, at the latest.
static IDEMPOTENCY_KEY_EXPIRES: HeaderName = HeaderName::from_static("idempotency-key-expires");
/// The longest id that a caller may give a call.
pub const LONGEST_CALL_ID: usize = 256;

/// The key of a call that was opened, when it has one.
pub fn idempotency_key(headers: &HeaderMap) -> Option<CallId> {
    headers.get(&IDEMPOTENCY_KEY).and_then(|key| key.to_str().ok()).map(CallId::from)
}

/// Asks to be told until when a call with an id is kept.
pub fn ask_kept_until(request: &mut Request) -> Option<KeptUntil> {
    let kept_until = request.id.is_some().then(KeptUntil::default);
    request.kept_until.clone_from(&kept_until);
    kept_until
}

/// Tells until when the call that was answered is kept under its idempotency key, when it is.
pub fn tell_kept_until(mut response: Response, kept_until: Option<&KeptUntil>) -> Response {
    let until = kept_until.and_then(KeptUntil::get).map(httpdate::fmt_http_date);
    if let Some(until) = until.and_then(|until| HeaderValue::try_from(until).ok()) {
        response.headers_mut().insert(&IDEMPOTENCY_KEY_EXPIRES, until);
    }
    response
}

/// The caller's trace, when it has one.
pub fn trace(headers: &HeaderMap) -> Option<Box<str>> {
    headers.get(&TRACE).and_then(|trace| trace.to_str().ok()).map(Box::from)
}

/// The state that came with the caller's trace; the first of several headers counts.
pub fn trace_state(headers: &HeaderMap) -> Option<Box<str>> {
    headers.get(&TRACE_STATE).and_then(|state| state.to_str().ok()).map(Box::from)
}

/// A key that we would cut or overlook is refused: its caller counts on it.
pub(super) fn check_idempotency_key(headers: &HeaderMap) -> Result<(), Refusal> {
    let good = |key: &HeaderValue| {
        (1..=LONGEST_CALL_ID).contains(&key.len()) && key.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    let mut keys = headers.get_all(&IDEMPOTENCY_KEY).iter();
    if keys.next().is_none_or(good) && keys.next().is_none() {
        return Ok(());
    }
    let rule =
        format!("`Idempotency-Key` must be one string of 1 to {LONGEST_CALL_ID} visible ASCII characters");
    Err(malformed(rule))
}

/// A part of an address as text. One that is not UTF-8 names nothing; axum's own extractor would tell strangers so
/// before anybody asks who they are.
pub struct PathPart(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathPart {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let part = Path::<String>::from_request_parts(parts, state).await;
        Ok(PathPart(part.map_or_else(|_| "\u{FFFD}".to_owned(), |Path(part)| part)))
    }
}

/// Whether a request may change something where a protocol does that by GET as well as by POST. Any page can make a
/// browser send a GET, so that one is good only where no other site caused it. HEAD never changes anything.
pub fn may_change(parts: &Parts) -> Result<(), (StatusCode, &'static str)> {
    let site = parts.headers.get(&FETCH_SITE).map(HeaderValue::as_bytes);
    match (&parts.method, site) {
        (&Method::POST, _) | (&Method::GET, None | Some(b"none" | b"same-origin")) => Ok(()),
        (&Method::GET, Some(_)) => Err((StatusCode::FORBIDDEN, "a web page has to use POST here")),
        _ => Err((StatusCode::METHOD_NOT_ALLOWED, "this address takes GET and POST")),
    }
}

pub(super) fn malformed(text: String) -> Refusal {
    Refusal::Malformed(Message::public(text))
}
