//! Tokens of users: found, renewed, asked for, given back.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tokio_util::task::TaskTracker;
use toolmux_core::BoxFuture;
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::message::Message;
use toolmux_core::ports::broker::{
    Broker, ChallengeStatus, ConsentRequest, Finished, OAuthCallback, StartFrom, Started, TokenReply,
    TokenRequest,
};
use toolmux_core::ports::store::{Store, StoreError};
use toolmux_core::refusal::{Challenge, Refusal};
use toolmux_core::requirements::Authorization;
use toolmux_core::secret::Secret;

use crate::callback::Base;
use crate::challenge::{ChallengeKey, ChallengeRecord, LIFE, Server, Status, TOO_LATE, after, waiting_place};
use crate::clients::Clients;
use crate::endpoint::{self, EndpointError};
use crate::owner::Owner;
use crate::provider::Provider;
use crate::providers::Providers;
use crate::registration;
use crate::renewal::Renewer;
use crate::seal::{SealingKey, random_text};
use crate::sealed_records::{KeptToken, SealedRecords};

/// An OAuth 2.0 client for every configured provider.
pub struct OAuthBroker {
    pub(crate) kept: Arc<SealedRecords>,
    pub(crate) clients: Arc<Clients>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) base: Base,
    /// Who issues the tokens that callers show.
    pub(crate) token_issuer: Option<String>,
    renewer: Arc<Renewer>,
    renewals: TaskTracker,
}

impl fmt::Debug for OAuthBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthBroker")
            .field("providers", &self.providers.configured.keys())
            .finish_non_exhaustive()
    }
}

impl OAuthBroker {
    /// A broker for these providers, by name.
    pub fn new(
        providers: HashMap<String, Provider>,
        store: Arc<dyn Store>,
        key: SealingKey,
        base: Base,
    ) -> Self {
        let kept = Arc::new(SealedRecords { store, key });
        let clients = Arc::new(Clients::new());
        let providers = Providers::new(providers, Arc::clone(&kept), Arc::clone(&clients), Arc::clone(&base));
        let providers = Arc::new(providers);
        let renewer = Renewer::new(Arc::clone(&kept), Arc::clone(&clients), Arc::clone(&providers));
        let (renewer, renewals) = (Arc::new(renewer), TaskTracker::new());
        OAuthBroker { kept, clients, providers, base, token_issuer: None, renewer, renewals }
    }

    /// With who issues the tokens that callers show. Where that is a configured provider too, callers sign in there to
    /// prove who they are.
    pub fn with_token_issuer(mut self, issuer: Option<String>) -> Self {
        self.token_issuer = issuer;
        self
    }

    /// Whose tokens are kept.
    pub async fn owners(&self) -> Result<Vec<Owner>, StoreError> {
        let names = self.kept.store.sealed_list("token").await?;
        Ok(names.iter().filter_map(|name| Owner::read(name)).collect())
    }

    /// Forgets a token and asks its provider to do the same. False when there was none. The provider's
    /// trouble, if any, is told next to it.
    pub async fn revoke(&self, owner: &Owner) -> Result<(bool, Option<Message>), StoreError> {
        let place = owner.place();
        let token: Option<KeptToken> = self.kept.find(&place).await?;
        let there = self.kept.store.sealed_take(&place).await?.is_some();
        if there {
            self.audit(AuditAction::GrantRevoked, owner).await?;
        }
        let Some(token) = token else { return Ok((there, None)) };
        if token.issued.is_none() && !self.providers.configured.contains_key(&owner.provider) {
            return Ok((there, None));
        }
        let told = self.revoke_at(owner, &token).await;
        Ok((there, told.err().map(|error| error.message(&owner.provider))))
    }

    pub(crate) async fn audit(&self, action: AuditAction, owner: &Owner) -> Result<(), StoreError> {
        let record = AuditRecord::now(&owner.caller, action, format!("{} {}", owner.provider, owner.user));
        self.kept.store.audit_add(&[record]).await
    }

    async fn revoke_at(&self, owner: &Owner, token: &KeptToken) -> Result<(), EndpointError> {
        let resolved = self.providers.resolve_known(&owner.provider, token.issued.as_ref()).await?;
        for token in token.refresh.iter().chain([&token.access]) {
            endpoint::revoke(&self.clients, &resolved, token).await?;
        }
        Ok(())
    }

