//! The way of a user's browser: from our own page to the provider's, and back with a code that becomes a token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use toolmux_core::audit::AuditAction;
use toolmux_core::message::Message;
use toolmux_core::ports::broker::{Finished, OAuthCallback, Proof, StartFrom, Started};
use toolmux_core::secret::Secret;
use url::Url;

use crate::broker::OAuthBroker;
use crate::callback;
use crate::challenge::{
    ChallengeKey, ChallengeRecord, LIFE, REMEMBERED, StateRecord, Status, Step, after, state_place,
    waiting_place,
};
use crate::consent::asked;
use crate::endpoint::{self, EndpointError, TokenResponse};
use crate::resolved_provider::ResolvedProvider;
use crate::seal::random_text;
use crate::sealed_records::KeptToken;

impl OAuthBroker {
    /// The user goes on from the page that says who asks.
    pub(crate) async fn open(&self, from: &StartFrom<'_>) -> Result<Started, Message> {
        let challenge = self.take_form(from).await?;
        let record = self.pending(&challenge).await?;
        if from.proof == Proof::SignIn && record.subject.is_some() {
            return self.begin_sign_in(challenge, from.browser).await;
        }
        record.check_proof(from.proof)?;
        self.begin_consent(challenge, &record, from.browser).await
    }

    /// Leads a browser to where the provider asks for consent. Its user has proved to be who asked by then.
    pub(crate) async fn begin_consent(
        &self,
        challenge: ChallengeKey,
        record: &ChallengeRecord,
        browser: Option<&str>,
    ) -> Result<Started, Message> {
        let resolved = self.resolved_provider(record).await?;
        let scopes = asked(&record.scopes, &resolved);
        let configured = self.providers.configured.get(&record.owner.provider);
        let parameters = configured.map(|known| &known.parameters[..]).unwrap_or_default();
        let step = Step::Consent;
        let request = AuthorizationRequest { challenge, step, resolved: &resolved, scopes, parameters };
        self.begin_authorization(request, browser).await
    }

    /// Sends a browser to the authorization endpoint of a provider (RFC 6749, 4.1.1).
    pub(crate) async fn begin_authorization(
        &self,
        request: AuthorizationRequest<'_>,
        browser: Option<&str>,
    ) -> Result<Started, Message> {
        let (state, verifier) = (random_text(), random_text());
        let browser = browser.filter(|shown| shown.len() == 64).map_or_else(random_text, str::to_owned);
        let url = self.authorize_url(&request, &state, &verifier)?;
        let kept = StateRecord {
            challenge: request.challenge,
            step: request.step,
            verifier,
            browser: Secret::new(browser.as_str()).sha256(),
            scopes: request.scopes,
            issued: request.resolved.issued.clone(),
            callback: request.resolved.callback.clone(),
        };
        self.kept.put(&state_place(&state), &kept, after(LIFE)).await.map_err(|error| error.message)?;
        Ok(Started { url: url.into(), browser: Secret::new(browser) })
    }

