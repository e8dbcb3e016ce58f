//! Prompts, resources and completions: what MCP sources have beside tools, under the names of the one rule
//! that tools have too.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolmux_core::BoxFuture;
use toolmux_core::call::Caller;
use toolmux_core::gateway::{Gateway, Offer};
use toolmux_core::json_text::RawJson;
use toolmux_core::names::flat_name;
use toolmux_core::ports::source::{Relay, Relayed};
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::sources::Naming;

use super::exchange::{Exchange, Peer};
use super::page::{Freshness, cacheable, page};
use super::running::RunningExchange;
use super::suspended::Suspended;
use super::{encode, upstream};
use crate::mcp::MCP;
use crate::mcp::members::Members;
use crate::mcp::prompts_and_resources::PromptsAndResources;
use crate::mcp::template::{MOST_URI_BYTES, matches};
use crate::mcp::wire::{Fault, INVALID_PARAMS, Params, Reply, text_of};

/// Legacy servers had a code of their own for a resource that is not there.
const LEGACY_NOT_FOUND: i64 = -32002;

/// What there is beside tools.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub(super) struct Offered {
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) completions: bool,
    pub(super) subscriptions: bool,
}

impl Offered {
    pub(super) fn of(gateway: &Gateway) -> Self {
        let mut offered = Offered::default();
        for offer in gateway.offers(MCP) {
            let beside = PromptsAndResources::read(&offer.said);
            offered.prompts |= beside.prompts.is_some();
            offered.resources |= beside.resources.is_some() || beside.templates.is_some();
            offered.completions |= beside.completions;
            offered.subscriptions |= beside.subscriptions;
        }
        offered
    }
}

/// Answers what is about prompts, resources and completions. Dropping the future cancels it.
pub(super) async fn answer(exchange: &Exchange) -> Reply {
    exchange.gateway.sources().wait_until_started().await;
    let freshness = Freshness::of(&exchange.gateway);
    let offered = Offered::of(&exchange.gateway);
    let params = exchange.params()?;
    if let Some(state) = Suspended::named(&params, exchange) {
        return Suspended::resume(state, &params, exchange).await;
    }
    let method = exchange.asked.method.as_str();
    let there = match method {
        "prompts/list" | "prompts/get" => offered.prompts,
        "completion/complete" => offered.completions,
        _ => offered.resources,
    };
    if !there {
        return Err(Fault::no_method(method));
    }
    let list = |member, items: Vec<RawJson>| {
        let style = (exchange.peer.revision, freshness);
        page(member, items.into_iter(), params.cursor.as_deref(), style)
    };
    let offers = exchange.gateway.offers_for(&exchange.peer.caller, MCP).await;
    match method {
        "prompts/list" => list("prompts", prompts(exchange, &offers)),
        "resources/list" => list("resources", resources(exchange, &offers)),
        "resources/templates/list" => list("resourceTemplates", templates(exchange, &offers)),
        "prompts/get" => {
            let found = prompt(exchange, &offers, params.name.as_deref().unwrap_or_default())?;
            let params = exchange.told(|members| members.put("name", &*found.item));
            relay(exchange, found, params).await
        }
        "completion/complete" => complete(exchange, &offers).await,
        _ => {
            let found = resource(exchange, &offers, params.uri.as_deref().unwrap_or_default())?;
            relay(exchange, found, exchange.told_whole()).await
        }
    }
}

fn prompts(exchange: &Exchange, offers: &[Offer]) -> Vec<RawJson> {
    let renamed = |offer: &Offer, prompt: &RawValue| {
        let own = name_of(prompt)?;
        let mut members = Members::read(prompt)?;
        members.put("name", &flat(offer, &own));
        permitted(exchange, offer, &own).then(|| members.write())
    };
    collect(offers, |beside| beside.prompts, renamed)
}

fn resources(exchange: &Exchange, offers: &[Offer]) -> Vec<RawJson> {
    let kept = |offer: &Offer, resource: &RawValue| {
        permitted(exchange, offer, &uri_of(resource)?).then(|| resource.to_owned())
    };
    collect(offers, |beside| beside.resources, kept)
}

fn templates(exchange: &Exchange, offers: &[Offer]) -> Vec<RawJson> {
    let kept = |offer: &Offer, template: &RawValue| {
        permitted(exchange, offer, &template_of(template)?).then(|| template.to_owned())
    };
    collect(offers, |beside| beside.templates, kept)
}

