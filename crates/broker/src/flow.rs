//! The way of a user's browser: from our own page to the provider's, and back with a code that becomes a token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use toolmux_core::audit::AuditAction;
use toolmux_core::broker::{Finished, OAuthCallback, Proof, StartFrom, Started};
use toolmux_core::message::Message;
use toolmux_core::secret::Secret;
use url::Url;

use crate::broker::{OAuthBroker, trouble};
use crate::callback;
use crate::challenge::{
    ChallengeKey, ChallengeRecord, LIFE, REMEMBERED, StateRecord, Status, Step, after, state_place,
    waiting_place,
};
use crate::consent::asked;
use crate::endpoint::{self, EndpointError, TokenResponse};
use crate::provider::ResolvedProvider;
use crate::seal::random_text;
use crate::sealed_records::KeptToken;

impl OAuthBroker {
    /// The user goes on from the page that says who asks.
    pub(crate) async fn open(&self, from: &StartFrom<'_>) -> Result<Started, Message> {
        let challenge = self.take_form(from).await?;
        let record = self.pending(&challenge).await?;
        if from.proof == Proof::SignIn && record.subject.is_some() {
            return self.lead_to_sign_in(challenge, from.browser).await;
        }
        record.check_proof(from.proof)?;
        self.lead_to_consent(challenge, &record, from.browser).await
    }

    /// Leads a browser to where the provider asks for consent. Its user has proved to be who asked by then.
    pub(crate) async fn lead_to_consent(
        &self,
        challenge: ChallengeKey,
        record: &ChallengeRecord,
        browser: Option<&str>,
    ) -> Result<Started, Message> {
        let met = self.met(record).await?;
        let scopes = asked(&record.scopes, &met);
        let configured = self.providers.configured.get(&record.owner.provider);
        let parameters = configured.map(|known| &known.parameters[..]).unwrap_or_default();
        self.lead(Way { challenge, step: Step::Consent, met: &met, scopes, parameters }, browser).await
    }

    pub(crate) async fn lead(&self, way: Way<'_>, browser: Option<&str>) -> Result<Started, Message> {
        let (state, verifier) = (random_text(), random_text());
        let browser = browser.filter(|shown| shown.len() == 64).map_or_else(random_text, str::to_owned);
        let url = self.authorize_url(&way, &state, &verifier)?;
        let kept = StateRecord {
            challenge: way.challenge,
            step: way.step,
            verifier,
            browser: Secret::new(browser.as_str()).sha256(),
            scopes: way.scopes,
            issued: way.met.issued.clone(),
            callback: way.met.callback.clone(),
        };
        self.kept.put(&state_place(&state), &kept, after(LIFE)).await.map_err(|error| error.message)?;
        Ok(Started { url: url.into(), browser: Secret::new(browser) })
    }

    fn authorize_url(&self, way: &Way<'_>, state: &str, verifier: &str) -> Result<Url, Message> {
        let Way { met, scopes, parameters, .. } = way;
        let challenge = URL_SAFE_NO_PAD.encode(Secret::new(verifier).sha256());
        let mut url = met.endpoints.authorize.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &met.client.id)
            .append_pair("redirect_uri", &callback::address(self.public_url()?, &met.callback))
            .append_pair("state", state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        if !scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &scopes.join(" "));
        }
        if let Some(issued) = &met.issued {
            url.query_pairs_mut().append_pair("resource", &issued.resource);
        }
        for (name, value) in *parameters {
            url.query_pairs_mut().append_pair(name, value);
        }
        Ok(url)
    }

    pub(crate) async fn close(&self, came_back: &OAuthCallback<'_>) -> Result<Finished, Message> {
        let expired = || Message::public("This authorization was completed already, or took too long.");
        let state = parameter(came_back, "state").ok_or_else(expired)?;
        let taken: Option<StateRecord> =
            self.kept.take(&state_place(state)).await.map_err(|error| error.message)?;
        let state = taken.ok_or_else(expired)?;
        if came_back.callback != state.callback {
            return Err(Message::public("The answer came from another provider than was asked."));
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
            let led = self.lead_to_consent(state.challenge, &record, came_back.browser).await?;
            return Ok(Finished::SignedIn(led));
        }
        // A challenge may have been opened several times; it is decided once.
        let decision: Option<()> =
            self.kept.take(&state.challenge.decision_place()).await.map_err(|error| error.message)?;
        decision.ok_or_else(expired)?;
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
        let (met, given) = self.redeem(&record.owner.provider, state, came_back).await?;
        if let Err(other) = record.check_account(given.id_token.as_deref(), self.token_issuer.as_deref()) {
            // The token is of an account that nobody here may use. Whether the provider forgets it changes nothing.
            endpoint::revoke(&self.clients, &met, &given.access_token).await.ok();
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
        let failed = |error: EndpointError| trouble(id, &error);
        // The one that the browser was sent to, whatever the server names by now.
        let met = self.providers.meet_again(id, state.issued.as_ref()).await.map_err(failed)?;
        if met.callback != state.callback || is_of_other(&met, parameter(came_back, "iss")) {
            return Err(Message::public("The answer came from another provider than was asked."));
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
        let given = endpoint::token(&self.clients, &met, &form).await;
        if given.as_ref().is_err_and(EndpointError::is_stranger) {
            self.providers.forget_client(&met).await.map_err(|error| error.message)?;
        }
        Ok((met, given.map_err(failed)?))
    }
}

/// Where a browser is led, and what for.
pub(crate) struct Way<'a> {
    pub(crate) challenge: ChallengeKey,
    pub(crate) step: Step,
    pub(crate) met: &'a ResolvedProvider,
    pub(crate) scopes: Vec<String>,
    /// More parameters of the provider's page.
    pub(crate) parameters: &'a [(String, String)],
}

fn parameter<'a>(came_back: &OAuthCallback<'a>, name: &str) -> Option<&'a str> {
    let found = came_back.parameters.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

/// True when an answer is of another provider than the one that was asked, or may be (RFC 9207).
fn is_of_other(met: &ResolvedProvider, iss: Option<&str>) -> bool {
    match (iss, &met.endpoints.issuer) {
        (Some(said), Some(known)) => said != known,
        (Some(_), None) => false,
        (None, _) => met.endpoints.says_issuer,
    }
}
