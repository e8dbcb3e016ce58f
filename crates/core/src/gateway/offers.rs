//! What sources offer besides tools, in the words of a protocol that both sides speak: prompts, resources and the like.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::relay_tokens::RelayTokens;
use super::{Gateway, Relays};
use crate::call::Caller;
use crate::refusal::Refusal;
use crate::sources::{Mount, Naming, SourceSlot};
use crate::tool::Passthrough;

/// What one source offers besides tools.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The name of the source in the configuration.
    pub source: String,
    /// The toolkit its tools belong to.
    pub toolkit: Box<str>,
    /// How its tools are named where names are flat.
    pub naming: Naming,
    /// What it offers, in its protocol's words.
    pub passthrough: Passthrough,
    /// The source needs a token that the user of this caller has not allowed, and so says nothing of its own.
    pub locked: bool,
}

impl Relays<'_> {
    /// What sources offer besides tools in the words of `protocol`, in the order of configuration, as far as it is the
    /// same for all callers.
    pub fn offers(self, protocol: &str) -> Vec<Offer> {
        self.0.mounted_offers(protocol).into_iter().map(|(offer, _)| offer).collect()
    }

    /// The same for one caller. What a source shows to the owner of a token is read with the token of the caller's
    /// own user, and with no other. Which items the caller may see is [`Relays::permits`] to say.
    pub async fn offers_for(self, caller: &Caller, protocol: &str) -> Vec<Offer> {
        let offers = self.0.mounted_offers(protocol).into_iter();
        join_all(offers.map(|(offer, mount)| self.0.offer_for(caller, offer, mount))).await
    }

    /// True when no toolset of the caller leaves out `own` of `toolkit`, a prompt or a resource. For lists:
    /// [`Relays::send`] and [`Relays::listen`] ask by themselves.
    pub fn permits(self, caller: &Caller, toolkit: &str, own: &str) -> bool {
        self.0.sources.rules().permits(caller, toolkit, own)
    }
}

impl Gateway {
    fn mounted_offers(&self, protocol: &str) -> Vec<(Offer, Arc<Mount>)> {
        self.sources.slots(|slots| {
            let speaking = slots.iter().filter(|slot| slot.offered.of_protocol(protocol).is_some());
            let offer = |slot: &SourceSlot| Offer {
                source: slot.mount.name.clone(),
                toolkit: slot.mount.toolkit.clone(),
                naming: slot.mount.naming,
                passthrough: slot.offered.clone(),
                locked: false,
            };
            speaking.map(|slot| (offer(slot), Arc::clone(&slot.mount))).collect()
        })
    }

    async fn offer_for(&self, caller: &Caller, offer: Offer, mount: Arc<Mount>) -> Offer {
        if mount.source.authorization().is_none() {
            return offer;
        }
        match timeout(self.limits().list_timeout, self.own_offer(caller, &mount)).await {
            Ok(Ok(passthrough)) => Offer { passthrough, ..offer },
            Ok(Err(refusal)) => {
                let locked = matches!(refusal, Refusal::Challenged { .. });
                tracing::debug!(
                    source = mount.name,
                    locked,
                    "prompts and resources of the source are hidden from the caller"
                );
                Offer { locked, ..offer }
            }
            Err(_elapsed) => offer,
        }
    }

    async fn own_offer(&self, caller: &Caller, mount: &Mount) -> Result<Passthrough, Refusal> {
        let mut tokens = RelayTokens::get(self, caller, mount).await?;
        loop {
            let error = match mount.source.offered_to(&tokens.grants).await {
                Ok(own) => return Ok(own),
                Err(error) => error,
            };
            if !tokens.renewed_after(&error).await? {
                return Err(Refusal::Unavailable { message: error.message(), retry_after: None });
            }
        }
    }
}