    async fn find_token(&self, wanted: &TokenRequest<'_>) -> Result<TokenReply, Refusal> {
        let needed = wanted.needed;
        let provider = self.providers.configured.get(&needed.id);
        // A provider of the configuration is asked as it is written there.
        let named = needed.server.as_ref().filter(|_| provider.is_none());
        if provider.is_none() && named.is_none() {
            return Ok(TokenReply::UnknownProvider);
        }
        let owner = Owner {
            provider: needed.id.clone(),
            caller: wanted.caller.to_owned(),
            user: wanted.user.to_owned(),
        };
        let kept: Option<KeptToken> = self.kept.find(&owner.place()).await.map_err(Refusal::from)?;
        // A token goes to no other server than the one it was asked for.
        let bound_to = named.map(|server| server.url.as_str());
        let kept = kept.filter(|token| token.issued.as_ref().map(|issued| &*issued.server) == bound_to);
        let mut scopes = needed.scopes.clone();
        let had = match kept {
            Some(token) if token.covers(&needed.scopes) => {
                if let Some(token) = self.good(&token, &owner, needed).await? {
                    return Ok(TokenReply::Token(token));
                }
                Vec::new()
            }
            Some(token) => token.scopes,
            None => Vec::new(),
        };
        for scope in provider.iter().flat_map(|provider| &provider.scopes).chain(&had) {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        let server = named.map(|server| Server { url: server.url.clone(), metadata: server.metadata() });
        let record = ChallengeRecord {
            owner,
            subject: wanted.subject.map(str::to_owned),
            needed_by: wanted.needed_by.to_owned(),
            scopes,
            status: Status::Pending,
            server,
        };
        self.challenge(record).await.map_err(Refusal::from)
    }

    /// A token as it is, or a renewed one; none when only the user can help.
    async fn good(
        &self,
        token: &KeptToken,
        owner: &Owner,
        needed: &Authorization,
    ) -> Result<Option<Secret>, Refusal> {
        let access = Secret::new(token.access.as_str());
        let rejected = needed.server.as_ref().is_some_and(|server| server.has_rejected(&access));
        if rejected && token.is_just_renewed() {
            return Ok(None);
        }
        if token.is_fresh() && !rejected {
            return Ok(Some(access));
        }
        self.renew(owner, rejected.then_some(access)).await
    }

    /// Renews a token in a task of its own: a refresh token is often good once, and a client that leaves
    /// must not lose the one that came instead.
    async fn renew(&self, owner: &Owner, rejected: Option<Secret>) -> Result<Option<Secret>, Refusal> {
        let (renewer, owner) = (Arc::clone(&self.renewer), owner.clone());
        let renewed = self.renewals.spawn(async move { renewer.renew(&owner, rejected.as_ref()).await });
        let failed = |error| {
            Refusal::Internal(Message::public("The renewal of a token failed unexpectedly").caused_by(&error))
        };
        renewed.await.unwrap_or_else(|error| Err(failed(error)))
    }

    /// A challenge that waits already, or a new one.
    async fn challenge(&self, record: ChallengeRecord) -> Result<TokenReply, StoreError> {
        let waiting = waiting_place(&record.owner, &record.scopes);
        let id = match self.kept.find::<String>(&waiting).await? {
            Some(id) => id,
            None => {
                let id = random_text();
                let key = ChallengeKey::of(&id);
                self.kept.put(&key.decision_place(), &(), after(LIFE)).await?;
                self.kept.put(&key.place(), &record, after(LIFE)).await?;
                // Last, so that nobody is sent to a challenge that is not there.
                self.kept.put(&waiting, &id, after(LIFE.saturating_sub(TOO_LATE))).await?;
                id
            }
        };
        let page = |name: &str| self.base.get().map(|base| format!("{base}/auth/{name}/{id}"));
        Ok(TokenReply::Challenge(Challenge {
            id: record.owner.provider,
            url: page("start"),
            check_url: page("check"),
        }))
    }
}

impl Broker for OAuthBroker {
    fn token<'a>(&'a self, wanted: &'a TokenRequest<'a>) -> BoxFuture<'a, Result<TokenReply, Refusal>> {
        Box::pin(self.find_token(wanted))
    }

    fn show<'a>(&'a self, challenge: &'a str) -> BoxFuture<'a, Result<ConsentRequest, Message>> {
        Box::pin(self.tell(challenge))
    }

    fn start<'a>(&'a self, from: &'a StartFrom<'a>) -> BoxFuture<'a, Result<Started, Message>> {
        Box::pin(self.open(from))
    }

    fn finish<'a>(&'a self, came_back: &'a OAuthCallback<'a>) -> BoxFuture<'a, Result<Finished, Message>> {
        Box::pin(self.close(came_back))
    }

    fn about_us(&self) -> Option<String> {
        self.base.get().map(|base| registration::about_us(base).to_string())
    }

    fn status<'a>(&'a self, challenge: &'a str) -> BoxFuture<'a, Result<ChallengeStatus, Message>> {
        Box::pin(async move {
            let place = ChallengeKey::of(challenge).place();
            let record: Option<ChallengeRecord> =
                self.kept.find(&place).await.map_err(|error| error.message)?;
            Ok(record.map_or(ChallengeStatus::Failed, |record| record.status.into()))
        })
    }
}
