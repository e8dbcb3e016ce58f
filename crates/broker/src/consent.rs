//! What a user is told before a provider is asked for anything, and the form by which the user goes on. Whoever opens a
//! link need not be who asked for it, so opening it does nothing but show this.

use subtle::ConstantTimeEq;
use toolmux_core::message::Message;
use toolmux_core::ports::broker::{ConsentRequest, StartFrom};
use toolmux_core::secret::Secret;

use crate::broker::OAuthBroker;
use crate::challenge::{ChallengeKey, ChallengeRecord, FormRecord, LIFE, Status, after, form_place};
use crate::resolved_provider::ResolvedProvider;
use crate::seal::random_text;

/// With it, a provider gives a refresh token.
const OFFLINE: &str = "offline_access";

impl OAuthBroker {
    pub(crate) async fn tell(&self, challenge: &str) -> Result<ConsentRequest, Message> {
        let key = ChallengeKey::of(challenge);
        let record = self.pending(&key).await?;
        // The provider is asked already: the page names its host, and says so when it cannot be used.
        let resolved = self.resolved_provider(&record).await?;
        let (form_token, browser) = (random_text(), random_text());
        let form = FormRecord { challenge: key, browser: Secret::new(browser.as_str()).sha256() };
        self.kept.put(&form_place(&form_token), &form, after(LIFE)).await.map_err(|error| error.message)?;
        let scopes = asked(&record.scopes, &resolved);
        let sign_in_host = match &record.subject {
            Some(_) => self.sign_in_host().await,
            None => None,
        };
        Ok(ConsentRequest {
            sign_in_host,
            caller: record.owner.caller,
            subject: record.subject,
            user: record.owner.user,
            needed_by: record.needed_by,
            provider: record.owner.provider,
            provider_host: resolved.endpoints.authorize.host_str().unwrap_or_default().to_owned(),
            scopes,
            form_token: Secret::new(form_token),
            browser: Secret::new(browser),
        })
    }

    /// Uses up the form that the user sent, and refuses one of another page or another browser.
    pub(crate) async fn take_form(&self, from: &StartFrom<'_>) -> Result<ChallengeKey, Message> {
        let stale = || Message::public("This page was used already, or is too old. Open the link again.");
        let key = ChallengeKey::of(from.challenge);
        let taken = self.kept.take(&form_place(from.form_token)).await.map_err(|error| error.message)?;
        let form: FormRecord = taken.ok_or_else(stale)?;
        let shown = from.form_browser.map(|shown| Secret::new(shown).sha256()).unwrap_or_default();
        if form.challenge != key || !bool::from(shown.ct_eq(&form.browser)) {
            return Err(stale());
        }
        Ok(key)
    }

    /// A challenge that nobody has decided yet.
    pub(crate) async fn pending(&self, key: &ChallengeKey) -> Result<ChallengeRecord, Message> {
        let known: Option<ChallengeRecord> =
            self.kept.find(&key.place()).await.map_err(|error| error.message)?;
        known.filter(|record| record.status == Status::Pending).ok_or_else(|| {
            Message::public("This link was used already or has expired. Ask again to get a new one.")
        })
    }

    /// The provider that the user is sent to.
    pub(crate) async fn resolved_provider(
        &self,
        record: &ChallengeRecord,
    ) -> Result<ResolvedProvider, Message> {
        let id = &record.owner.provider;
        self.providers.resolve(id, record.server.as_ref()).await.map_err(|error| error.message(id))
    }

    pub(crate) fn public_url(&self) -> Result<&str, Message> {
        let base = self.base.get().map(String::as_str);
        base.ok_or_else(|| Message::public("The server is not listening yet."))
    }
}

/// The scopes that the user is asked for: those of the tool, or all that the server knows when it names none;
/// and leave to renew the token, where the provider that a server named knows that.
pub(crate) fn asked(scopes: &[String], resolved: &ResolvedProvider) -> Vec<String> {
    let mut asked = if scopes.is_empty() { resolved.scopes.clone() } else { scopes.to_vec() };
    let renews =
        resolved.issued.is_some() && resolved.endpoints.offers.scopes.iter().any(|known| known == OFFLINE);
    if renews && !asked.iter().any(|scope| scope == OFFLINE) {
        asked.push(OFFLINE.to_owned());
    }
    asked
}
