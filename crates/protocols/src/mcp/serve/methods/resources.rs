//! `resources/list`, `resources/templates/list` and `resources/read`, and which source has a resource.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::call::Caller;
use toolmux_core::gateway::{Gateway, Offer};

use super::offers::{Offers, permitted, uri_of};
use super::relay::{Caching, FoundItem, LEGACY_NOT_FOUND, relay};
use crate::mcp::prompts_and_resources::PromptsAndResources;
use crate::mcp::serve::request::{Exchange, relayed_params};
use crate::mcp::template::{MOST_URI_BYTES, matches};
use crate::mcp::wire::{Fault, INVALID_PARAMS, Reply};

pub(in crate::mcp) async fn list(exchange: Exchange) -> Reply {
    let offers = match Offers::of(&exchange).await {
        Ok(offers) => offers,
        Err(reply) => return reply,
    };
    let kept = |offer: &Offer, resource: &RawValue| {
        permitted(&exchange, offer, &uri_of(resource)?).then(|| resource.to_owned())
    };
    let resources = offers.collect(|lists| lists.resources, kept);
    offers.page(&exchange, "resources", resources)
}

pub(in crate::mcp) async fn list_templates(exchange: Exchange) -> Reply {
    let offers = match Offers::of(&exchange).await {
        Ok(offers) => offers,
        Err(reply) => return reply,
    };
    let kept = |offer: &Offer, template: &RawValue| {
        permitted(&exchange, offer, &template_of(template)?).then(|| template.to_owned())
    };
    let templates = offers.collect(|lists| lists.templates, kept);
    offers.page(&exchange, "resourceTemplates", templates)
}

/// Dropping the future cancels what the source was asked.
pub(in crate::mcp) async fn read(exchange: Exchange) -> Reply {
    let offers = match Offers::of(&exchange).await {
        Ok(offers) => offers,
        Err(reply) => return reply,
    };
    let uri = exchange.params()?.uri.as_deref().unwrap_or_default();
    let found = find(&exchange, &offers.all, uri)?;
    relay(&exchange, found, relayed_params::unchanged(&exchange), Caching::Said).await
}

/// The source of a resource that a request names; one that the caller's toolsets leave out as for prompts.
pub(in crate::mcp) fn find(exchange: &Exchange, offers: &[Offer], uri: &str) -> Result<FoundItem, Fault> {
    check_length(uri)?;
    let offer = holder(&exchange.gateway, &exchange.peer.caller, offers, uri);
    let offer = offer.ok_or_else(|| not_found(exchange, uri))?;
    let (source, item) = (offer.source.clone(), uri.to_owned());
    Ok(FoundItem { source, item, missing: not_found(exchange, uri) })
}

/// Refuses an address that is longer than any resource has: templates are not even compared with it.
pub(in crate::mcp) fn check_length(uri: &str) -> Result<(), Fault> {
    if uri.len() <= MOST_URI_BYTES {
        return Ok(());
    }
    let length = uri.len();
    Err(Fault::new(
        INVALID_PARAMS,
        format!("`uri` has {length} bytes, but at most {MOST_URI_BYTES} are accepted"),
    ))
}

/// The source of a resource: one from which the caller may have it, or else any, which the gateway refuses.
pub(in crate::mcp) fn holder<'a>(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    offers: &'a [Offer],
    uri: &str,
) -> Option<&'a Offer> {
    let permitted = permitted_holder(gateway, caller, offers, uri);
    // Who may have everything has been through all of them.
    let left_out = || caller.is_limited().then(|| holder_of(&offers.iter().collect::<Vec<_>>(), uri));
    permitted.or_else(|| left_out().flatten())
}

/// The source from which the caller may have a resource.
pub(in crate::mcp) fn permitted_holder<'a>(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    offers: &'a [Offer],
    uri: &str,
) -> Option<&'a Offer> {
    let permitted = |offer: &&Offer| gateway.relays().permits(caller, &offer.toolkit, uri);
    holder_of(&offers.iter().filter(permitted).collect::<Vec<_>>(), uri)
}

/// One that lists it, or else one with a template that it fits.
fn holder_of<'a>(allowed: &[&'a Offer], uri: &str) -> Option<&'a Offer> {
    let listed = |offer: &&Offer| {
        let resources = PromptsAndResources::read(&offer.passthrough).resources.unwrap_or_default();
        resources.iter().any(|resource| uri_of(resource).as_deref() == Some(uri))
    };
    let fitting = |offer: &&Offer| {
        let templates = PromptsAndResources::read(&offer.passthrough).templates.unwrap_or_default();
        templates.iter().any(|t| template_of(t).is_some_and(|template| matches(&template, uri)))
    };
    let has_any = |offer: &&Offer| {
        let lists = PromptsAndResources::read(&offer.passthrough);
        lists.resources.is_some() || lists.templates.is_some()
    };
    let only_of = |which: fn(&Offer) -> bool| {
        let mut having = allowed.iter().copied().filter(|offer| which(offer) && has_any(offer));
        having.next().filter(|_| having.next().is_none())
    };
    let found = allowed.iter().copied().find(|offer| listed(offer));
    let found = found.or_else(|| allowed.iter().copied().find(|offer| fitting(offer)));
    // One that lists nothing before its user allows a token may have it too: its user is asked first.
    found.or_else(|| only_of(|_| true)).or_else(|| only_of(|offer| offer.locked))
}

pub(in crate::mcp) fn not_found(exchange: &Exchange, uri: &str) -> Fault {
    let code = if exchange.peer.revision.is_modern() { INVALID_PARAMS } else { LEGACY_NOT_FOUND };
    Fault::with_data(code, format!("Resource `{uri}` was not found"), &json!({ "uri": uri }))
}

fn template_of(item: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Template {
        #[serde(rename = "uriTemplate")]
        template: String,
    }
    serde_json::from_str(item.get()).ok().map(|item: Template| item.template)
}
