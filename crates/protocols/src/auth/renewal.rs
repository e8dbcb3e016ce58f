//! Renewal of tokens, one at a time per owner.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tokio::sync::Semaphore;
use toolmux_core::refusal::Refusal;
use toolmux_core::secret::Secret;

use super::broker::{Owner, trouble, unavailable};
use super::endpoint::{self, EndpointError};
use super::kept::{Kept, KeptToken};
use super::providers::Providers;
use crate::http_client::HttpClient;

/// How many renewals run at a time; those of one token never do.
const TURNS: usize = 64;

/// Renews tokens.
pub(super) struct Renewer {
    kept: Arc<Kept>,
    http: HttpClient,
    providers: Arc<Providers>,
    turns: Vec<Semaphore>,
}

impl Renewer {
    pub(super) fn new(kept: Arc<Kept>, http: HttpClient, providers: Arc<Providers>) -> Self {
        let turns = (0..TURNS).map(|_| Semaphore::new(1)).collect();
        Renewer { kept, http, providers, turns }
    }

    /// Renews a token, one at a time per owner: a refresh token is often good once. One that was rejected is
    /// renewed although it seems to be good. `None` when only the user can help.
    pub(super) async fn renew(
        &self,
        owner: &Owner,
        rejected: Option<&Secret>,
    ) -> Result<Option<Secret>, Refusal> {
        let _turn = self.turn(owner).acquire().await.ok();
        let place = owner.place();
        let kept: Option<KeptToken> = self.kept.find(&place).await.map_err(unavailable)?;
        let Some(token) = kept else { return Ok(None) };
        let is_rejected = rejected.is_some_and(|rejected| rejected.expose() == token.access);
        if token.is_fresh() && !is_rejected {
            return Ok(Some(Secret::new(token.access)));
        }
        let refreshed = match &token.refresh {
            Some(refresh) => self.refresh(owner, &token, refresh).await,
            None if token.is_alive() && !is_rejected => return Ok(Some(Secret::new(token.access))),
            None => return Ok(None),
        };
        match refreshed {
            Ok(given) => {
                let renewed = token.renewed(given);
                self.kept.put(&place, &renewed, None).await.map_err(unavailable)?;
                Ok(Some(Secret::new(renewed.access)))
            }
            Err(error) => {
                let usable = token.is_alive() && !is_rejected;
                let left = usable.then(|| Secret::new(token.access.as_str()));
                self.not_renewed(owner, &token, left, &error).await
            }
        }
    }

    async fn refresh(
        &self,
        owner: &Owner,
        token: &KeptToken,
        refresh: &str,
    ) -> Result<endpoint::TokenResponse, EndpointError> {
        let met = self.providers.meet_again(&owner.provider, token.issued.as_ref()).await?;
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
        let given = endpoint::token(&self.http, &met, &form).await;
        if given.as_ref().is_err_and(EndpointError::is_stranger) {
            // What the store says does not matter here: the provider turns us down again.
            self.providers.forget_client(&met).await.ok();
        }
        given
    }

    /// Another replica may have been quicker; a token that is still good is used; otherwise the user or time
    /// must help.
    async fn not_renewed(
        &self,
        owner: &Owner,
        token: &KeptToken,
        left: Option<Secret>,
        error: &EndpointError,
    ) -> Result<Option<Secret>, Refusal> {
        let place = owner.place();
        let now: Option<KeptToken> = self.kept.find(&place).await.map_err(unavailable)?;
        if let Some(other) = now.filter(|other| other.access != token.access && other.is_alive()) {
            return Ok(Some(Secret::new(other.access)));
        }
        // Where we registered ourselves, the user can begin anew with another registration.
        if error.is_final() || (error.is_stranger() && token.issued.is_some()) {
            self.kept.store.sealed_take(&place).await.map_err(unavailable)?;
            return Ok(None);
        }
        let message = trouble(&owner.provider, error);
        if left.is_some() {
            tracing::warn!(provider = owner.provider, developer = message.developer, "{}", message.public);
            return Ok(left);
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
