//! A provider of tokens as it is configured.

use tokio::sync::OnceCell;
use toolmux_core::secret::Secret;
use toolmux_http::network_zone::Reach;
use url::Url;

use crate::clients::Clients;
use crate::discovery::discover;
use crate::endpoint::EndpointError;
use crate::resolved_provider::{
    Client, ClientAuth, Endpoints, Offers, ProviderError, ResolvedProvider, address,
};

/// A provider as it is configured.
#[derive(Debug)]
pub struct Provider {
    issuer: Option<Url>,
    known: OnceCell<Endpoints>,
    client: Client,
    /// Scopes asked for besides those of a tool.
    pub(crate) scopes: Vec<String>,
    /// More parameters of the consent page, such as `prompt`.
    pub(crate) parameters: Vec<(String, String)>,
    client_auth: Option<ClientAuth>,
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

    /// With scopes asked for besides those of a tool.
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
    pub(crate) async fn resolve(
        &self,
        name: &str,
        clients: &Clients,
    ) -> Result<ResolvedProvider, EndpointError> {
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
