//! Tokens of users: found, renewed, asked for, given back.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio_util::task::TaskTracker;
use toolmux_core::BoxFuture;
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::broker::{
    Broker, Brokered, CameBack, ChallengeStatus, Finished, StartFrom, Started, Wanted,
};
use toolmux_core::message::Message;
use toolmux_core::refusal::{Challenge, Refusal};
use toolmux_core::secret::Secret;
use toolmux_core::store::{SealedKey, Store, StoreError};
use url::Url;

use super::challenge::{
    ChallengeRecord, LIFE, REMEMBERED, StateRecord, Status, TOO_LATE, after, challenge_place, decision_place,
    state_place, waiting_place,
};
use super::endpoint::{self, EndpointError};
use super::kept::{Kept, KeptToken};
use super::provider::{Endpoints, Provider};
use super::renewal::Renewer;
use super::seal::{SealingKey, random_text};
use crate::http_client::{HttpClient, HttpLimits};

/// Where our own pages are, known once the server listens.
pub type Base = Arc<OnceLock<String>>;

/// Whose token: tokens obtained through one caller are never given to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The provider.
    pub provider: String,
    /// The caller it was obtained through.
    pub caller: String,
    /// The user it is of; empty when the caller acts for itself.
    pub user: String,
}

impl Owner {
    pub(super) fn place(&self) -> SealedKey {
        let name = serde_json::json!([self.provider, self.caller, self.user]).to_string();
        SealedKey { kind: "token".to_owned(), name }
    }

    fn read(name: &str) -> Option<Self> {
        let [provider, caller, user]: [String; 3] = serde_json::from_str(name).ok()?;
        Some(Owner { provider, caller, user })
    }
}

/// An OAuth 2.0 client for every configured provider.
pub struct OAuthBroker {
    kept: Arc<Kept>,
    http: HttpClient,
    providers: Arc<HashMap<String, Provider>>,
    base: Base,
    renewer: Arc<Renewer>,
    renewals: TaskTracker,
}

