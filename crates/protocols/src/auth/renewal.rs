//! Renewal of tokens, one at a time per owner.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tokio::sync::Semaphore;
use toolmux_core::refusal::Refusal;
use toolmux_core::secret::Secret;

use super::broker::{Owner, trouble, unavailable};
use super::endpoint::{self, EndpointError};
use super::kept::{Kept, KeptToken};
use super::provider::Provider;
use crate::http_client::HttpClient;

/// How many renewals run at a time; those of one token never do.
const TURNS: usize = 64;

/// Renews tokens.
pub(super) struct Renewer {
    kept: Arc<Kept>,
    http: HttpClient,
    providers: Arc<HashMap<String, Provider>>,
    turns: Vec<Semaphore>,
}

impl Renewer {
    pub(super) fn new(kept: Arc<Kept>, http: HttpClient, providers: Arc<HashMap<String, Provider>>) -> Self {
        let turns = (0..TURNS).map(|_| Semaphore::new(1)).collect();
        Renewer { kept, http, providers, turns }
    }

    /// Renews a token, one at a time per owner: a refresh token is often good once. `None` when only the
    /// user can help.
    pub(super) async fn renew(&self, owner: &Owner) -> Result<Option<Secret>, Refusal> {
        let Some(provider) = self.providers.get(&owner.provider) else { return Ok(None) };
        let _turn = self.turn(owner).acquire().await.ok();
        let place = owner.place();
        let kept: Option<KeptToken> = self.kept.find(&place).await.map_err(unavailable)?;
        let Some(token) = kept else { return Ok(None) };
        if token.is_fresh() {
            return Ok(Some(Secret::new(token.access)));
        }
        let refreshed = match &token.refresh {
            Some(refresh) => self.refresh(provider, refresh).await,
            None if token.is_alive() => return Ok(Some(Secret::new(token.access))),
            None => return Ok(None),
        };
        match refreshed {
            Ok(given) => {
                let renewed = token.renewed(given);
                self.kept.put(&place, &renewed, None).await.map_err(unavailable)?;
                Ok(Some(Secret::new(renewed.access)))
            }
            Err(error) => self.not_renewed(owner, &token, &error).await,
        }
    }

    async fn refresh(
        &self,
        provider: &Provider,
        refresh: &str,
    ) -> Result<endpoint::TokenResponse, EndpointError> {
        let endpoints = provider.endpoints(&self.http).await?;
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
        endpoint::token(&self.http, provider, &endpoints, &form).await
    }

    /// Another replica may have been quicker; a token that still lives is used; otherwise the user or time
    /// must help.
    async fn not_renewed(
        &self,
        owner: &Owner,
        token: &KeptToken,
        error: &EndpointError,
    ) -> Result<Option<Secret>, Refusal> {
        let place = owner.place();
        let now: Option<KeptToken> = self.kept.find(&place).await.map_err(unavailable)?;
        if let Some(other) = now.filter(|other| other.access != token.access && other.is_alive()) {
            return Ok(Some(Secret::new(other.access)));
        }
        if error.is_final() {
            self.kept.store.sealed_take(&place).await.map_err(unavailable)?;
            return Ok(None);
        }
        let message = trouble(&owner.provider, error);
        if token.is_alive() {
            tracing::warn!(provider = owner.provider, developer = message.developer, "{}", message.public);
            return Ok(Some(Secret::new(token.access.clone())));
        }
        Err(Refusal::Unavailable { message, retry_after: None })
    }

    fn turn(&self, owner: &Owner) -> &Semaphore {
        let mut hasher = DefaultHasher::new();
        owner.hash(&mut hasher);
        let place = hasher.finish() % TURNS as u64;
        &self.turns[usize::try_from(place).unwrap_or_default()]
    }
}