fn collect(
    offers: &[Offer],
    part: for<'a> fn(PromptsAndResources<'a>) -> Option<Vec<&'a RawValue>>,
    keep: impl Fn(&Offer, &RawValue) -> Option<RawJson>,
) -> Vec<RawJson> {
    let mut all = Vec::new();
    for offer in offers {
        let items = part(PromptsAndResources::read(&offer.said)).unwrap_or_default();
        all.extend(items.into_iter().filter_map(|item| keep(offer, item)));
    }
    all
}

/// A prompt or a resource that a request is about.
struct FoundItem {
    source: String,
    /// The source's own name for it.
    item: String,
    /// What is answered when it does not exist for the caller.
    missing: Fault,
}

/// The source of a prompt and its own name for it. One that the caller's toolsets leave out is found too, where no other
/// has the name: the gateway refuses and records it, and the caller is told that it does not exist.
fn prompt(exchange: &Exchange, offers: &[Offer], name: &str) -> Result<FoundItem, Fault> {
    let missing = || Fault::new(INVALID_PARAMS, format!("Prompt `{name}` was not found"));
    let found = |offer: &Offer, item| FoundItem { source: offer.source.clone(), item, missing: missing() };
    let mut left_out = None;
    for offer in offers {
        for prompt in PromptsAndResources::read(&offer.said).prompts.unwrap_or_default() {
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

/// The source of a resource; one that the caller's toolsets leave out as for prompts.
fn resource(exchange: &Exchange, offers: &[Offer], uri: &str) -> Result<FoundItem, Fault> {
    check_length(uri)?;
    let offer = holder(&exchange.gateway, &exchange.peer.caller, offers, uri);
    let offer = offer.ok_or_else(|| not_found(exchange, uri))?;
    let (source, item) = (offer.source.clone(), uri.to_owned());
    Ok(FoundItem { source, item, missing: not_found(exchange, uri) })
}

/// Refuses an address that is longer than any resource has: templates are not even compared with it.
pub(super) fn check_length(uri: &str) -> Result<(), Fault> {
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
pub(super) fn holder<'a>(
    gateway: &Gateway,
    caller: &Caller,
    offers: &'a [Offer],
    uri: &str,
) -> Option<&'a Offer> {
    let permitted = permitted_holder(gateway, caller, offers, uri);
    permitted.or_else(|| holder_of(&offers.iter().collect::<Vec<_>>(), uri))
}

/// The source from which the caller may have a resource.
pub(super) fn permitted_holder<'a>(
    gateway: &Gateway,
    caller: &Caller,
    offers: &'a [Offer],
    uri: &str,
) -> Option<&'a Offer> {
    let permitted = |offer: &&Offer| gateway.permits(caller, &offer.toolkit, uri);
    holder_of(&offers.iter().filter(permitted).collect::<Vec<_>>(), uri)
}

/// One that lists it, or else one with a template that it fits.
fn holder_of<'a>(allowed: &[&'a Offer], uri: &str) -> Option<&'a Offer> {
    let listed = |offer: &&Offer| {
        let resources = PromptsAndResources::read(&offer.said).resources.unwrap_or_default();
        resources.iter().any(|resource| uri_of(resource).as_deref() == Some(uri))
    };
    let fitting = |offer: &&Offer| {
        let templates = PromptsAndResources::read(&offer.said).templates.unwrap_or_default();
        templates.iter().any(|t| template_of(t).is_some_and(|template| matches(&template, uri)))
    };
    let has_any = |offer: &&Offer| {
        let beside = PromptsAndResources::read(&offer.said);
        beside.resources.is_some() || beside.templates.is_some()
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

pub(super) fn not_found(exchange: &Exchange, uri: &str) -> Fault {
    let code = if exchange.peer.revision.is_modern() { INVALID_PARAMS } else { LEGACY_NOT_FOUND };
    Fault::with_data(code, format!("Resource `{uri}` was not found"), &serde_json::json!({ "uri": uri }))
}

async fn complete(exchange: &Exchange, offers: &[Offer]) -> Reply {
    #[derive(Deserialize)]
    struct Completing<'a> {
        #[serde(borrow, rename = "ref")]
        reference: &'a RawValue,
    }
    let invalid = || Fault::new(INVALID_PARAMS, "`ref` must name a prompt or a resource");
    let params = exchange.asked.params.as_deref().ok_or_else(invalid)?;
    let Completing { reference } = serde_json::from_str(params.get()).map_err(|_| invalid())?;
    let named = Params::read(Some(reference))?;
    let mut members = Members::read(reference).ok_or_else(invalid)?;
    let found = match (named.name.as_deref(), named.uri.as_deref()) {
        (Some(name), _) => {
            let found = prompt(exchange, offers, name)?;
            members.put("name", &*found.item);
            found
        }
        (None, Some(uri)) => resource(exchange, offers, uri)?,
        (None, None) => return Err(invalid()),
    };
    let reference = members.write();
    relay(exchange, found, exchange.told(|members| members.put_raw("ref", reference))).await
}

