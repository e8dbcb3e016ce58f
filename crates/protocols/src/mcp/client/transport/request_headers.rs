//! Headers of the requests to a server over streamable HTTP, and whose token is among them.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::upstream_request::{DISCOVER, INITIALIZE, UpstreamRequest};
use crate::mcp::client::auth::authorization::Authorization;
use crate::mcp::headers::{METHOD_HEADER, NAME_HEADER, SESSION_HEADER, VERSION_HEADER};
use crate::mcp::mirror;
use crate::mcp::revision::Revision;

/// What goes along with the requests of a connection.
pub(in crate::mcp) struct ConnectionCredentials {
    /// Of every request.
    pub(in crate::mcp) headers: HeaderMap,
    /// Present when the server wants a token of each user.
    pub(in crate::mcp) authorization: Option<Arc<Authorization>>,
    /// The token of the request that the connection is opened for.
    pub(in crate::mcp) token: Option<HeaderValue>,
}

pub(in crate::mcp) struct RequestHeaders {
    /// Of every request.
    base: HeaderMap,
    /// The server's revision, and the headers that name it besides those of every request.
    greeted: OnceLock<(Revision, HeaderMap)>,
    session: ArcSwapOption<HeaderValue>,
    /// Has the token that lists are read with, where the server wants one.
    authorization: Option<Arc<Authorization>>,
    /// The token of the request that the connection is opened for, forgotten once it is open.
    opened_with: ArcSwapOption<HeaderValue>,
}

impl RequestHeaders {
    /// `token` is that of the request which the connection is opened for.
    pub(in crate::mcp) fn new(
        base: HeaderMap,
        authorization: Option<Arc<Authorization>>,
        token: Option<HeaderValue>,
    ) -> Self {
        RequestHeaders {
            base,
            greeted: OnceLock::new(),
            session: ArcSwapOption::empty(),
            opened_with: ArcSwapOption::new(token.filter(|_| authorization.is_some()).map(Arc::new)),
            authorization,
        }
    }

    /// True when the server wants a token of each user.
    pub(in crate::mcp) fn is_protected(&self) -> bool {
        self.authorization.is_some()
    }

    /// Says what the server turned out to speak.
    pub(in crate::mcp) fn greeted(&self, revision: Revision) {
        let mut headers = self.base.clone();
        headers.insert(&VERSION_HEADER, HeaderValue::from_static(revision.text()));
        self.greeted.set((revision, headers)).ok();
    }

    /// Says that the connection is open. From now on the token it was opened with goes along with nothing: the next
    /// request may be another user's.
    pub(in crate::mcp) fn opened(&self) {
        self.opened_with.store(None);
    }

    pub(in crate::mcp) fn is_legacy(&self) -> bool {
        self.greeted.get().is_some_and(|(revision, _)| !revision.is_modern())
    }

    /// The session that the server began, which goes along with every later request.
    pub(in crate::mcp) fn set_session(&self, session: HeaderValue) {
        self.session.store(Some(Arc::new(session)));
    }

    pub(in crate::mcp) fn has_session(&self) -> bool {
        self.session.load().is_some()
    }

    /// Headers of what belongs to a request with these credentials; without any, of what belongs to the connection:
    /// greetings, lists and their changes. The token that lists are read with is of one user, and goes along with
    /// nothing that another one asks.
    pub(in crate::mcp) fn with(&self, credentials: Option<&HeaderMap>) -> HeaderMap {
        let mut headers = self.greeted.get().map_or(&self.base, |(_, headers)| headers).clone();
        if let Some(session) = &*self.session.load() {
            headers.insert(&SESSION_HEADER, HeaderValue::clone(session));
        }
        match credentials {
            Some(credentials) => {
                for (name, value) in credentials {
                    headers.insert(name, value.clone());
                }
            }
            None => {
                if let Some(token) = self.connection_token() {
                    headers.insert(header::AUTHORIZATION, token);
                }
            }
        }
        headers
    }

    /// While the connection is opened, the token of the request that it is opened for.
    fn connection_token(&self) -> Option<HeaderValue> {
        let opening = self.opened_with.load_full();
        let token = opening.or_else(|| self.authorization.as_ref().and_then(|known| known.listing_token()));
        token.map(|token| HeaderValue::clone(&token))
    }

    /// Headers of a request.
    pub(in crate::mcp) fn of(&self, request: &UpstreamRequest<'_>) -> HeaderMap {
        let mut headers = self.with(request.credentials);
        let is_modern = match request.method {
            INITIALIZE => {
                headers.remove(&VERSION_HEADER);
                headers.remove(&SESSION_HEADER);
                false
            }
            DISCOVER => {
                headers.insert(&VERSION_HEADER, HeaderValue::from_static(Revision::MODERN.text()));
                true
            }
            _ => self.greeted.get().is_some_and(|(revision, _)| revision.is_modern()),
        };
        if is_modern {
            add_mirrored(&mut headers, request);
        }
        headers
    }
}

/// What 2026-07-28 repeats of a request's body.
fn add_mirrored(headers: &mut HeaderMap, request: &UpstreamRequest<'_>) {
    for (name, value) in &request.headers {
        let value = HeaderValue::from_str(&mirror::write(value)).ok();
        if let (Ok(name), Some(value)) = (HeaderName::try_from(name), value) {
            headers.insert(name, value);
        }
    }
    if let Ok(method) = HeaderValue::from_str(request.method) {
        headers.insert(&METHOD_HEADER, method);
    }
    if let Some(name) = request.name
        && let Ok(name) = HeaderValue::from_str(&mirror::write(name))
    {
        headers.insert(&NAME_HEADER, name);
    }
}
