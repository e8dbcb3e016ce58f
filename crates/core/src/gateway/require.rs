//! Does the request bring what the tool needs besides its arguments. What it does not bring is taken from
//! the server's own vault and from the broker of tokens, where those have it and configuration names it for the tool
//! or its source. What a source says that its tools require gives it nothing by itself: anybody could ask for
//! anything.

use super::settings::Settings;
use crate::call::Caller;
use crate::catalog::Entry;
use crate::message::Message;
use crate::ports::broker::{TokenReply, TokenRequest};
use crate::ports::source::SourceError;
use crate::refusal::{Challenge, Refusal};
use crate::requirements::{AskedBy, Authorization, Grants};

/// Whether the caller may act for the user that the request names.
pub(super) fn check_user(caller: &Caller, grants: &Grants) -> Result<(), Refusal> {
    match &grants.user_id {
        Some(user) if !caller.may_act_for(user) => {
            let words = "The token does not let its holder act for another user";
            let developer = "the `user_id` of the request is not the subject of the token, and its claim `act_as` \
                             does not name it";
            Err(Refusal::Unauthenticated(Message::public(words).developer(developer)))
        }
        _ => Ok(()),
    }
}

/// Completes the grants, or says what is missing.
pub(super) async fn require(
    settings: &Settings,
    entry: &Entry,
    caller: &Caller,
    grants: &mut Grants,
) -> Result<(), Refusal> {
    let requires = &entry.requires;
    if grants.user_id.is_none() {
        grants.user_id = caller.user.as_deref().map(str::to_owned);
    }
    let mut secrets = Vec::new();
    for id in &requires.secrets {
        match settings.vault.get(id).filter(|_| entry.may_have_secret(id)) {
            _ if grants.secret(id).is_some() => {}
            Some(secret) => grants.supply_secret(id, secret.clone()),
            None => secrets.push(id.clone()),
        }
    }
    let mut authorization = Vec::new();
    for needed in &requires.authorization {
        if grants.token(&needed.id).is_some() {
            continue;
        }
        let brokered = if entry.may_have_token(&needed.id) {
            ask(settings, caller, grants, needed, &needed_by(entry)).await?
        } else {
            TokenReply::UnknownProvider
        };
        match brokered {
            TokenReply::Token(token) => grants.supply_token(&needed.id, token),
            TokenReply::Challenge(challenge) => authorization.push(challenge),
            TokenReply::UnknownProvider if requires.asked_by == AskedBy::Source => {}
            TokenReply::UnknownProvider => authorization.push(unknown(needed)),
        }
    }
    let mut user_id = requires.user_id && grants.user_id.is_none();
    if requires.asked_by == AskedBy::Source {
        // The other side asks for what we cannot give, in its own words.
        secrets.clear();
        user_id = false;
    }
    if authorization.is_empty() && secrets.is_empty() && !user_id {
        Ok(())
    } else {
        Err(Refusal::Challenged { authorization, secrets, user_id })
    }
}

/// The grants of a call with another token in place of one that its source turned down, or where the user can
/// allow it.
pub(super) async fn other_token(
    settings: &Settings,
    caller: &Caller,
    grants: &Grants,
    needed: &Authorization,
    needed_by: &str,
) -> Result<Grants, Refusal> {
    match ask(settings, caller, grants, needed, needed_by).await? {
        TokenReply::Token(token) if grants.token(&needed.id) == Some(&token) => Err(Refusal::Unavailable {
            message: SourceError::WantsToken(needed.clone()).message(),
            retry_after: None,
        }),
        TokenReply::Token(token) => {
            let mut grants = grants.clone();
            grants.supply_token(&needed.id, token);
            Ok(grants)
        }
        TokenReply::Challenge(challenge) => Err(challenged(challenge)),
        TokenReply::UnknownProvider => Err(not_given(needed)),
    }
}

/// The grants for what is not a call: the token of the caller's own user, or where that user can allow it.
pub(super) async fn own_token(
    settings: &Settings,
    caller: &Caller,
    needed: &Authorization,
    needed_by: &str,
) -> Result<Grants, Refusal> {
    let mut grants = Grants { user_id: caller.user.as_deref().map(str::to_owned), ..Grants::default() };
    match ask(settings, caller, &grants, needed, needed_by).await? {
        TokenReply::Token(token) => {
            grants.supply_token(&needed.id, token);
            Ok(grants)
        }
        TokenReply::Challenge(challenge) => Err(challenged(challenge)),
        TokenReply::UnknownProvider => Err(not_given(needed)),
    }
}

/// The refusal where only the caller can bring the token.
pub(super) fn not_given(needed: &Authorization) -> Refusal {
    challenged(unknown(needed))
}

fn challenged(challenge: Challenge) -> Refusal {
    Refusal::Challenged { authorization: vec![challenge], secrets: Vec::new(), user_id: false }
}

async fn ask(
    settings: &Settings,
    caller: &Caller,
    grants: &Grants,
    needed: &Authorization,
    needed_by: &str,
) -> Result<TokenReply, Refusal> {
    let Some(broker) = &settings.broker else { return Ok(TokenReply::UnknownProvider) };
    let user = grants.user_id.as_deref().unwrap_or_default();
    let subject = caller.subject();
    broker.token(&TokenRequest { caller: caller.name(), subject, needed_by, user, needed }).await
}

/// A tool as the user who is asked for a token reads it, `GitHub.whoami`.
pub(super) fn needed_by(entry: &Entry) -> String {
    format!("{}.{}", entry.id.toolkit, entry.id.tool)
}

fn unknown(needed: &Authorization) -> Challenge {
    Challenge { id: needed.id.clone(), url: None, check_url: None }
}
