//! What sources offer beside tools, and what callers ask of it: passed on in the words of a protocol that
//! both sides speak, under the same bounds as calls.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::retries::is_open;
use super::{Gateway, require};
use crate::call::Caller;
use crate::message::Message;
use crate::mount::{Mount, Naming};
use crate::names::{ToolId, plain_name};
use crate::ports::source::{Relay, Relayed, SourceError};
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::requirements::{Authorization, Grants};
use crate::tool::Passthrough;
use crate::version::Version;

/// What one source offers beside tools.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The name of the source in the configuration.
    pub source: String,
    /// The toolkit its tools belong to.
    pub toolkit: Box<str>,
    /// How its tools are named where names are flat.
    pub naming: Naming,
    /// What it offers, in its protocol's words.
    pub said: Passthrough,
    /// The source needs a token that the user of this caller has not allowed, and so says nothing of its own.
    pub locked: bool,
}

impl Gateway {
    /// What sources offer beside tools in the words of `protocol`, in the order of configuration, as far as it is the
    /// same for all callers.
    pub fn offers(&self, protocol: &str) -> Vec<Offer> {
        self.mounted_offers(protocol).into_iter().map(|(offer, _)| offer).collect()
    }

    /// The same for one caller. What a source shows to the owner of a token is read with the token of the caller's
    /// own user, and with no other.
    pub async fn offers_for(&self, caller: &Caller, protocol: &str) -> Vec<Offer> {
        let offers = self.mounted_offers(protocol).into_iter();
        join_all(offers.map(|(offer, mount)| self.offer_for(caller, offer, mount))).await
    }

    fn mounted_offers(&self, protocol: &str) -> Vec<(Offer, Arc<Mount>)> {
        self.slots(|slots| {
            let speaking = slots.iter().filter(|slot| slot.beside.said_by(protocol).is_some());
            let offer = |slot: &super::refresh::SourceSlot| Offer {
                source: slot.mount.name.clone(),
                toolkit: slot.mount.toolkit.clone(),
                naming: slot.mount.naming,
                said: slot.beside.clone(),
                locked: false,
            };
            speaking.map(|slot| (offer(slot), Arc::clone(&slot.mount))).collect()
        })
    }

    async fn offer_for(&self, caller: &Caller, offer: Offer, mount: Arc<Mount>) -> Offer {
        if mount.source.authorization().is_none() {
            return offer;
        }
        let limit = self.settings.load().limits.list_timeout;
        match timeout(limit, self.own_offer(caller, &mount)).await {
            Ok(Ok(said)) => Offer { said, ..offer },
            Ok(Err(refusal)) => {
                let locked = matches!(refusal, Refusal::Challenged { .. });
                tracing::debug!(
                    source = mount.name,
                    locked,
                    "the caller is not shown what the source offers"
                );
                Offer { locked, ..offer }
            }
            Err(_elapsed) => offer,
        }
    }

    async fn own_offer(&self, caller: &Caller, mount: &Mount) -> Result<Passthrough, Refusal> {
        let mut tokens = RelayTokens::get(self, caller, mount).await?;
        loop {
            let error = match mount.source.beside_for(&tokens.grants).await {
                Ok(said) => return Ok(said),
                Err(error) => error,
            };
            if !tokens.renewed_after(&error).await? {
                return Err(Refusal::Unavailable { message: error.message(), retry_after: None });
            }
        }
    }

    /// True when no toolset of the caller leaves out `own` of `toolkit`, a tool or what stands beside tools.
    pub fn permits(&self, caller: &Caller, toolkit: &str, own: &str) -> bool {
        let settings = self.settings.load();
        let id = ToolId { toolkit: toolkit.into(), tool: plain_name(own).into(), version: Version::FIRST };
        caller.toolsets().all(|name| {
            settings.toolsets.iter().any(|toolset| *toolset.name == **name && toolset.holds(&id, own))
        })
    }

