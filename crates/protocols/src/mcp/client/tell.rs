//! The parameters of our requests: the caller's own where it speaks MCP, with `_meta` as the server's era
//! wants it.

use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::json_text::RawJson;

use super::follow::Following;
use crate::mcp::members::Members;
use crate::mcp::revision::Revision;
use crate::mcp::wire::{CAPABILITIES, CLIENT_INFO, LOG_LEVEL, US, VERSION};

/// Parameters for a server of this revision. `said` are the caller's, as far as they are to be passed on.
pub(super) fn params(
    said: Option<Members<'_>>,
    revision: Revision,
    id: u64,
    following: &Following<'_>,
) -> RawJson {
    let mut params = said.unwrap_or_default();
    let caller = params.get("_meta").map(ToOwned::to_owned);
    let meta = meta(caller.as_deref(), revision, id, following);
    if meta.is_empty() {
        params.remove("_meta");
    } else {
        params.put_raw("_meta", meta.write());
    }
    if !revision.is_modern() {
        params.remove("inputResponses");
        params.remove("requestState");
    }
    params.write()
}

fn meta<'a>(
    caller: Option<&'a RawValue>,
    revision: Revision,
    id: u64,
    following: &Following<'_>,
) -> Members<'a> {
    let mut meta = Members::read_or_empty(caller);
    for key in [VERSION, CAPABILITIES, CLIENT_INFO, "progressToken"] {
        meta.remove(key);
    }
    if following.hears() {
        meta.put("progressToken", &id);
    }
    if revision.is_modern() {
        meta.put(VERSION, revision.text());
        meta.put_raw(CAPABILITIES, declared(following));
        meta.put(CLIENT_INFO, &US);
    } else {
        meta.remove(LOG_LEVEL);
    }
    meta
}

/// What the caller can do, less the extensions that we do not carry.
fn declared(following: &Following<'_>) -> RawJson {
    match following.capabilities.declared().and_then(Members::read) {
        Some(mut declared) => {
            declared.remove("extensions");
            declared.write()
        }
        None => toolmux_core::json_text::raw_of(&json!({})),
    }
}