impl fmt::Debug for OAuthBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthBroker").field("providers", &self.providers.keys()).finish_non_exhaustive()
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
        let (kept, providers) = (Arc::new(Kept { store, key }), Arc::new(providers));
        let http = HttpClient::new(HttpLimits::default());
        let renewer = Renewer::new(Arc::clone(&kept), http.clone(), Arc::clone(&providers));
        let (renewer, renewals) = (Arc::new(renewer), TaskTracker::new());
        OAuthBroker { kept, http, providers, base, renewer, renewals }
    }

    /// Whose tokens are kept.
    pub async fn owners(&self) -> Result<Vec<Owner>, StoreError> {
        let names = self.kept.store.sealed_list("token").await?;
        Ok(names.iter().filter_map(|name| Owner::read(name)).collect())
    }

    /// Forgets a token and asks its provider to do the same. False when there was none. The provider's
    /// trouble, if any, is told beside it.
    pub async fn revoke(&self, owner: &Owner) -> Result<(bool, Option<Message>), StoreError> {
        let place = owner.place();
        let token: Option<KeptToken> = self.kept.find(&place).await?;
        let there = self.kept.store.sealed_take(&place).await?.is_some();
        if there {
            self.audit(AuditAction::GrantRevoked, owner).await?;
        }
        let (Some(token), Some(provider)) = (token, self.providers.get(&owner.provider)) else {
            return Ok((there, None));
        };
        let told = self.revoke_at(provider, &token).await;
        Ok((there, told.err().map(|error| trouble(&owner.provider, &error))))
    }

    async fn audit(&self, action: AuditAction, owner: &Owner) -> Result<(), StoreError> {
        let record = AuditRecord::now(&owner.caller, action, format!("{} {}", owner.provider, owner.user));
        self.kept.store.audit_add(&[record]).await
    }

    async fn revoke_at(&self, provider: &Provider, token: &KeptToken) -> Result<(), EndpointError> {
        let endpoints = provider.endpoints(&self.http).await?;
        for token in token.refresh.iter().chain([&token.access]) {
            endpoint::revoke(&self.http, provider, &endpoints, token).await?;
        }
        Ok(())
    }

    async fn find_token(&self, wanted: &Wanted<'_>) -> Result<Brokered, Refusal> {
        let Some(provider) = self.providers.get(&wanted.needed.id) else {
            return Ok(Brokered::UnknownProvider);
        };
        let owner = Owner {
            provider: wanted.needed.id.clone(),
            caller: wanted.caller.to_owned(),
            user: wanted.user.to_owned(),
        };
        let place = owner.place();
        let kept: Option<KeptToken> = self.kept.find(&place).await.map_err(unavailable)?;
        let had = match kept {
            Some(token) if token.covers(&wanted.needed.scopes) => {
                if token.is_fresh() {
                    return Ok(Brokered::Token(Secret::new(token.access)));
                }
                if let Some(token) = self.renew(&owner).await? {
                    return Ok(Brokered::Token(token));
                }
                Vec::new()
            }
            Some(token) => token.scopes,
            None => Vec::new(),
        };
        let mut scopes = wanted.needed.scopes.clone();
        for scope in provider.scopes.iter().chain(&had) {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        self.challenge(owner, scopes).await.map_err(unavailable)
    }

    /// Renews a token in a task of its own: a refresh token is often good once, and a client that leaves
    /// must not lose the one that came instead.
    async fn renew(&self, owner: &Owner) -> Result<Option<Secret>, Refusal> {
        let (renewer, owner) = (Arc::clone(&self.renewer), owner.clone());
        let renewed = self.renewals.spawn(async move { renewer.renew(&owner).await });
        let failed = |error| {
            Refusal::Internal(Message::public("The renewal of a token failed unexpectedly").caused_by(&error))
        };
        renewed.await.unwrap_or_else(|error| Err(failed(error)))
    }

    /// A challenge that waits already, or a new one.
    async fn challenge(&self, owner: Owner, scopes: Vec<String>) -> Result<Brokered, StoreError> {
        let waiting = waiting_place(&owner, &scopes);
        let id = match self.kept.find::<String>(&waiting).await? {
            Some(id) => id,
            None => {
                let id = random_text();
                let record = ChallengeRecord { owner: owner.clone(), scopes, status: Status::Pending };
                self.kept.put(&decision_place(&id), &(), after(LIFE)).await?;
                self.kept.put(&challenge_place(&id), &record, after(LIFE)).await?;
                // Last, so that nobody is sent to a challenge that is not there.
                self.kept.put(&waiting, &id, after(LIFE.saturating_sub(TOO_LATE))).await?;
                id
            }
        };
        let page = |name: &str| self.base.get().map(|base| format!("{base}/auth/{name}/{id}"));
        Ok(Brokered::Challenge(Challenge {
            id: owner.provider,
            url: page("start"),
            check_url: page("check"),
        }))
    }

    async fn open(&self, from: &StartFrom<'_>) -> Result<Started, Message> {
        let known: Option<ChallengeRecord> =
            self.kept.find(&challenge_place(from.challenge)).await.map_err(|error| error.0)?;
        let record = known.filter(|record| record.status == Status::Pending).ok_or_else(|| {
            Message::public("This link was used already or has expired. Ask again to get a new one.")
        })?;
        let id = &record.owner.provider;
        let provider = self.provider(id)?;
        let endpoints = provider.endpoints(&self.http).await.map_err(|error| trouble(id, &error))?;
        let (state, verifier) = (random_text(), random_text());
        let browser = from.browser.filter(|shown| shown.len() == 64).map_or_else(random_text, str::to_owned);
        let kept = StateRecord {
            challenge: from.challenge.to_owned(),
            verifier: verifier.clone(),
            browser: Secret::new(browser.as_str()).sha256(),
        };
        self.kept.put(&state_place(&state), &kept, after(LIFE)).await.map_err(|error| error.0)?;
        let url = self.consent_page(provider, &endpoints, &record.scopes, (&state, &verifier))?;
        Ok(Started { url: url.into(), browser: Secret::new(browser) })
    }

    fn consent_page(
        &self,
        provider: &Provider,
        endpoints: &Endpoints,
        scopes: &[String],
        (state, verifier): (&str, &str),
    ) -> Result<Url, Message> {
        let challenge = URL_SAFE_NO_PAD.encode(Secret::new(verifier).sha256());
        let mut url = endpoints.authorize.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &provider.client_id)
            .append_pair("redirect_uri", &self.callback()?)
            .append_pair("state", state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        if !scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &scopes.join(" "));
        }
        for (name, value) in &provider.parameters {
            url.query_pairs_mut().append_pair(name, value);
        }
        Ok(url)
    }

    async fn close(&self, came_back: &CameBack<'_>) -> Result<Finished, Message> {
        let parameter = |name: &str| {
            let found = came_back.parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        let expired = || Message::public("This authorization was completed already, or took too long.");
        let state = parameter("state").ok_or_else(expired)?;
        let taken: Option<StateRecord> =
            self.kept.take(&state_place(state)).await.map_err(|error| error.0)?;
        let state = taken.ok_or_else(expired)?;
        let place = challenge_place(&state.challenge);
        let known: Option<ChallengeRecord> = self.kept.find(&place).await.map_err(|error| error.0)?;
        let pending = known.filter(|record| record.status == Status::Pending);
        let mut record = pending.ok_or_else(expired)?;
        let shown = came_back.browser.map(|shown| Secret::new(shown).sha256()).unwrap_or_default();
        if !bool::from(shown.ct_eq(&state.browser)) {
            return Err(Message::public(
                "This authorization was begun in another browser. Open the link again.",
            ));
        }
        // A challenge may have been opened several times; it is decided once.
        let decision: Option<()> =
            self.kept.take(&decision_place(&state.challenge)).await.map_err(|error| error.0)?;
        decision.ok_or_else(expired)?;
        let ended = self.exchange(&record, &state.verifier, &parameter).await;
        record.status = if ended.is_ok() { Status::Completed } else { Status::Failed };
        self.kept.put(&place, &record, after(REMEMBERED)).await.map_err(|error| error.0)?;
        let waiting = waiting_place(&record.owner, &record.scopes);
        self.kept.store.sealed_take(&waiting).await.map_err(|error| error.0)?;
        ended?;
        self.audit(AuditAction::GrantCreated, &record.owner).await.map_err(|error| error.0)?;
        Ok(Finished { provider: record.owner.provider })
    }

    async fn exchange<'a>(
        &self,
        record: &ChallengeRecord,
        verifier: &str,
        parameter: &impl Fn(&str) -> Option<&'a str>,
    ) -> Result<(), Message> {
        let id = &record.owner.provider;
        let provider = self.provider(id)?;
        let failed = |error: EndpointError| trouble(id, &error);
        let endpoints = provider.endpoints(&self.http).await.map_err(failed)?;
        if let (Some(said), Some(known)) = (parameter("iss"), &endpoints.issuer)
            && said != known
        {
            // RFC 9207: an answer of another provider must not be mixed up with this one's.
            return Err(Message::public("The answer came from another provider than was asked."));
        }
        if let Some(error) = parameter("error") {
            let description = parameter("error_description").map(str::to_owned);
            return Err(failed(EndpointError::Refused { error: error.to_owned(), description }));
        }
        let code = parameter("code").ok_or_else(|| Message::public("The provider sent no code."))?;
        let callback = self.callback()?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &callback),
            ("code_verifier", verifier),
        ];
        let given = endpoint::token(&self.http, provider, &endpoints, &form).await.map_err(failed)?;
        let token = KeptToken::new(given, &record.scopes);
        self.kept.put(&record.owner.place(), &token, None).await.map_err(|error| error.0)
    }

    fn provider(&self, id: &str) -> Result<&Provider, Message> {
        self.providers
            .get(id)
            .ok_or_else(|| Message::public(format!("The provider `{id}` is no longer configured.")))
    }

    fn callback(&self) -> Result<String, Message> {
        let base = self.base.get().ok_or_else(|| Message::public("The server does not listen yet."))?;
        Ok(format!("{base}/auth/callback"))
    }
}

