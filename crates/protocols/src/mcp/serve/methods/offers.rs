//! What MCP sources have besides tools: prompts, resources and completions, under the names of the one rule that tools
//! have too.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde_json::value::RawValue;
use toolmux_core::gateway::{Gateway, Offer};
use toolmux_core::json_text::RawJson;

use crate::mcp::MCP;
use crate::mcp::prompts_and_resources::PromptsAndResources;
use crate::mcp::serve::encode::page::{Freshness, page};
use crate::mcp::serve::questions::suspended;
use crate::mcp::serve::request::{Capability, Exchange};
use crate::mcp::wire::{Fault, Params, Reply};

/// What any source has besides tools.
#[derive(Default)]
pub(in crate::mcp) struct Offered(Vec<Capability>);

impl Offered {
    pub(in crate::mcp) fn of(gateway: &Arc<Gateway>) -> Self {
        let mut offered = Offered::default();
        for offer in gateway.relays().offers(MCP) {
            let lists = PromptsAndResources::read(&offer.passthrough);
            let has = [
                (Capability::Prompts, lists.prompts.is_some()),
                (Capability::Resources, lists.resources.is_some() || lists.templates.is_some()),
                (Capability::Completions, lists.completions),
                (Capability::Subscriptions, lists.subscriptions),
            ];
            offered.0.extend(has.into_iter().filter_map(|(capability, has)| has.then_some(capability)));
        }
        offered
    }

    pub(in crate::mcp) fn has(&self, capability: Capability) -> bool {
        self.0.contains(&capability)
    }

    /// Refuses a method that needs what no source has.
    pub(in crate::mcp) fn check(&self, exchange: &Exchange) -> Result<(), Fault> {
        match exchange.request.method.needs {
            Some(needed) if !self.has(needed) => Err(Fault::no_method(&exchange.request.name)),
            Some(_) | None => Ok(()),
        }
    }
}

/// What the sources offer to the caller of a request.
pub(in crate::mcp) struct Offers {
    pub(in crate::mcp) all: Vec<Offer>,
    freshness: Freshness,
}

impl Offers {
    /// Waits for sources that are connecting for the first time. Gives the answer at once when there is one: to a
    /// request that goes on with a call which asked something, and to one for what no source has.
    pub(in crate::mcp) async fn of(exchange: &Exchange) -> Result<Self, Reply> {
        exchange.gateway.sources().wait_until_started().await;
        let freshness = Freshness::of(&exchange.gateway);
        let offered = Offered::of(&exchange.gateway);
        let params = exchange.params().map_err(Err)?;
        if let Some(state) = suspended::named(params, exchange) {
            return Err(suspended::resume(state, params, exchange).await);
        }
        offered.check(exchange).map_err(Err)?;
        let all = exchange.gateway.relays().offers_for(&exchange.peer.caller, MCP).await;
        Ok(Offers { all, freshness })
    }

    /// The items of a list that `keep` leaves in, as it writes them.
    pub(in crate::mcp) fn collect(
        &self,
        list: for<'a> fn(PromptsAndResources<'a>) -> Option<Vec<&'a RawValue>>,
        keep: impl Fn(&Offer, &RawValue) -> Option<RawJson>,
    ) -> Vec<RawJson> {
        let mut all = Vec::new();
        for offer in &self.all {
            let items = list(PromptsAndResources::read(&offer.passthrough)).unwrap_or_default();
            all.extend(items.into_iter().filter_map(|item| keep(offer, item)));
        }
        all
    }

    /// The page of a list that the request asks for.
    pub(in crate::mcp) fn page(
        &self,
        exchange: &Exchange,
        member: &'static str,
        items: Vec<RawJson>,
    ) -> Reply {
        let cursor = exchange.params()?.cursor.as_deref();
        page(member, items.into_iter(), cursor, exchange.peer.revision, self.freshness)
    }
}

/// Whether the caller may use something of a source, by its own name there.
pub(in crate::mcp) fn permitted(exchange: &Exchange, offer: &Offer, own: &str) -> bool {
    exchange.gateway.relays().permits(&exchange.peer.caller, &offer.toolkit, own)
}

/// The `name` of an item of a list.
pub(in crate::mcp) fn name_of(item: &RawValue) -> Option<String> {
    Params::read(Some(item)).ok()?.name.map(Into::into)
}

/// The `uri` of an item of a list.
pub(in crate::mcp) fn uri_of(item: &RawValue) -> Option<String> {
    Params::read(Some(item)).ok()?.uri.map(Into::into)
}

/// A number that changes when a list does.
pub(in crate::mcp) fn fingerprint(
    gateway: &Arc<Gateway>,
    list: for<'a> fn(PromptsAndResources<'a>) -> Vec<&'a RawValue>,
) -> u64 {
    let mut hasher = DefaultHasher::new();
    for offer in gateway.relays().offers(MCP) {
        let lists = PromptsAndResources::read(&offer.passthrough);
        lists.changes.hash(&mut hasher);
        for item in list(lists) {
            item.get().hash(&mut hasher);
        }
    }
    hasher.finish()
}
