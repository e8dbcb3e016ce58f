//! What is known of a provider when it is asked: its addresses, who we are to it, and what it offers.

use serde::{Deserialize, Serialize};
use toolmux_core::secret::Secret;
use toolmux_http::network_zone::{Reach, is_this_machine};
use url::Url;

/// How we prove to the token endpoint who we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// Id and secret as HTTP Basic.
    Basic,
    /// Id and secret in the body.
    Post,
}

/// Who we are to a provider.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
}

/// Where a provider is reached.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    pub(crate) authorize: Url,
    pub(crate) token: Url,
    pub(crate) revoke: Option<Url>,
    /// What the provider calls itself when it sends users back.
    pub(crate) issuer: Option<String>,
    /// Whether it always says so (RFC 9207).
    pub(crate) says_issuer: bool,
    pub(crate) client_auth: ClientAuth,
    pub(crate) offers: Offers,
    /// Where these addresses may be: anywhere when an operator wrote them.
    pub(crate) reach: Reach,
}

/// What a provider offers to clients that nobody registered there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offers {
    /// Where clients register themselves (RFC 7591).
    pub(crate) register: Option<Url>,
    /// A client may be the address of a document about it.
    pub(crate) documents: bool,
    /// It checks the proof that a code is brought by who asked for it.
    pub(crate) pkce: bool,
    pub(crate) auth_methods: Vec<String>,
    pub(crate) scopes: Vec<String>,
}

/// A provider that is ready for a flow.
pub(crate) struct ResolvedProvider {
    pub(crate) endpoints: Endpoints,
    pub(crate) client: Client,
    /// The last part of its redirect URI.
    pub(crate) callback: String,
    /// For tokens of a provider that a server named.
    pub(crate) issued: Option<Issued>,
    /// Scopes to ask for when a tool names none.
    pub(crate) scopes: Vec<String>,
}

/// What a token of a provider that a server named is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Issued {
    /// The address of the server.
    pub(crate) server: String,
    /// Whose token it is.
    pub(crate) issuer: String,
    /// What the server calls itself, exactly (RFC 8707).
    pub(crate) resource: String,
    /// Where the issuer may be.
    #[serde(default)]
    pub(crate) reach: Reach,
}

/// Why a provider cannot be used as configured.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// Not an address.
    #[error("`{0}` is not an address")]
    Address(String),
    /// Tokens would travel in the open.
    #[error("`{0}` must be https, or on this machine")]
    NotSafe(String),
    /// Neither way of finding the endpoints is there.
    #[error("a provider needs `issuer`, or `authorize_url` and `token_url`")]
    NoEndpoints,
}

/// An address that tokens may travel to.
pub(crate) fn address(text: &str) -> Result<Url, ProviderError> {
    let url: Url = text.parse().map_err(|_| ProviderError::Address(text.to_owned()))?;
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_this_machine(&url) => Ok(url),
        "http" => Err(ProviderError::NotSafe(text.to_owned())),
        _ => Err(ProviderError::Address(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(address(text).map_or_else(|error| error.to_string(), |url| url.to_string()), expect);
    }

    #[test]
    fn tokens_do_not_travel_in_the_open() {
        check("https://example.com/a", "https://example.com/a");
        check("http://127.0.0.1:1/a", "http://127.0.0.1:1/a");
        check("http://example.com/a", "`http://example.com/a` must be https, or on this machine");
        check("ftp://x", "`ftp://x` is not an address");
    }
}
