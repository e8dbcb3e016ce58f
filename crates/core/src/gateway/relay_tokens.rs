//! Tokens for what is not a call: those of the caller's own user, and of nobody else.

use super::{Gateway, require};
use crate::call::Caller;
use crate::ports::source::SourceError;
use crate::refusal::Refusal;
use crate::requirements::{Authorization, Grants};
use crate::sources::Mount;

/// The token that a caller's own user has for a source, and whether it was renewed.
pub(super) struct RelayTokens<'a> {
    gateway: &'a Gateway,
    caller: &'a Caller,
    source: &'a str,
    needed: Option<Authorization>,
    pub(super) grants: Grants,
    is_renewed: bool,
}

impl<'a> RelayTokens<'a> {
    pub(super) async fn get(
        gateway: &'a Gateway,
        caller: &'a Caller,
        mount: &'a Mount,
    ) -> Result<Self, Refusal> {
        let needed = mount.source.authorization();
        let grants = match &needed {
            None => Grants::default(),
            Some(needed) => {
                require::own_token(&gateway.settings.load_full(), caller, needed, &mount.name).await?
            }
        };
        let source = mount.name.as_str();
        Ok(RelayTokens { gateway, caller, source, needed, grants, is_renewed: false })
    }

    /// True when the source turned the token down and there is another: once, as for calls.
    pub(super) async fn renewed_after(&mut self, error: &SourceError) -> Result<bool, Refusal> {
        let (SourceError::WantsToken(wanted), Some(needed)) = (error, &self.needed) else { return Ok(false) };
        if wanted.id != needed.id {
            return Ok(false);
        }
        let settings = self.gateway.settings.load_full();
        let other = require::other_token(&settings, self.caller, &self.grants, wanted, self.source);
        self.grants = other.await?;
        Ok(!std::mem::replace(&mut self.is_renewed, true))
    }
}
