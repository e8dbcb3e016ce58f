//! What an upstream answered, in the form of the caller's era.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolmux_core::json_text::{RawJson, raw_of};

use super::content;
use crate::mcp::members::Members;
use crate::mcp::serve::request::Peer;
use crate::mcp::wire::{
    CAPABILITIES, CLIENT_INFO, Capabilities, ELICITATION, Fault, LOG_LEVEL, OUR_META, ROOTS, Reply, SAMPLING,
    SERVER_INFO, SUBSCRIPTION, URL_ELICITATION_REQUIRED, US_WRITTEN, VERSION, our_meta, text_of,
};

/// What only 2026-07-28 has in a result, and in its `_meta`.
const MODERN_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];
const MODERN_META: [&str; 6] = [SERVER_INFO, VERSION, CAPABILITIES, CLIENT_INFO, LOG_LEVEL, SUBSCRIPTION];

/// A result. A client is never asked for what it did not declare.
pub(in crate::mcp) fn relayed(result: &RawValue, peer: &Peer) -> Result<RawJson, Fault> {
    let Some(mut members) = Members::read(result) else { return Ok(result.to_owned()) };
    if peer.revision.is_modern() {
        return modern(&mut members, peer);
    }
    let changed =
        [members.remove_all(&MODERN_MEMBERS), legacy_meta(&mut members), legacy_content(&mut members, peer)];
    Ok(if changed.contains(&true) { members.write() } else { result.to_owned() })
}

/// With our name in it: the result was produced here, whoever was asked.
fn modern(members: &mut Members<'_>, peer: &Peer) -> Result<RawJson, Fault> {
    if members.has("resultType") {
        let requests = members.get("inputRequests").and_then(|asked| serde_json::from_str(asked.get()).ok());
        answerable(&requests.unwrap_or_default(), &peer.capabilities)?;
    } else {
        members.put("resultType", "complete");
    }
    let meta = members.read_as("_meta").and_then(Members::read).map(|mut meta| {
        meta.put_raw(SERVER_INFO, US_WRITTEN.clone());
        meta.write()
    });
    members.put_raw("_meta", meta.unwrap_or_else(|| OUR_META.clone()));
    Ok(members.write())
}

/// Takes away what earlier revisions do not know in `_meta`; true when there was something.
fn legacy_meta(members: &mut Members<'_>) -> bool {
    let Some(mut meta) = members.read_as("_meta").and_then(Members::read) else { return false };
    if !meta.remove_all(&MODERN_META) {
        return false;
    }
    if meta.is_empty() {
        members.remove("_meta");
    } else {
        members.put_raw("_meta", meta.write());
    }
    true
}

/// Writes content as the caller's revision knows it; true when something was changed.
fn legacy_content(members: &mut Members<'_>, peer: &Peer) -> bool {
    let content = content::of_result(members, peer.revision);
    let messages = content::of_prompt(members, peer.revision);
    // Structured content was an object then.
    let unstructured =
        members.get("structuredContent").is_some_and(|content| !content.get().starts_with('{'));
    let changed = content.is_some() || messages.is_some() || unstructured;
    for (key, written) in [("content", content), ("messages", messages)] {
        if let Some(written) = written {
            members.put_raw(key, written);
        }
    }
    if unstructured {
        members.remove("structuredContent");
    }
    changed
}

/// An error. Addresses that a user must open are asked for by a result since 2026-07-28.
pub(in crate::mcp) fn relayed_error(error: &RawValue, peer: &Peer) -> Reply {
    let fault = Fault::relayed(error.to_owned());
    if fault.code != URL_ELICITATION_REQUIRED || !peer.revision.is_modern() {
        return Err(fault);
    }
    let Some(requests) = elicitations(error) else { return Err(fault) };
    answerable(&requests, &peer.capabilities)?;
    let result = json!({ "resultType": "input_required", "inputRequests": requests, "_meta": our_meta() });
    Ok(text_of(raw_of(&result)))
}

fn elicitations(error: &RawValue) -> Option<Map<String, Value>> {
    #[derive(Deserialize)]
    struct Parts {
        data: Data,
    }
    #[derive(Deserialize)]
    struct Data {
        elicitations: Vec<Value>,
    }
    let error: Parts = serde_json::from_str(error.get()).ok()?;
    let numbered = error.data.elicitations.into_iter().enumerate();
    let requests = numbered.map(|(place, params)| {
        let key = params["elicitationId"].as_str().map_or_else(|| format!("q{}", place + 1), str::to_owned);
        (key, json!({ "method": ELICITATION, "params": params }))
    });
    Some(requests.collect()).filter(|requests: &Map<String, Value>| !requests.is_empty())
}

/// Refuses questions of kinds that the client did not declare.
fn answerable(requests: &Map<String, Value>, capabilities: &Capabilities) -> Result<(), Fault> {
    let mut missing = Map::new();
    for request in requests.values() {
        let method = request["method"].as_str().unwrap_or_default();
        let by_url = method == ELICITATION && request["params"]["mode"] == "url";
        if capabilities.answers(method) && (!by_url || capabilities.opens_urls()) {
            continue;
        }
        let (capability, how) = match method {
            ELICITATION if by_url => ("elicitation", json!({ "url": {} })),
            ELICITATION => ("elicitation", json!({ "form": {} })),
            SAMPLING => ("sampling", json!({})),
            ROOTS => ("roots", json!({})),
            _ => continue,
        };
        let known = missing.entry(capability).or_insert_with(|| json!({}));
        if let (Some(known), Value::Object(how)) = (known.as_object_mut(), how) {
            known.extend(how);
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(Fault::missing(&Value::Object(missing))) }
}
