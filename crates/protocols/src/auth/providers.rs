//! Every provider there is: those of the configuration, and those that protected servers name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolmux_core::store::StoreError;
use url::Url;

use super::broker::Base;
use super::challenge::Server;
use super::endpoint::EndpointError;
use super::kept::Kept;
use super::provider::{Endpoints, Issued, Met, Provider, address, discover, is_here};
use super::registration;
use crate::http_client::HttpClient;
use crate::protected_resource::describe;

/// How many issuers that servers named are remembered.
const MOST_KNOWN: usize = 64;

pub(super) struct Providers {
    pub(super) configured: HashMap<String, Provider>,
    kept: Arc<Kept>,
    http: HttpClient,
    base: Base,
    /// Issuers that servers named.
    known: Mutex<HashMap<String, Endpoints>>,
}

impl Providers {
    pub(super) fn new(
        configured: HashMap<String, Provider>,
        kept: Arc<Kept>,
        http: HttpClient,
        base: Base,
    ) -> Self {
        Providers { configured, kept, http, base, known: Mutex::default() }
    }

    /// The provider of a flow that begins: the configured one, otherwise the one that the server names now.
    pub(super) async fn meet(&self, id: &str, server: Option<&Server>) -> Result<Met, EndpointError> {
        if let Some(provider) = self.configured.get(id) {
            return provider.met(&self.http).await;
        }
        let server = server.ok_or_else(gone)?;
        let unusable = |what: &str| EndpointError::Unusable(what.to_owned());
        let url: Url = server.url.parse().map_err(|_| unusable("its address cannot be read"))?;
        let described = describe(&self.http, &url, server.metadata.as_deref()).await;
        let described = described.ok_or_else(|| unusable("the server does not say whose tokens it takes"))?;
        let issuer = described.authorization_servers.first();
        let issuer = issuer.ok_or_else(|| unusable("the server names no authorization server"))?;
        let issued = Issued {
            server: server.url.clone(),
            issuer: issuer.clone(),
            resource: described.resource.clone(),
        };
        let mut met = self.found(issued).await?;
        met.scopes = described.scopes_supported;
        Ok(met)
    }

    /// The provider of a flow or a token there is.
    pub(super) async fn meet_again(&self, id: &str, issued: Option<&Issued>) -> Result<Met, EndpointError> {
        match (issued, self.configured.get(id)) {
            (Some(issued), _) => self.found(issued.clone()).await,
            (None, Some(provider)) => provider.met(&self.http).await,
            (None, None) => Err(gone()),
        }
    }

    /// Forgets who we are to a provider that no longer knows us: the next flow registers anew.
    pub(super) async fn forget_client(&self, met: &Met) -> Result<(), StoreError> {
        if let (Some(issuer), Some(_), Ok(base)) = (&met.endpoints.issuer, &met.issued, self.base()) {
            self.kept.store.sealed_take(&registration::place(issuer, base)).await?;
        }
        Ok(())
    }

    async fn found(&self, issued: Issued) -> Result<Met, EndpointError> {
        let mut endpoints = self.endpoints(&issued).await?;
        if !endpoints.offers.pkce {
            // MCP: a provider that does not say so does not check who brings a code.
            let what = format!("`{}` does not check who brings a code (PKCE, S256)", issued.issuer);
            return Err(EndpointError::Unusable(what));
        }
        let (client, client_auth) =
            registration::client(&self.kept, &self.http, &endpoints, self.base()?).await?;
        endpoints.client_auth = client_auth;
        Ok(Met { endpoints, client, issued: Some(issued), scopes: Vec::new() })
    }

    async fn endpoints(&self, issued: &Issued) -> Result<Endpoints, EndpointError> {
        let known = self.known(|known| known.get(&issued.issuer).cloned());
        let endpoints = match known {
            Some(known) => known,
            None => {
                let unsafe_to_use = |error: super::ProviderError| EndpointError::Unusable(error.to_string());
                let issuer = address(&issued.issuer).map_err(unsafe_to_use)?;
                stay_out(&issued.server, [&issuer])?;
                let endpoints = discover(&self.http, &issuer).await?;
                self.known(|known| {
                    if known.len() >= MOST_KNOWN {
                        known.clear();
                    }
                    known.insert(issued.issuer.clone(), endpoints.clone());
                });
                endpoints
            }
        };
        let named = [&endpoints.authorize, &endpoints.token];
        stay_out(
            &issued.server,
            named.into_iter().chain(&endpoints.offers.register).chain(&endpoints.revoke),
        )?;
        Ok(endpoints)
    }

    fn base(&self) -> Result<&str, EndpointError> {
        let base = self.base.get().map(String::as_str);
        base.ok_or_else(|| EndpointError::Unusable("the server does not listen yet".to_owned()))
    }

    fn known<T>(&self, read: impl FnOnce(&mut HashMap<String, Endpoints>) -> T) -> T {
        read(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A server that is elsewhere must not send us to this machine.
fn stay_out<'a>(server: &str, named: impl IntoIterator<Item = &'a Url>) -> Result<(), EndpointError> {
    let local = server.parse().is_ok_and(|server: Url| is_here(&server));
    match named.into_iter().find(|named| !local && is_here(named)) {
        Some(named) => {
            Err(EndpointError::Unusable(format!("the server sends us to `{named}`, which is here")))
        }
        None => Ok(()),
    }
}

fn gone() -> EndpointError {
    EndpointError::Unusable("it is no longer configured".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &str, named: &str, expect: bool) {
        assert_eq!(stay_out(server, [&named.parse().unwrap()]).is_ok(), expect, "{server} {named}");
    }

    #[test]
    fn a_server_elsewhere_does_not_send_us_here() {
        check("https://tools.test/mcp", "https://login.test", true);
        check("http://localhost:1/mcp", "http://127.0.0.1:2", true);
        check("https://tools.test/mcp", "http://127.0.0.1:2", false);
        check("https://tools.test/mcp", "https://localhost", false);
    }
}
