//! What every protocol over HTTP shares: who asks, the bounded body, JSON answers.

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Request};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body_util::BodyExt;
use toolmux_core::call::{CallId, Caller};
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::json_text::at_most_values;
use toolmux_core::memory_budget::{COUNTED, Reservation};
use toolmux_core::message::Message;
use toolmux_core::refusal::Refusal;

use super::served::SharedHeaders;

static TRACE: HeaderName = HeaderName::from_static("traceparent");
/// Where a browser says which site made it send a request; no page can set it.
pub static FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What handlers work with.
pub struct Web {
    /// The one path of every call.
    pub gateway: Arc<Gateway>,
    /// Bounds of what comes in.
    pub limits: WebLimits,
    /// Ends the server, when its configuration lets callers do that.
    pub stop: Option<tokio_util::sync::CancellationToken>,
    /// What clients of the served protocols send and expect at every address.
    pub headers: SharedHeaders,
}

/// Bounds of what comes in.
#[derive(Clone, Copy, Debug)]
pub struct WebLimits {
    /// The largest body.
    pub body_bytes: usize,
    /// How many JSON values a body may hold.
    pub body_values: usize,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// How many HTTP+SSE sessions of MCP one caller may have open.
    pub sse_sessions: usize,
    /// How many requests of one such session are answered at a time; more are refused as busy.
    pub session_requests: usize,
}

impl Default for WebLimits {
    fn default() -> Self {
        WebLimits {
            body_bytes: 4 << 20,
            body_values: 250_000,
            body_timeout: Duration::from_secs(30),
            sse_sessions: 1_000,
            session_requests: 256,
        }
    }
}

/// The toolset of an address below `/sets/{toolset}`, left in a request's extensions by the listener.
#[derive(Clone, Debug)]
pub struct AskedToolset(pub Arc<str>);

/// The version that this server goes by where that is not the program's own, left in a request's extensions
/// by the listener.
#[derive(Clone, Debug)]
pub struct ServerVersion(pub Arc<str>);

impl Web {
    /// Who asks.
    pub fn admit(&self, parts: &Parts) -> Result<Caller, Refusal> {
        let toolset = parts.extensions.get::<AskedToolset>().map(|asked| &*asked.0);
        self.gateway.admit(self.credential(&parts.headers), toolset)
    }

    /// Whether whoever asks is known at all, for answers that no protocol gives.
    pub fn known(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        self.gateway.admit(self.credential(headers), None).map(drop)
    }

    /// True when whoever asks would be let in with more scopes.
    pub fn lacks_scope(&self, headers: &HeaderMap) -> bool {
        self.gateway.lacks_scope(self.credential(headers))
    }

    /// An answer that clients of every protocol may read, with the headers that they expect.
    pub fn shared(&self, answer: Response) -> Response {
        self.headers.mark(answer)
    }

