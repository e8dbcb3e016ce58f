//! Headers of the requests to a server over streamable HTTP, and whose token is among them.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::connection::UpstreamRequest;
use super::streamable::{SESSION, Streamable};
use crate::mcp::mirror;
use crate::mcp::revision::Revision;

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

impl Streamable {
    /// Headers of what belongs to a request with these credentials; without any, of what belongs to the connection:
    /// greetings, lists and their changes. The token that lists are read with is of one user, and goes along with
    /// nothing that another one asks.
    pub(super) fn headers_with(&self, credentials: Option<&HeaderMap>) -> HeaderMap {
        let mut headers = self.greeted.get().map_or(&self.target.headers, |(_, headers)| headers).clone();
        if let Some(session) = &*self.session.load() {
            headers.insert(SESSION, HeaderValue::clone(session));
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

    pub(super) fn headers_of(&self, ask: &UpstreamRequest<'_>) -> HeaderMap {
        let mut headers = self.headers_with(ask.credentials);
        let modern = match ask.method {
            "initialize" => {
                headers.remove(VERSION);
                headers.remove(SESSION);
                false
            }
            "server/discover" => {
                headers.insert(VERSION, HeaderValue::from_static(Revision::MODERN.text()));
                true
            }
            _ => self.greeted.get().is_some_and(|(revision, _)| revision.is_modern()),
        };
        if modern {
            for (name, value) in &ask.headers {
                let value = HeaderValue::from_str(&mirror::write(value)).ok();
                if let (Ok(name), Some(value)) = (HeaderName::try_from(name), value) {
                    headers.insert(name, value);
                }
            }
            if let Ok(method) = HeaderValue::from_str(ask.method) {
                headers.insert(METHOD, method);
            }
            if let Some(name) = ask.name
                && let Ok(name) = HeaderValue::from_str(&mirror::write(name))
            {
                headers.insert(NAME, name);
            }
        }
        headers
    }
}
