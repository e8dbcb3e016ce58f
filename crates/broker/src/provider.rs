//! A provider of tokens: where it asks for consent, where it gives tokens, and who we are to it.

use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use toolmux_core::secret::Secret;
use toolmux_http::network_zone::{Reach, is_this_machine};
use url::Url;

use crate::clients::{Clients, named_from};
use crate::endpoint::{EndpointError, get_json};

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
    client: Client,
    /// Scopes asked for beside those of a tool.
    pub(crate) scopes: Vec<String>,
    /// More parameters of the consent page, such as `prompt`.
    pub(crate) parameters: Vec<(String, String)>,
    client_auth: Option<ClientAuth>,
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
            says_issuer: false,
            client_auth: ClientAuth::Basic,
            offers: Offers::default(),
            reach: Reach::Anywhere,
        };
        Ok(Provider::new(None, OnceCell::new_with(Some(endpoints)), client_id))
    }

    fn new(issuer: Option<Url>, known: OnceCell<Endpoints>, client_id: &str) -> Self {
        Provider {
            issuer,
            known,
            client: Client { id: client_id.to_owned(), secret: None },
            scopes: Vec::new(),
            parameters: Vec::new(),
            client_auth: None,
        }
    }

    /// With the secret of a confidential client.
    pub fn secret(mut self, secret: Option<Secret>) -> Self {
        self.client.secret = secret;
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

    /// True when it is configured as this issuer.
    pub(crate) fn is_issuer(&self, issuer: &str) -> bool {
        let own = self.issuer.as_ref().map(|own| own.as_str().trim_end_matches('/'));
        own == Some(issuer.trim_end_matches('/'))
    }

    /// Where it is reached, asked once, and again after a failure; and who we are there.
    pub(crate) async fn met(&self, name: &str, clients: &Clients) -> Result<ResolvedProvider, EndpointError> {
        let known = self.known.get_or_try_init(async || match &self.issuer {
            Some(issuer) => discover(clients, issuer, Reach::Anywhere).await,
            None => Err(EndpointError::Unusable("it has no issuer".to_owned())),
        });
        let known = known.await?;
        let client_auth = self.client_auth.unwrap_or(known.client_auth);
        let endpoints = Endpoints { client_auth, ..known.clone() };
        let (client, callback) = (self.client.clone(), name.to_owned());
        Ok(ResolvedProvider { endpoints, client, callback, issued: None, scopes: Vec::new() })
    }
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

/// Where an issuer is reached, as it says itself. With a path, RFC 8414 wants it behind the well-known part and
/// OpenID before it. What it names is public, unless the issuer is inside itself.
pub(crate) async fn discover(
    clients: &Clients,
    issuer: &Url,
    allowed: Reach,
) -> Result<Endpoints, EndpointError> {
    let mut last = None;
    let side = clients.side_of(issuer, allowed).await;
    for url in documents(issuer) {
        match get_json::<Metadata>(clients.of(side), url.as_str()).await {
            Ok(metadata) => {
                let endpoints =
                    metadata.endpoints(issuer.as_str().trim_end_matches('/'), named_from(side))?;
                // The only one that this server does not connect to itself.
                clients.of(endpoints.reach).check(&endpoints.authorize).await?;
                return Ok(endpoints);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| EndpointError::Unusable("it tells nothing of itself".to_owned())))
}

fn documents(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let (oauth, openid) = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration");
    let mut places = vec![format!("{oauth}{path}"), format!("{openid}{path}")];
    if !path.is_empty() {
        places.extend([format!("{path}{openid}"), format!("{path}{oauth}")]);
    }
    let at = |place: String| {
        let mut url = issuer.clone();
        url.set_path(&place);
        url
    };
    places.into_iter().map(at).collect()
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
}

impl Metadata {
    fn endpoints(self, asked: &str, reach: Reach) -> Result<Endpoints, EndpointError> {
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
            says_issuer: self.authorization_response_iss_parameter_supported,
            client_auth: if post { ClientAuth::Post } else { ClientAuth::Basic },
            offers: Offers {
                register: self.registration_endpoint.as_deref().map(url).transpose()?,
                documents: self.client_id_metadata_document_supported,
                pkce: self.code_challenge_methods_supported.iter().any(|method| method == "S256"),
                auth_methods: methods,
                scopes: self.scopes_supported,
            },
            reach,
        })
    }
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

    fn check_documents(issuer: &str, expect: &[&str]) {
        let found: Vec<String> = documents(&issuer.parse().unwrap()).iter().map(Url::to_string).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_provider_describes_itself_at_well_known_places() {
        check_documents(
            "https://a.test/",
            &[
                "https://a.test/.well-known/oauth-authorization-server",
                "https://a.test/.well-known/openid-configuration",
            ],
        );
        check_documents(
            "https://a.test/tenant",
            &[
                "https://a.test/.well-known/oauth-authorization-server/tenant",
                "https://a.test/.well-known/openid-configuration/tenant",
                "https://a.test/tenant/.well-known/openid-configuration",
                "https://a.test/tenant/.well-known/oauth-authorization-server",
            ],
        );
    }

    #[test]
    fn tokens_do_not_travel_in_the_open() {
        check("https://example.com/a", "https://example.com/a");
        check("http://127.0.0.1:1/a", "http://127.0.0.1:1/a");
        check("http://example.com/a", "`http://example.com/a` must be https, or on this machine");
        check("ftp://x", "`ftp://x` is not an address");
    }
}
