//! A provider of tokens: where it asks for consent, where it gives tokens, and who we are to it.

use serde::Deserialize;
use tokio::sync::OnceCell;
use toolmux_core::secret::Secret;
use url::Url;

use super::endpoint::{EndpointError, get_json};
use crate::http_client::HttpClient;

/// How we prove to the token endpoint who we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// Id and secret as HTTP Basic.
    Basic,
    /// Id and secret in the body.
    Post,
}

/// A provider as it is configured.
#[derive(Debug)]
pub struct Provider {
    issuer: Option<Url>,
    known: OnceCell<Endpoints>,
    /// Who we are there.
    pub(super) client_id: String,
    pub(super) client_secret: Option<Secret>,
    /// Scopes asked for beside those of a tool.
    pub(super) scopes: Vec<String>,
    /// More parameters of the consent page, such as `prompt`.
    pub(super) parameters: Vec<(String, String)>,
    client_auth: Option<ClientAuth>,
}

/// Where a provider is reached.
#[derive(Clone, Debug)]
pub(super) struct Endpoints {
    pub(super) authorize: Url,
    pub(super) token: Url,
    pub(super) revoke: Option<Url>,
    /// What the provider calls itself when it sends users back.
    pub(super) issuer: Option<String>,
    pub(super) client_auth: ClientAuth,
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

impl Provider {
    /// A provider that tells its endpoints itself.
    pub fn discovered(issuer: &str, client_id: &str) -> Result<Self, ProviderError> {
        Ok(Provider::new(Some(address(issuer)?), OnceCell::new(), client_id))
    }

    /// A provider whose endpoints are known.
    pub fn at(authorize_url: &str, token_url: &str, client_id: &str) -> Result<Self, ProviderError> {
        let endpoints = Endpoints {
            authorize: address(authorize_url)?,
            token: address(token_url)?,
            revoke: None,
            issuer: None,
            client_auth: ClientAuth::Basic,
        };
        Ok(Provider::new(None, OnceCell::new_with(Some(endpoints)), client_id))
    }

    fn new(issuer: Option<Url>, known: OnceCell<Endpoints>, client_id: &str) -> Self {
        Provider {
            issuer,
            known,
            client_id: client_id.to_owned(),
            client_secret: None,
            scopes: Vec::new(),
            parameters: Vec::new(),
            client_auth: None,
        }
    }

    /// With the secret of a confidential client.
    pub fn secret(mut self, secret: Option<Secret>) -> Self {
        self.client_secret = secret;
        self
    }

    /// With scopes asked for beside those of a tool.
    pub fn scopes(mut self, scopes: Vec<String>) -> Self {
        self.scopes = scopes;
        self
    }

    /// With more parameters of the consent page.
    pub fn parameters(mut self, parameters: Vec<(String, String)>) -> Self {
        self.parameters = parameters;
        self
    }

    /// With a way to prove who we are, over what the provider says.
    pub fn client_auth(mut self, client_auth: Option<ClientAuth>) -> Self {
        self.client_auth = client_auth;
        self
    }

    /// With the place where tokens are revoked.
    pub fn revoke_url(mut self, url: Option<&str>) -> Result<Self, ProviderError> {
        if let (Some(url), Some(known)) = (url, self.known.get_mut()) {
            known.revoke = Some(address(url)?);
        }
        Ok(self)
    }

    /// Where it is reached; asked once, and again after a failure.
    pub(super) async fn endpoints(&self, http: &HttpClient) -> Result<Endpoints, EndpointError> {
        let known = self.known.get_or_try_init(|| self.discover(http)).await?;
        let client_auth = self.client_auth.unwrap_or(known.client_auth);
        Ok(Endpoints { client_auth, ..known.clone() })
    }

    async fn discover(&self, http: &HttpClient) -> Result<Endpoints, EndpointError> {
        let issuer = self.issuer.as_ref().ok_or(EndpointError::Unusable("it has no issuer".to_owned()))?;
        let base = issuer.as_str().trim_end_matches('/');
        let mut last = None;
        for document in ["openid-configuration", "oauth-authorization-server"] {
            let url = format!("{base}/.well-known/{document}");
            match get_json::<Metadata>(http, &url).await {
                Ok(metadata) => return metadata.endpoints(base),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| EndpointError::Unusable("it tells nothing of itself".to_owned())))
    }
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl Metadata {
    fn endpoints(self, asked: &str) -> Result<Endpoints, EndpointError> {
        if self.issuer.trim_end_matches('/') != asked {
            return Err(EndpointError::Unusable(format!("it calls itself `{}`", self.issuer)));
        }
        let url = |text: &str| address(text).map_err(|error| EndpointError::Unusable(error.to_string()));
        let methods = self.token_endpoint_auth_methods_supported.unwrap_or_default();
        let knows = |method: &str| methods.iter().any(|known| known == method);
        let post = !knows("client_secret_basic") && knows("client_secret_post");
        Ok(Endpoints {
            authorize: url(&self.authorization_endpoint)?,
            token: url(&self.token_endpoint)?,
            revoke: self.revocation_endpoint.as_deref().map(url).transpose()?,
            issuer: Some(self.issuer),
            client_auth: if post { ClientAuth::Post } else { ClientAuth::Basic },
        })
    }
}

fn address(text: &str) -> Result<Url, ProviderError> {
    let url: Url = text.parse().map_err(|_| ProviderError::Address(text.to_owned()))?;
    let here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    match url.scheme() {
        "https" => Ok(url),
        "http" if here => Ok(url),
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