    /// Asks a source for something other than a call, under the token of the caller's own user where the source
    /// needs one. Dropping the future cancels it.
    pub async fn relay(
        &self,
        caller: &Caller,
        source: &str,
        relay: &Relay,
        progress: &Progress,
    ) -> Result<Relayed, Refusal> {
        let limits = self.settings.load().limits;
        let mount = self.connected(source).await?;
        let _in_flight = mount.calls.token();
        mount.breaker.check(&limits).map_err(|wait| is_open("source", source, wait))?;
        let since = mount.breaker.begin();
        let asking = self.ask_source(caller, &mount, relay, progress);
        let message = match timeout(limits.call_timeout, asking).await {
            Ok(Ok(Ok(answer))) => {
                mount.breaker.answered();
                return Ok(answer);
            }
            // Before the source was asked, or for what it said of the token.
            Ok(Err(refusal)) => return Err(refusal),
            Ok(Ok(Err(SourceError::Refused(refusal)))) => {
                mount.breaker.answered();
                return Err(refusal);
            }
            Ok(Ok(Err(error @ SourceError::WantsToken(_)))) => {
                mount.breaker.answered();
                error.message()
            }
            Ok(Ok(Err(error))) => {
                mount.breaker.failed(since, &limits);
                error.message()
            }
            // As for calls, a time limit that passed is no failure of the source.
            Err(_elapsed) => {
                Message::public(format!("The source did not answer within {:?}", limits.call_timeout))
            }
        };
        Err(Refusal::Unavailable { message, retry_after: None })
    }

    /// The same for what lasts: it has no time limit, and a source is closed without waiting for it.
    pub async fn listen(
        &self,
        caller: &Caller,
        source: &str,
        relay: &Relay,
        progress: &Progress,
    ) -> Result<Relayed, Refusal> {
        let mount = self.connected(source).await?;
        let answer = self.ask_source(caller, &mount, relay, progress).await?;
        answer.map_err(|error| Refusal::Unavailable { message: error.message(), retry_after: None })
    }

    /// Whether the caller could ask a source: a challenge when its user must allow a token first.
    pub async fn check_relay(&self, caller: &Caller, source: &str) -> Result<(), Refusal> {
        let mount = self.mounted(source)?;
        RelayTokens::get(self, caller, &mount).await.map(drop)
    }

    async fn ask_source(
        &self,
        caller: &Caller,
        mount: &Mount,
        relay: &Relay,
        progress: &Progress,
    ) -> Result<Result<Relayed, SourceError>, Refusal> {
        let mut tokens = RelayTokens::get(self, caller, mount).await?;
        loop {
            match mount.source.relay(relay, &tokens.grants, progress).await {
                Err(error) if tokens.renewed_after(&error).await? => {}
                answer => return Ok(answer),
            }
        }
    }

    async fn connected(&self, source: &str) -> Result<Arc<Mount>, Refusal> {
        let mount = self.mounted(source)?;
        if !mount.is_connected() {
            self.wait_for_mount(&mount).await?;
        }
        Ok(mount)
    }

    fn mounted(&self, source: &str) -> Result<Arc<Mount>, Refusal> {
        let found = self.slots(|slots| {
            let mut of_name = slots.iter().map(|slot| &slot.mount).filter(|mount| mount.name == source);
            let first = of_name.clone().next();
            // A source made anew stands before the one it replaces, which serves until then.
            of_name.find(|mount| mount.is_connected()).or(first).cloned()
        });
        found.ok_or_else(|| Refusal::Unavailable {
            message: Message::public(format!("There is no source `{source}`")),
            retry_after: None,
        })
    }
}

/// The token that a caller's own user has for a source, and whether it was renewed.
struct RelayTokens<'a> {
    gateway: &'a Gateway,
    caller: &'a Caller,
    source: &'a str,
    needed: Option<Authorization>,
    grants: Grants,
    is_renewed: bool,
}

impl<'a> RelayTokens<'a> {
    async fn get(gateway: &'a Gateway, caller: &'a Caller, mount: &'a Mount) -> Result<Self, Refusal> {
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
    async fn renewed_after(&mut self, error: &SourceError) -> Result<bool, Refusal> {
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