impl Broker for OAuthBroker {
    fn token<'a>(&'a self, wanted: &'a Wanted<'a>) -> BoxFuture<'a, Result<Brokered, Refusal>> {
        Box::pin(self.find_token(wanted))
    }

    fn start<'a>(&'a self, from: &'a StartFrom<'a>) -> BoxFuture<'a, Result<Started, Message>> {
        Box::pin(self.open(from))
    }

    fn finish<'a>(&'a self, came_back: &'a CameBack<'a>) -> BoxFuture<'a, Result<Finished, Message>> {
        Box::pin(self.close(came_back))
    }

    fn status<'a>(&'a self, challenge: &'a str) -> BoxFuture<'a, Result<ChallengeStatus, Message>> {
        Box::pin(async move {
            let place = challenge_place(challenge);
            let record: Option<ChallengeRecord> = self.kept.find(&place).await.map_err(|error| error.0)?;
            Ok(record.map_or(ChallengeStatus::Failed, |record| record.status.into()))
        })
    }
}

pub(super) fn trouble(provider: &str, error: &EndpointError) -> Message {
    Message::public(format!("The provider `{provider}` gave no token")).caused_by(error)
}

pub(super) fn unavailable(error: StoreError) -> Refusal {
    Refusal::Unavailable { message: error.0, retry_after: None }
}
