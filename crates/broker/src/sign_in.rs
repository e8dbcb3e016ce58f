//! Signing in at who issues the tokens of callers, where that is a configured provider: a user proves to be the subject
//! that asked without having such a token at hand. What the provider gives is looked at for that alone and not kept.

use toolmux_core::message::Message;
use toolmux_core::ports::broker::{OAuthCallback, Started};

use crate::broker::OAuthBroker;
use crate::challenge::{ChallengeKey, ChallengeRecord, StateRecord, Step};
use crate::flow::AuthorizationRequest;
use crate::identity::SignedIn;
use crate::resolved_provider::ResolvedProvider;

/// With it, a provider says who signed in (OpenID Connect).
const OPENID: &str = "openid";

impl OAuthBroker {
    /// Where users can sign in. A provider that cannot be reached offers it to nobody.
    pub(crate) async fn sign_in_host(&self) -> Option<String> {
        let resolved = self.sign_in_provider().await.ok()?;
        resolved.endpoints.authorize.host_str().map(str::to_owned)
    }

    pub(crate) async fn begin_sign_in(
        &self,
        challenge: ChallengeKey,
        browser: Option<&str>,
    ) -> Result<Started, Message> {
        let resolved = self.sign_in_provider().await?;
        let scopes = vec![OPENID.to_owned()];
        let (step, parameters) = (Step::SignIn, &[][..]);
        let request = AuthorizationRequest { challenge, step, resolved: &resolved, scopes, parameters };
        self.begin_authorization(request, browser).await
    }

    /// Refuses a browser whose user signed in as somebody else.
    pub(crate) async fn check_sign_in(
        &self,
        record: &ChallengeRecord,
        state: &StateRecord,
        came_back: &OAuthCallback<'_>,
    ) -> Result<(), Message> {
        let issuer = self.token_issuer.as_deref().ok_or_else(nowhere)?;
        // The redirect URI of a configured provider goes by its name.
        let (resolved, given) = self.redeem(&state.callback, state, came_back).await?;
        let id_token = given.id_token.as_deref();
        record.check_sign_in(&SignedIn { id_token, issuer, client_id: &resolved.client.id })
    }

    async fn sign_in_provider(&self) -> Result<ResolvedProvider, Message> {
        let issuer = self.token_issuer.as_deref().ok_or_else(nowhere)?;
        let name = self.providers.of_issuer(issuer).ok_or_else(nowhere)?;
        self.providers.resolve(name, None).await.map_err(|error| error.message(name))
    }
}

fn nowhere() -> Message {
    Message::public("No sign-in page is configured. Use a token instead.")
}