    /// What a request shows to prove who sends it.
    fn credential<'a>(&self, headers: &'a HeaderMap) -> Credential<'a> {
        shown(self.headers.key(headers), headers.get(header::AUTHORIZATION))
    }

    /// Who asks, and the body. Nobody unknown gets a body read.
    pub async fn open(&self, request: Request) -> Result<(Caller, Parts, Received), Refusal> {
        let (parts, body) = request.into_parts();
        let caller = self.admit(&parts)?;
        let body = self.body(&parts.headers, body).await?;
        Ok((caller, parts, body))
    }

    /// The body. It is not read for a caller whose `Idempotency-Key` is none.
    pub async fn body(&self, headers: &HeaderMap, body: Body) -> Result<Received, Refusal> {
        check_idempotency_key(headers)?;
        let most = self.limits.body_bytes.min(self.gateway.memory().most());
        let length =
            headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > most) {
            return Err(self.too_large());
        }
        let reading = async {
            match length {
                Some(length) if length < COUNTED => {
                    let bytes = axum::body::to_bytes(body, most).await.map_err(|_| self.too_large())?;
                    Ok(Received { bytes, held: None })
                }
                // Rare, so it is kept out of the future of every request.
                _ => Box::pin(self.counted_body(length, body, most)).await,
            }
        };
        match tokio::time::timeout(self.limits.body_timeout, reading).await {
            Ok(Ok(read)) => self.check_values(&read.bytes).map(|()| read),
            Ok(refused) => refused,
            Err(_) => Err(malformed("The body did not arrive in time".to_owned())),
        }
    }

    /// A body that may be large. What has arrived counts against the memory for all requests; what a client only
    /// promises does not, or slow clients could take it all.
    async fn counted_body(
        &self,
        length: Option<usize>,
        mut body: Body,
        most: usize,
    ) -> Result<Received, Refusal> {
        let memory = self.gateway.memory();
        memory.check(length.unwrap_or_default())?;
        let (mut held, mut bytes) = (memory.reserve(0)?, Vec::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| malformed("The body was cut off".to_owned()))?;
            let Ok(piece) = frame.into_data() else { continue };
            if bytes.len() + piece.len() > most {
                return Err(self.too_large());
            }
            held.grow(piece.len())?;
            if bytes.capacity() == 0 {
                // Pages that nobody wrote to take no memory, whatever length was promised.
                bytes.reserve_exact(length.unwrap_or(COUNTED));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Received { bytes: bytes.into(), held: Some(held) })
    }

    /// Refuses a body with too many JSON values before any is made: each takes many times the memory of its text.
    fn check_values(&self, body: &[u8]) -> Result<(), Refusal> {
        let most = self.limits.body_values;
        if at_most_values(body, most) {
            return Ok(());
        }
        Err(malformed(format!("The body holds more than {most} JSON values, which is limits.body_values")))
    }

    fn too_large(&self) -> Refusal {
        let (most, memory) = (self.limits.body_bytes, self.gateway.memory().most());
        malformed(if memory < most {
            format!("The body is larger than limits.memory, which is {memory} bytes")
        } else {
            format!("The body is larger than {most} bytes")
        })
    }
}

/// A body that has arrived, with what it takes of the memory for all requests. Keep it until the request is answered.
#[derive(Debug)]
pub struct Received {
    bytes: Bytes,
    held: Option<Reservation>,
}

impl Received {
    /// Frees the bytes of a body that was read. They stay counted: what was read of them is kept until the
    /// request is answered.
    pub fn free(&mut self) {
        self.bytes = Bytes::new();
    }

    /// What it takes of the memory for all requests, without its bytes.
    pub fn into_held(self) -> Option<Reservation> {
        self.held
    }
}

impl Deref for Received {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

fn malformed(text: String) -> Refusal {
    Refusal::Malformed(Message::public(text))
}

/// The header that makes the same call again the same call.
static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The longest id that a caller may give a call.
pub const LONGEST_CALL_ID: usize = 256;

/// The key of a call that was opened, when it has one.
pub fn idempotency_key(headers: &HeaderMap) -> Option<CallId> {
    headers.get(&IDEMPOTENCY_KEY).and_then(|key| key.to_str().ok()).map(CallId::from)
}

/// The caller's trace, when it has one.
pub fn trace(headers: &HeaderMap) -> Option<Box<str>> {
    headers.get(&TRACE).and_then(|trace| trace.to_str().ok()).map(Box::from)
}

/// A key that we would cut or overlook is refused: its caller counts on it.
fn check_idempotency_key(headers: &HeaderMap) -> Result<(), Refusal> {
    let good = |key: &HeaderValue| {
        (1..=LONGEST_CALL_ID).contains(&key.len()) && key.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    let mut keys = headers.get_all(&IDEMPOTENCY_KEY).iter();
    if keys.next().is_none_or(good) && keys.next().is_none() {
        return Ok(());
    }
    let rule =
        format!("`Idempotency-Key` must be one text of 1 to {LONGEST_CALL_ID} visible ASCII characters");
    Err(malformed(rule))
}

/// What two headers show of who sends a request. OpenTool's TypeScript server takes a key without `Bearer` too, and so
/// do we.
pub(super) fn shown<'a>(
    key: Option<&'a HeaderValue>,
    authorization: Option<&'a HeaderValue>,
) -> Credential<'a> {
    if let Some(key) = key.and_then(|key| key.to_str().ok()) {
        return Credential::Key(key);
    }
    match authorization.and_then(|value| value.to_str().ok()) {
        None => Credential::None,
        Some(value) => match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                Credential::Bearer(token.trim())
            }
            _ => Credential::Bearer(value),
        },
    }
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

/// An answer of JSON bytes.
pub fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