    fn authorize_url(
        &self,
        request: &AuthorizationRequest<'_>,
        state: &str,
        verifier: &str,
    ) -> Result<Url, Message> {
        let AuthorizationRequest { resolved, scopes, parameters, .. } = request;
        let challenge = URL_SAFE_NO_PAD.encode(Secret::new(verifier).sha256());
        let mut url = resolved.endpoints.authorize.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &resolved.client.id)
            .append_pair("redirect_uri", &callback::address(self.public_url()?, &resolved.callback))
            .append_pair("state", state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        if !scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &scopes.join(" "));
        }
        if let Some(issued) = &resolved.issued {
            url.query_pairs_mut().append_pair("resource", &issued.resource);
        }
        for (name, value) in *parameters {
            url.query_pairs_mut().append_pair(name, value);
        }
        Ok(url)
    }

    /// The provider sent the browser back. The state is taken before anything is checked, so that an answer is good
    /// once, also when two requests bring it at the same time.
    pub(crate) async fn close(&self, came_back: &OAuthCallback<'_>) -> Result<Finished, Message> {
        let expired = || Message::public("This authorization was completed already, or took too long.");
        let state = parameter(came_back, "state").ok_or_else(expired)?;
        let taken: Option<StateRecord> =
            self.kept.take(&state_place(state)).await.map_err(|error| error.message)?;
        let state = taken.ok_or_else(expired)?;
        if came_back.callback != state.callback {
            return Err(Message::public("The response came from another provider than expected."));
        }
        let place = state.challenge.place();
        let known: Option<ChallengeRecord> = self.kept.find(&place).await.map_err(|error| error.message)?;
        let pending = known.filter(|record| record.status == Status::Pending);
        let mut record = pending.ok_or_else(expired)?;
        let shown = came_back.browser.map(|shown| Secret::new(shown).sha256()).unwrap_or_default();
        if !bool::from(shown.ct_eq(&state.browser)) {
            return Err(Message::public(
                "This authorization was begun in another browser. Open the link again.",
            ));
        }
        if state.step == Step::SignIn {
            self.check_sign_in(&record, &state, came_back).await?;
            let led = self.begin_consent(state.challenge, &record, came_back.browser).await?;
            return Ok(Finished::SignedIn(led));
        }
        // A challenge may have been opened in several browsers, and their answers may arrive at the same time, at two
        // servers. Whoever takes the decision record alone goes on; the others are told that it is decided.
        let decision: Option<()> =
            self.kept.take(&state.challenge.decision_place()).await.map_err(|error| error.message)?;
        decision.ok_or_else(expired)?;
        // The code is redeemed after the decision was taken and before the challenge says so: a crash in between leaves
        // a challenge that stays pending until it expires, never one that is completed without a token.
        let ended = self.exchange(&record, &state, came_back).await;
        record.status = if ended.is_ok() { Status::Completed } else { Status::Failed };
        self.kept.put(&place, &record, after(REMEMBERED)).await.map_err(|error| error.message)?;
        let waiting = waiting_place(&record.owner, &record.scopes);
        self.kept.store.sealed_take(&waiting).await.map_err(|error| error.message)?;
        ended?;
        self.audit(AuditAction::GrantCreated, &record.owner).await.map_err(|error| error.message)?;
        Ok(Finished::Completed { provider: record.owner.provider })
    }

    /// Gets the token for a code, and keeps it.
    async fn exchange(
        &self,
        record: &ChallengeRecord,
        state: &StateRecord,
        came_back: &OAuthCallback<'_>,
    ) -> Result<(), Message> {
        let (resolved, given) = self.redeem(&record.owner.provider, state, came_back).await?;
        if let Err(other) = record.check_account(given.id_token.as_deref(), self.token_issuer.as_deref()) {
            // The token is of an account that nobody here may use. Whether the provider forgets it changes nothing.
            endpoint::revoke(&self.clients, &resolved, &given.access_token).await.ok();
            return Err(other);
        }
        let token = KeptToken::new(given, &state.scopes, state.issued.clone());
        self.kept.put(&record.owner.place(), &token, None).await.map_err(|error| error.message)
    }

    /// Gets what a provider gives for the code that a browser brought.
    pub(crate) async fn redeem(
        &self,
        id: &str,
        state: &StateRecord,
        came_back: &OAuthCallback<'_>,
    ) -> Result<(ResolvedProvider, TokenResponse), Message> {
        let failed = |error: EndpointError| error.message(id);
        // The one that the browser was sent to, whatever the server names by now.
        let resolved = self.providers.resolve_known(id, state.issued.as_ref()).await.map_err(failed)?;
        if resolved.callback != state.callback || is_of_other(&resolved, parameter(came_back, "iss")) {
            return Err(Message::public("The response came from another provider than expected."));
        }
        if let Some(error) = parameter(came_back, "error") {
            let description = parameter(came_back, "error_description").map(str::to_owned);
            return Err(failed(EndpointError::Refused { error: error.to_owned(), description }));
        }
        let code = parameter(came_back, "code");
        let code = code.ok_or_else(|| Message::public("The provider sent no code."))?;
        let redirect_uri = callback::address(self.public_url()?, &state.callback);
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &redirect_uri),
            ("code_verifier", &state.verifier),
        ];
        let given = endpoint::token(&self.clients, &resolved, &form).await;
        if given.as_ref().is_err_and(EndpointError::is_stranger) {
            self.providers.forget_client(&resolved).await.map_err(|error| error.message)?;
        }
        Ok((resolved, given.map_err(failed)?))
    }
}

/// What a provider is asked for, through a browser.
pub(crate) struct AuthorizationRequest<'a> {
    pub(crate) challenge: ChallengeKey,
    pub(crate) step: Step,
    pub(crate) resolved: &'a ResolvedProvider,
    pub(crate) scopes: Vec<String>,
    /// More parameters of the provider's page.
    pub(crate) parameters: &'a [(String, String)],
}

fn parameter<'a>(came_back: &OAuthCallback<'a>, name: &str) -> Option<&'a str> {
    let found = came_back.parameters.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

/// True when an answer is of another provider than the one that was asked, or may be (RFC 9207).
fn is_of_other(resolved: &ResolvedProvider, iss: Option<&str>) -> bool {
    match (iss, &resolved.endpoints.issuer) {
        (Some(said), Some(known)) => said != known,
        (Some(_), None) => false,
        (None, _) => resolved.endpoints.says_issuer,
    }
}
