//! The way of a user's browser: to the provider's consent page, and back with a code that becomes a token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use toolmux_core::audit::AuditAction;
use toolmux_core::broker::{CameBack, Finished, StartFrom, Started};
use toolmux_core::message::Message;
use toolmux_core::secret::Secret;
use url::Url;

use super::broker::{OAuthBroker, trouble};
use super::challenge::{
    ChallengeRecord, LIFE, REMEMBERED, StateRecord, Status, after, challenge_place, decision_place,
    state_place, waiting_place,
};
use super::endpoint::{self, EndpointError};
use super::kept::KeptToken;
use super::provider::Met;
use super::seal::random_text;

/// With it, a provider gives a refresh token.
const OFFLINE: &str = "offline_access";

impl OAuthBroker {
    pub(super) async fn open(&self, from: &StartFrom<'_>) -> Result<Started, Message> {
        let known: Option<ChallengeRecord> =
            self.kept.find(&challenge_place(from.challenge)).await.map_err(|error| error.message)?;
        let record = known.filter(|record| record.status == Status::Pending).ok_or_else(|| {
            Message::public("This link was used already or has expired. Ask again to get a new one.")
        })?;
        let id = &record.owner.provider;
        let met = self.providers.meet(id, record.server.as_ref()).await;
        let met = met.map_err(|error| trouble(id, &error))?;
        let scopes = asked(&record.scopes, &met);
        let (state, verifier) = (random_text(), random_text());
        let browser = from.browser.filter(|shown| shown.len() == 64).map_or_else(random_text, str::to_owned);
        let kept = StateRecord {
            challenge: from.challenge.to_owned(),
            verifier: verifier.clone(),
            browser: Secret::new(browser.as_str()).sha256(),
            scopes: scopes.clone(),
            issued: met.issued.clone(),
        };
        self.kept.put(&state_place(&state), &kept, after(LIFE)).await.map_err(|error| error.message)?;
        let url = self.consent_page(&met, id, &scopes, (&state, &verifier))?;
        Ok(Started { url: url.into(), browser: Secret::new(browser) })
    }

    fn consent_page(
        &self,
        met: &Met,
        id: &str,
        scopes: &[String],
        (state, verifier): (&str, &str),
    ) -> Result<Url, Message> {
        let challenge = URL_SAFE_NO_PAD.encode(Secret::new(verifier).sha256());
        let mut url = met.endpoints.authorize.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &met.client.id)
            .append_pair("redirect_uri", &self.callback()?)
            .append_pair("state", state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        if !scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &scopes.join(" "));
        }
        if let Some(issued) = &met.issued {
            url.query_pairs_mut().append_pair("resource", &issued.resource);
        }
        for (name, value) in self.providers.configured.get(id).iter().flat_map(|known| &known.parameters) {
            url.query_pairs_mut().append_pair(name, value);
        }
        Ok(url)
    }

    pub(super) async fn close(&self, came_back: &CameBack<'_>) -> Result<Finished, Message> {
        let parameter = |name: &str| {
            let found = came_back.parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        let expired = || Message::public("This authorization was completed already, or took too long.");
        let state = parameter("state").ok_or_else(expired)?;
        let taken: Option<StateRecord> =
            self.kept.take(&state_place(state)).await.map_err(|error| error.message)?;
        let state = taken.ok_or_else(expired)?;
        let place = challenge_place(&state.challenge);
        let known: Option<ChallengeRecord> = self.kept.find(&place).await.map_err(|error| error.message)?;
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
            self.kept.take(&decision_place(&state.challenge)).await.map_err(|error| error.message)?;
        decision.ok_or_else(expired)?;
        let ended = self.exchange(&record, &state, &parameter).await;
        record.status = if ended.is_ok() { Status::Completed } else { Status::Failed };
        self.kept.put(&place, &record, after(REMEMBERED)).await.map_err(|error| error.message)?;
        let waiting = waiting_place(&record.owner, &record.scopes);
        self.kept.store.sealed_take(&waiting).await.map_err(|error| error.message)?;
        ended?;
        self.audit(AuditAction::GrantCreated, &record.owner).await.map_err(|error| error.message)?;
        Ok(Finished { provider: record.owner.provider })
    }

    async fn exchange<'a>(
        &self,
        record: &ChallengeRecord,
        state: &StateRecord,
        parameter: &impl Fn(&str) -> Option<&'a str>,
    ) -> Result<(), Message> {
        let id = &record.owner.provider;
        let failed = |error: EndpointError| trouble(id, &error);
        // The one that the browser was sent to, whatever the server names by now.
        let met = self.providers.meet_again(id, state.issued.as_ref()).await.map_err(failed)?;
        // RFC 9207: an answer of another provider must not be mixed up with this one's.
        let other = match (parameter("iss"), &met.endpoints.issuer) {
            (Some(said), Some(known)) => said != known,
            (Some(_), None) => false,
            (None, _) => met.endpoints.says_issuer,
        };
        if other {
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
            ("code_verifier", &state.verifier),
        ];
        let given = endpoint::token(&self.http, &met, &form).await;
        if given.as_ref().is_err_and(EndpointError::is_stranger) {
            self.providers.forget_client(&met).await.map_err(|error| error.message)?;
        }
        let token = KeptToken::new(given.map_err(failed)?, &state.scopes, state.issued.clone());
        self.kept.put(&record.owner.place(), &token, None).await.map_err(|error| error.message)
    }

    fn callback(&self) -> Result<String, Message> {
        let base = self.base.get().ok_or_else(|| Message::public("The server does not listen yet."))?;
        Ok(format!("{base}/auth/callback"))
    }
}

/// The scopes that the user is asked for: those of the tool, or all that the server knows when it names none;
/// and leave to renew the token, where the provider that a server named knows that.
fn asked(scopes: &[String], met: &Met) -> Vec<String> {
    let mut asked = if scopes.is_empty() { met.scopes.clone() } else { scopes.to_vec() };
    let renews = met.issued.is_some() && met.endpoints.offers.scopes.iter().any(|known| known == OFFLINE);
    if renews && !asked.iter().any(|scope| scope == OFFLINE) {
        asked.push(OFFLINE.to_owned());
    }
    asked
}
