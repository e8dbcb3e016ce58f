//! What sources offer beside tools, and what callers ask of it: passed on in the words of a protocol that
//! both sides speak, under the same bounds as calls.

use std::sync::Arc;

use tokio::time::timeout;

use super::Gateway;
use super::retries::is_open;
use crate::call::Caller;
use crate::message::Message;
use crate::mount::{Mount, Naming};
use crate::names::{ToolId, plain_name};
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::source::{Relay, Relayed, SourceError};
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
}

impl Gateway {
    /// What sources offer beside tools in the words of `protocol`, in the order of configuration.
    pub fn offers(&self, protocol: &str) -> Vec<Offer> {
        self.shelves(|shelves| {
            let speaking = shelves.iter().filter(|shelf| shelf.beside.said_by(protocol).is_some());
            let offer = |shelf: &super::refresh::Shelf| Offer {
                source: shelf.mount.name.clone(),
                toolkit: shelf.mount.toolkit.clone(),
                naming: shelf.mount.naming,
                said: shelf.beside.clone(),
            };
            speaking.map(offer).collect()
        })
    }

    /// True when no toolset of the caller leaves out `own` of `toolkit`, a tool or what stands beside tools.
    pub fn permits(&self, caller: &Caller, toolkit: &str, own: &str) -> bool {
        let settings = self.settings.load();
        let id = ToolId { toolkit: toolkit.into(), tool: plain_name(own).into(), version: Version::FIRST };
        caller.toolsets().all(|name| {
            settings.toolsets.iter().any(|toolset| *toolset.name == **name && toolset.holds(&id, own))
        })
    }

    /// Asks a source for something other than a call. Dropping the future cancels it.
    pub async fn relay(&self, source: &str, relay: &Relay, progress: &Progress) -> Result<Relayed, Refusal> {
        let limits = self.settings.load().limits;
        let mount = self.mounted(source)?;
        if !mount.is_connected() {
            self.wait_for_mount(&mount).await?;
        }
        let _in_flight = mount.calls.token();
        mount.breaker.check(&limits).map_err(|wait| is_open("source", source, wait))?;
        let since = mount.breaker.begin();
        let message = match timeout(limits.call_timeout, mount.source.relay(relay, progress)).await {
            Ok(Ok(answer)) => {
                mount.breaker.answered();
                return Ok(answer);
            }
            Ok(Err(SourceError::Refused(refusal))) => {
                mount.breaker.answered();
                return Err(refusal);
            }
            Ok(Err(error)) => {
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
    pub async fn listen(&self, source: &str, relay: &Relay, progress: &Progress) -> Result<Relayed, Refusal> {
        let mount = self.mounted(source)?;
        if !mount.is_connected() {
            self.wait_for_mount(&mount).await?;
        }
        let answer = mount.source.relay(relay, progress).await;
        answer.map_err(|error| Refusal::Unavailable { message: error.message(), retry_after: None })
    }

    fn mounted(&self, source: &str) -> Result<Arc<Mount>, Refusal> {
        let found = self.shelves(|shelves| {
            let mut of_name = shelves.iter().map(|shelf| &shelf.mount).filter(|mount| mount.name == source);
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
