//! The parameters of our requests: the caller's own where it speaks MCP, with `_meta` as the server's era
//! wants it.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, raw_of};

use super::follow::Following;
use crate::mcp::members::Members;
use crate::mcp::revision::Revision;
use crate::mcp::wire::{CAPABILITIES, CLIENT_INFO, LOG_LEVEL, US_WRITTEN, VERSION};

/// Parameters for a server of this revision. `said` are the caller's, as far as they are to be passed on.
pub(super) fn params(
    said: Option<Members<'_>>,
    revision: Revision,
    id: u64,
    following: &Following<'_>,
) -> RawJson {
    let mut params = said.unwrap_or_default();
    let meta = meta(params.get("_meta"), revision, id, following);
    let meta = (!meta.is_empty()).then(|| meta.write());
    match meta {
        Some(meta) => params.put_raw("_meta", meta),
        None => params.remove("_meta"),
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
    following: &'a Following<'_>,
) -> Members<'a> {
    let mut meta = Members::read_or_empty(caller);
    meta.remove_all(&[VERSION, CAPABILITIES, CLIENT_INFO, "progressToken"]);
    if following.hears() {
        meta.put("progressToken", &id);
    }
    if revision.is_modern() {
        meta.put(VERSION, revision.text());
        meta.put_text(CAPABILITIES, declared(following));
        meta.put_text(CLIENT_INFO, Cow::Borrowed(&US_WRITTEN));
    } else {
        meta.remove(LOG_LEVEL);
    }
    meta
}

/// What the caller can do, less the extensions that we do not carry.
fn declared<'a>(following: &'a Following<'_>) -> Cow<'a, RawValue> {
    static NOTHING: LazyLock<RawJson> = LazyLock::new(|| raw_of(&json!({})));
    let Some(said) = following.capabilities.declared() else { return Cow::Borrowed(&NOTHING) };
    match Members::read(said) {
        Some(mut declared) if declared.has("extensions") => {
            declared.remove("extensions");
            Cow::Owned(declared.write())
        }
        Some(_) => Cow::Borrowed(said),
        None => Cow::Borrowed(&NOTHING),
    }
}
