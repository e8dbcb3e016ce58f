//! Does the request bring what the tool needs beside its arguments. What it does not bring is taken from
//! the server's own vault where that has it.

use super::settings::Settings;
use crate::call::Caller;
use crate::catalog::Entry;
use crate::refusal::{Challenge, Refusal};
use crate::requirements::Grants;

pub(super) fn require(
    settings: &Settings,
    entry: &Entry,
    caller: &Caller,
    grants: &mut Grants,
) -> Result<(), Refusal> {
    let requires = &entry.requires;
    if requires.is_empty() {
        return Ok(());
    }
    if grants.user_id.is_none() {
        grants.user_id = caller.user.as_deref().map(str::to_owned);
    }
    let mut secrets = Vec::new();
    for id in &requires.secrets {
        match settings.vault.get(id) {
            _ if grants.secret(id).is_some() => {}
            Some(secret) => grants.secrets.push((id.clone(), secret.clone())),
            None => secrets.push(id.clone()),
        }
    }
    let authorization: Vec<Challenge> = requires
        .authorization
        .iter()
        .filter(|needed| grants.token(&needed.id).is_none())
        .map(|needed| Challenge { id: needed.id.clone(), url: None, check_url: None })
        .collect();
    let user_id = requires.user_id && grants.user_id.is_none();
    if authorization.is_empty() && secrets.is_empty() && !user_id {
        Ok(())
    } else {
        Err(Refusal::Challenged { authorization, secrets, user_id })
    }
}
