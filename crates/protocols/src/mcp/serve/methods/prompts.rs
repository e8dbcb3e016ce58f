//! `prompts/list` and `prompts/get`.

use serde_json::value::RawValue;
use toolmux_core::gateway::Offer;
use toolmux_core::names::flat_name;
use toolmux_core::sources::Naming;

use super::offers::{Offers, name_of, permitted};
use super::relay::{Caching, FoundItem, relay};
use crate::mcp::members::Members;
use crate::mcp::prompts_and_resources::PromptsAndResources;
use crate::mcp::serve::request::{Exchange, relayed_params};
use crate::mcp::wire::{Fault, INVALID_PARAMS, Reply};

pub(in crate::mcp) async fn list(exchange: Exchange) -> Reply {
    let offers = match Offers::of(&exchange).await {
        Ok(offers) => offers,
        Err(reply) => return reply,
    };
    let renamed = |offer: &Offer, prompt: &RawValue| {
        let own = name_of(prompt)?;
        let mut members = Members::read(prompt)?;
        members.put("name", &flat(offer, &own));
        permitted(&exchange, offer, &own).then(|| members.write())
    };
    let prompts = offers.collect(|lists| lists.prompts, renamed);
    offers.page(&exchange, "prompts", prompts)
}

/// Dropping the future cancels what the source was asked.
pub(in crate::mcp) async fn get(exchange: Exchange) -> Reply {
    let offers = match Offers::of(&exchange).await {
        Ok(offers) => offers,
        Err(reply) => return reply,
    };
    let name = exchange.params()?.name.as_deref().unwrap_or_default();
    let found = find(&exchange, &offers.all, name)?;
    let params = relayed_params::with(&exchange, |members| members.put("name", &*found.item));
    relay(&exchange, found, params, Caching::Unsaid).await
}

/// The source of a prompt and its own name for it. One that the caller's toolsets leave out is found too, where no other
/// has the name: the gateway refuses and records it, and the caller is told that it does not exist.
pub(in crate::mcp) fn find(exchange: &Exchange, offers: &[Offer], name: &str) -> Result<FoundItem, Fault> {
    let missing = || Fault::new(INVALID_PARAMS, format!("Prompt `{name}` was not found"));
    let found = |offer: &Offer, item| FoundItem { source: offer.source.clone(), item, missing: missing() };
    let mut left_out = None;
    for offer in offers {
        for prompt in PromptsAndResources::read(&offer.passthrough).prompts.unwrap_or_default() {
            let own = name_of(prompt).unwrap_or_default();
            if flat(offer, &own) != name {
                continue;
            }
            if permitted(exchange, offer, &own) {
                return Ok(found(offer, own));
            }
            left_out = Some(found(offer, own));
        }
    }
    // A source that lists nothing before its user allows a token says itself whether it has the prompt, and its
    // user is asked first.
    let locked =
        offers.iter().filter(|offer| offer.locked && offer.naming == Naming::Prefixed).find_map(|offer| {
            let own = name.strip_prefix(&*offer.toolkit)?.strip_prefix('_')?;
            permitted(exchange, offer, own).then(|| found(offer, own.to_owned()))
        });
    locked.or(left_out).ok_or_else(missing)
}

fn flat(offer: &Offer, own: &str) -> String {
    flat_name((offer.naming == Naming::Prefixed).then_some(&*offer.toolkit), own)
}