async fn relay(exchange: &Exchange, found: FoundItem, params: RawJson) -> Reply {
    let (peer, method) = (exchange.peer.clone(), exchange.asked.method.clone());
    let FoundItem { source, item, missing } = found;
    let relay = Relay { protocol: MCP, caller: Arc::clone(peer.caller.shared_name()), method, item, params };
    let gateway = Arc::clone(&exchange.gateway);
    if !exchange.out.is_open() && !peer.capabilities.can_be_asked() {
        let answer = gateway.relay(&peer.caller, &source, &relay, &Progress::unheard()).await;
        return answered(answer, &relay.method, &peer, missing);
    }
    let params = exchange.params()?;
    let target = params.name.as_deref().or(params.uri.as_deref()).unwrap_or_default();
    let work = |progress: Progress| -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let answer = gateway.relay(&peer.caller, &source, &relay, &progress).await;
            answered(answer, &relay.method, &peer, missing)
        })
    };
    RunningExchange::begin(exchange, target, work).drive(exchange).await
}

fn answered(answer: Result<Relayed, Refusal>, method: &str, peer: &Peer, missing: Fault) -> Reply {
    match answer {
        Ok(Ok(result)) => {
            let result = upstream::relayed(&result, peer)?;
            let asks = Members::read_or_empty(Some(&result)).has("inputRequests");
            if peer.revision.is_modern() && method == "resources/read" && !asks {
                let mut members = Members::read_or_empty(Some(&result));
                cacheable(&mut members, Freshness::Complete);
                return Ok(text_of(members.write()));
            }
            Ok(text_of(result))
        }
        Ok(Err(error)) => upstream::relayed_error(&error, peer).map_err(|fault| in_era(fault, peer)),
        Err(Refusal::NotPermitted { .. }) => Err(missing),
        Err(refusal) => encode::relay_refused(&refusal, peer),
    }
}

/// "Not found" has a code of its own before 2026-07-28, and none since.
fn in_era(fault: Fault, peer: &Peer) -> Fault {
    if fault.code != LEGACY_NOT_FOUND || !peer.revision.is_modern() {
        return fault;
    }
    let mut members = Members::read_or_empty(Some(&fault.object));
    members.put("code", &INVALID_PARAMS);
    Fault { code: INVALID_PARAMS, object: members.write() }
}

fn permitted(exchange: &Exchange, offer: &Offer, own: &str) -> bool {
    exchange.gateway.permits(&exchange.peer.caller, &offer.toolkit, own)
}

fn flat(offer: &Offer, own: &str) -> String {
    flat_name((offer.naming == Naming::Prefixed).then_some(&*offer.toolkit), own)
}

fn name_of(item: &RawValue) -> Option<String> {
    Params::read(Some(item)).ok()?.name.map(Into::into)
}

fn uri_of(item: &RawValue) -> Option<String> {
    Params::read(Some(item)).ok()?.uri.map(Into::into)
}

fn template_of(item: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Template {
        #[serde(rename = "uriTemplate")]
        template: String,
    }
    serde_json::from_str(item.get()).ok().map(|item: Template| item.template)
}

/// A number that changes when what is offered does.
pub(super) fn fingerprint(
    gateway: &Arc<Gateway>,
    part: for<'a> fn(PromptsAndResources<'a>) -> Vec<&'a RawValue>,
) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    for offer in gateway.offers(MCP) {
        let beside = PromptsAndResources::read(&offer.said);
        beside.changes.hash(&mut hasher);
        for item in part(beside) {
            item.get().hash(&mut hasher);
        }
    }
    hasher.finish()
}
