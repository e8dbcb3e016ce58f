//! What handlers work with: who asks, and the limits of what comes in.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderValue, Request, header};
use tokio_util::sync::CancellationToken;
use toolmux_core::call::Caller;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::refusal::Refusal;

use super::client_headers::SharedHeaders;

/// What handlers work with.
pub struct Web {
    /// The one path of every call.
    pub gateway: Arc<Gateway>,
    /// Bounds of what comes in.
    pub limits: WebLimits,
    /// Ends the server, when its configuration lets callers do that.
    pub stop: Option<CancellationToken>,
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

/// The SHA-256 of the certificate that the client of a connection showed, left in a request's extensions by the
/// listener, which has verified it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate(pub Arc<[u8; 32]>);

impl Web {
    /// Authenticates the caller by the headers of a request, or by the certificate of its connection.
    pub fn admit(&self, parts: &Parts) -> Result<Caller, Refusal> {
        let toolset = parts.extensions.get::<AskedToolset>().map(|asked| &*asked.0);
        self.gateway.admit(self.credential(&parts.headers, &parts.extensions), toolset)
    }

    /// Whether whoever asks is known at all, for answers that no protocol gives.
    pub fn known<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let credential = self.credential(request.headers(), request.extensions());
        self.gateway.admit(credential, None).map(drop)
    }

    /// True when whoever asks would be let in with more scopes.
    pub fn lacks_scope(&self, headers: &HeaderMap) -> bool {
        let credential = shown(self.headers.key(headers), headers.get(header::AUTHORIZATION), None);
        self.gateway.admission().lacks_scope(credential)
    }

    /// An answer that clients of every protocol may read, with the headers that they expect.
    pub fn shared(&self, answer: Response) -> Response {
        self.headers.mark(answer)
    }

    /// What a request shows to prove who sends it.
    fn credential<'a>(&self, headers: &'a HeaderMap, extensions: &'a Extensions) -> Credential<'a> {
        let certificate = extensions.get::<ClientCertificate>();
        shown(self.headers.key(headers), headers.get(header::AUTHORIZATION), certificate)
    }
}

/// What two headers show of who sends a request; without them, what its connection does. OpenTool's TypeScript server
/// takes a key without `Bearer` too, and so do we.
pub(super) fn shown<'a>(
    key: Option<&'a HeaderValue>,
    authorization: Option<&'a HeaderValue>,
    certificate: Option<&'a ClientCertificate>,
) -> Credential<'a> {
    if let Some(key) = key.and_then(|key| key.to_str().ok()) {
        return Credential::Key(key);
    }
    match authorization.and_then(|value| value.to_str().ok()) {
        None => certificate.map_or(Credential::None, |certificate| Credential::Certificate(&certificate.0)),
        Some(value) => match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                Credential::Bearer(token.trim())
            }
            _ => Credential::Bearer(value),
        },
    }
}
