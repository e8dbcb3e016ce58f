//! What an upstream answered, in the form of the caller's era.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolmux_core::json_text::{RawJson, raw_of};

use super::exchange::Peer;
use crate::mcp::members::Members;
use crate::mcp::wire::{Capabilities, Fault, Reply, URL_ELICITATION_REQUIRED, our_meta, text_of};

/// A result. A client is never asked for what it did not declare.
pub(super) fn relayed(said: &RawValue, peer: &Peer) -> Result<RawJson, Fault> {
    let Some(mut members) = Members::read(said) else { return Ok(said.to_owned()) };
    if peer.revision.is_modern() {
        if members.has("resultType") {
            let requests =
                members.get("inputRequests").and_then(|asked| serde_json::from_str(asked.get()).ok());
            return answerable(&requests.unwrap_or_default(), &peer.capabilities).map(|()| said.to_owned());
        }
        members.put("resultType", "complete");
    } else if members.get("structuredContent").is_some_and(|content| !content.get().starts_with('{')) {
        members.remove("structuredContent");
    } else {
        return Ok(said.to_owned());
    }
    Ok(members.write())
}

/// An error. Addresses that a user must open are asked for by a result since 2026-07-28.
pub(super) fn relayed_error(said: &RawValue, peer: &Peer) -> Reply {
    let fault = Fault::relayed(said.to_owned());
    if fault.code != URL_ELICITATION_REQUIRED || !peer.revision.is_modern() {
        return Err(fault);
    }
    let Some(requests) = elicitations(said) else { return Err(fault) };
    answerable(&requests, &peer.capabilities)?;
    let result = json!({ "resultType": "input_required", "inputRequests": requests, "_meta": our_meta() });
    Ok(text_of(raw_of(&result)))
}

fn elicitations(said: &RawValue) -> Option<Map<String, Value>> {
    #[derive(Deserialize)]
    struct Said {
        data: Data,
    }
    #[derive(Deserialize)]
    struct Data {
        elicitations: Vec<Value>,
    }
    let said: Said = serde_json::from_str(said.get()).ok()?;
    let numbered = said.data.elicitations.into_iter().enumerate();
    let requests = numbered.map(|(place, params)| {
        let key = params["elicitationId"].as_str().map_or_else(|| format!("q{}", place + 1), str::to_owned);
        (key, json!({ "method": "elicitation/create", "params": params }))
    });
    Some(requests.collect()).filter(|requests: &Map<String, Value>| !requests.is_empty())
}

/// Refuses questions of kinds that the client did not declare.
fn answerable(requests: &Map<String, Value>, capabilities: &Capabilities) -> Result<(), Fault> {
    let mut missing = Map::new();
    for request in requests.values() {
        let method = request["method"].as_str().unwrap_or_default();
        let by_url = method == "elicitation/create" && request["params"]["mode"] == "url";
        if capabilities.answers(method) && (!by_url || capabilities.opens_urls()) {
            continue;
        }
        let (capability, how) = match method {
            "elicitation/create" if by_url => ("elicitation", json!({ "url": {} })),
            "elicitation/create" => ("elicitation", json!({ "form": {} })),
            "sampling/createMessage" => ("sampling", json!({})),
            "roots/list" => ("roots", json!({})),
            _ => continue,
        };
        let known = missing.entry(capability).or_insert_with(|| json!({}));
        if let (Some(known), Value::Object(how)) = (known.as_object_mut(), how) {
            known.extend(how);
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(Fault::missing(&Value::Object(missing))) }
}
