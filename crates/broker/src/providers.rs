//! Every provider there is: those of the configuration, and those that protected servers name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolmux_core::ports::store::StoreError;
use toolmux_http::network_zone::Reach;
use toolmux_http::protected_resource::describe;
use url::Url;

use crate::callback;
use crate::callback::Base;
use crate::challenge::Server;
use crate::clients::{Clients, named_from};
use crate::discovery::discover;
use crate::endpoint::EndpointError;
use crate::provider::Provider;
use crate::registration::{self, Known};
use crate::resolved_provider::{Endpoints, Issued, ProviderError, ResolvedProvider, address};
use crate::sealed_records::SealedRecords;

/// How many issuers that servers named are remembered.
const MOST_KNOWN: usize = 64;

/// Issuers by name and by where they may be.
type KnownIssuers = HashMap<(String, Reach), Endpoints>;

pub(crate) struct Providers {
    pub(crate) configured: HashMap<String, Provider>,
    kept: Arc<SealedRecords>,
    clients: Arc<Clients>,
    base: Base,
    /// Issuers that servers named.
    known: Mutex<KnownIssuers>,
}

impl Providers {
    pub(crate) fn new(
        configured: HashMap<String, Provider>,
        kept: Arc<SealedRecords>,
        clients: Arc<Clients>,
        base: Base,
    ) -> Self {
        Providers { configured, kept, clients, base, known: Mutex::default() }
    }

    /// The provider of a flow that begins: the configured one, otherwise the one that the server names now.
    pub(crate) async fn resolve(
        &self,
        id: &str,
        server: Option<&Server>,
    ) -> Result<ResolvedProvider, EndpointError> {
        if let Some(provider) = self.configured.get(id) {
            return provider.resolve(id, &self.clients).await;
        }
        let server = server.ok_or_else(gone)?;
        let unusable = |what: &str| EndpointError::Unusable(what.to_owned());
        let url: Url = server.url.parse().map_err(|_| unusable("its address cannot be read"))?;
        let side = self.clients.side_of(&url, Reach::Anywhere).await;
        let described = describe(self.clients.of(side), &url, server.metadata.as_deref()).await;
        let described =
            described.ok_or_else(|| unusable("the server does not name its authorization server"))?;
        let issuer = described.authorization_servers.first();
        let issuer = issuer.ok_or_else(|| unusable("the server names no authorization server"))?;
        let issued = Issued {
            server: server.url.clone(),
            issuer: issuer.clone(),
            resource: described.resource.clone(),
            reach: named_from(side),
        };
        let mut resolved = self.found(issued).await?;
        resolved.scopes = described.scopes_supported;
        Ok(resolved)
    }

    /// The provider of a flow or a token there is.
    pub(crate) async fn resolve_known(
        &self,
        id: &str,
        issued: Option<&Issued>,
    ) -> Result<ResolvedProvider, EndpointError> {
        match (issued, self.configured.get(id)) {
            (Some(issued), _) => self.found(issued.clone()).await,
            (None, Some(provider)) => provider.resolve(id, &self.clients).await,
            (None, None) => Err(gone()),
        }
    }

    /// The configured provider that is this issuer; the first by name when several are.
    pub(crate) fn of_issuer(&self, issuer: &str) -> Option<&str> {
        let same = self.configured.iter().filter(|(_, provider)| provider.is_issuer(issuer));
        same.map(|(name, _)| name.as_str()).min()
    }

    /// Forgets who we are to a provider that no longer knows us: the next flow registers anew.
    pub(crate) async fn forget_client(&self, resolved: &ResolvedProvider) -> Result<(), StoreError> {
        if let (Some(issuer), Some(_), Ok(base)) = (&resolved.endpoints.issuer, &resolved.issued, self.base())
        {
            let redirect_uri = callback::address(base, &resolved.callback);
            self.kept.store.sealed_take(&registration::place(issuer, &redirect_uri)).await?;
        }
        Ok(())
    }

    async fn found(&self, issued: Issued) -> Result<ResolvedProvider, EndpointError> {
        let mut endpoints = self.endpoints(&issued).await?;
        if !endpoints.offers.pkce {
            // MCP: a provider that does not say so does not check who brings a code.
            let what = format!("`{}` does not support PKCE (S256)", issued.issuer);
            return Err(EndpointError::Unusable(what));
        }
        let Known { client, client_auth, callback } =
            registration::client(&self.kept, &self.clients, &endpoints, self.base()?).await?;
        endpoints.client_auth = client_auth;
        Ok(ResolvedProvider { endpoints, client, callback, issued: Some(issued), scopes: Vec::new() })
    }

    async fn endpoints(&self, issued: &Issued) -> Result<Endpoints, EndpointError> {
        // What one server may name is not what another may.
        let place = (issued.issuer.clone(), issued.reach);
        if let Some(known) = self.known(|known| known.get(&place).cloned()) {
            return Ok(known);
        }
        let unsafe_to_use = |error: ProviderError| EndpointError::Unusable(error.to_string());
        let issuer = address(&issued.issuer).map_err(unsafe_to_use)?;
        let endpoints = discover(&self.clients, &issuer, issued.reach).await?;
        self.known(|known| {
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            known.insert(place, endpoints.clone());
        });
        Ok(endpoints)
    }

    fn base(&self) -> Result<&str, EndpointError> {
        let base = self.base.get().map(String::as_str);
        base.ok_or_else(|| EndpointError::Unusable("the server is not listening yet".to_owned()))
    }

    fn known<T>(&self, read: impl FnOnce(&mut KnownIssuers) -> T) -> T {
        read(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn gone() -> EndpointError {
    EndpointError::Unusable("it is no longer configured".to_owned())
}
