//! Renewal of tokens, one at a time per owner over all servers that share a store.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use toolmux_core::refusal::Refusal;
use toolmux_core::secret::Secret;

use crate::clients::Clients;
use crate::endpoint::{self, EndpointError};
use crate::owner::Owner;
use crate::providers::Providers;
use crate::renewal_lease::{Lease, PROVIDER_TIMEOUT};
use crate::sealed_records::{KeptToken, SealedRecords};

/// How many renewals run at a time; those of one token never do.
const TURNS: usize = 64;
/// How often we look whether another server is done.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Renews tokens before they expire, one renewal at a time for each token.
pub(crate) struct Renewer {
    kept: Arc<SealedRecords>,
    clients: Arc<Clients>,
    providers: Arc<Providers>,
    /// One permit each. Owners share one by their hash, so that the number of semaphores does not grow with the
    /// number of users; two owners of one semaphore wait for each other, which costs time and nothing else.
    turns: Vec<Semaphore>,
}

impl Renewer {
    pub(crate) fn new(kept: Arc<SealedRecords>, clients: Arc<Clients>, providers: Arc<Providers>) -> Self {
        let turns = (0..TURNS).map(|_| Semaphore::new(1)).collect();
        Renewer { kept, clients, providers, turns }
    }

    /// Renews a token, one at a time per owner: a refresh token is often good once. One that was rejected is
    /// renewed although it seems to be good. `None` when only the user can help.
    pub(crate) async fn renew(
        &self,
        owner: &Owner,
        rejected: Option<&Secret>,
    ) -> Result<Option<Secret>, Refusal> {
        // Within this server a semaphore orders them: without it, a burst of calls would ask the store for the lease all
        // at once, and poll for it. Between servers the lease decides.
        let _turn = self.turn(owner).acquire().await.ok();
        let (place, lease) = (owner.place(), Lease::of(owner));
        loop {
            // Read anew each time round: whoever was first may have renewed it while we waited.
            let kept: Option<KeptToken> = self.kept.find(&place).await.map_err(Refusal::from)?;
            let Some(token) = kept else { return Ok(None) };
            let good = !token.is(rejected);
            if good && (token.is_fresh() || (token.refresh.is_none() && token.is_alive())) {
                return Ok(Some(Secret::new(token.access)));
            }
            if token.refresh.is_none() {
                return Ok(None);
            }
            if lease.take(&self.kept).await.map_err(Refusal::from)? {
                let renewed = self.renew_alone(owner, rejected).await;
                lease.give_back(&self.kept).await;
                return renewed;
            }
            // Another server renews it. What it replaces is usable until its end, so nobody waits who need not. This
            // loop ends: the other server writes a new token, or its lease expires and we take it.
            if good && token.is_alive() {
                return Ok(Some(Secret::new(token.access)));
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Renews a token while this server has the lease.
    async fn renew_alone(&self, owner: &Owner, rejected: Option<&Secret>) -> Result<Option<Secret>, Refusal> {
        let place = owner.place();
        // Looked at again under the lease: between the first look and the lease another server may have renewed the token,
        // and its old refresh token must not be sent a second time.
        let kept: Option<(Vec<u8>, KeptToken)> = self.kept.look(&place).await.map_err(Refusal::from)?;
        let Some((seen, token)) = kept else { return Ok(None) };
        let good = !token.is(rejected);
        let refresh = match &token.refresh {
            Some(refresh) if !good || !token.is_fresh() => refresh,
            None if !good => return Ok(None),
            _ => return Ok(Some(Secret::new(token.access))),
        };
        match self.refresh(owner, &token, refresh).await {
            Ok(given) => {
                let renewed = token.renewed(given);
                // Compared with what was seen: the user may have revoked or renewed the grant while the provider was
                // asked, and a lease that expired may have let another server write. Theirs stays, ours is dropped.
                if self.kept.replace(&place, &seen, &renewed).await.map_err(Refusal::from)? {
                    return Ok(Some(Secret::new(renewed.access)));
                }
                self.kept_instead(owner).await
            }
            Err(error) => {
                let left = (good && token.is_alive()).then(|| Secret::new(token.access.as_str()));
                self.not_renewed(owner, (&seen, &token), left, &error).await
            }
        }
    }

    async fn refresh(
        &self,
        owner: &Owner,
        token: &KeptToken,
        refresh: &str,
    ) -> Result<endpoint::TokenResponse, EndpointError> {
        let asked = async {
            let resolved = self.providers.resolve_known(&owner.provider, token.issued.as_ref()).await?;
            let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
            let given = endpoint::token(&self.clients, &resolved, &form).await;
            if given.as_ref().is_err_and(EndpointError::is_stranger) {
                // What the store says does not matter here: the provider turns us down again.
                self.providers.forget_client(&resolved).await.ok();
            }
            given
        };
        let late = |_| EndpointError::Unusable(format!("it did not answer within {PROVIDER_TIMEOUT:?}"));
        timeout(PROVIDER_TIMEOUT, asked).await.map_err(late)?
    }

    /// Another replica may have been quicker; a token that is still good is used; otherwise the user or time
    /// must help.
    async fn not_renewed(
        &self,
        owner: &Owner,
        (seen, token): (&[u8], &KeptToken),
        left: Option<Secret>,
        error: &EndpointError,
    ) -> Result<Option<Secret>, Refusal> {
        let place = owner.place();
        let now: Option<KeptToken> = self.kept.find(&place).await.map_err(Refusal::from)?;
        if let Some(other) = now.filter(|other| other.access != token.access && other.is_alive()) {
            return Ok(Some(Secret::new(other.access)));
        }
        // Where we registered ourselves, the user can begin anew with another registration.
        if error.is_final() || (error.is_stranger() && token.issued.is_some()) {
            let gone = self.kept.store.sealed_swap(&place, Some(seen), None).await.map_err(Refusal::from)?;
            return if gone { Ok(None) } else { self.kept_instead(owner).await };
        }
        let message = error.message(&owner.provider);
        if left.is_some() {
            tracing::warn!(provider = owner.provider, developer = message.developer, "{}", message.public);
            return Ok(left);
        }
        Err(Refusal::Unavailable { message, retry_after: None })
    }

    /// The user allowed or revoked it meanwhile, or a server that we took for dead renewed it: what is kept is
    /// what counts.
    async fn kept_instead(&self, owner: &Owner) -> Result<Option<Secret>, Refusal> {
        let now: Option<KeptToken> = self.kept.find(&owner.place()).await.map_err(Refusal::from)?;
        Ok(now.filter(KeptToken::is_alive).map(|token| Secret::new(token.access)))
    }

    fn turn(&self, owner: &Owner) -> &Semaphore {
        let mut hasher = DefaultHasher::new();
        owner.hash(&mut hasher);
        let place = hasher.finish() % TURNS as u64;
        &self.turns[usize::try_from(place).unwrap_or_default()]
    }
}
