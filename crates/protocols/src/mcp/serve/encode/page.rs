//! Lists, page by page. A cursor is the place of the next item.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::{RawJson, raw_of};

use crate::mcp::members::Members;
use crate::mcp::revision::Revision;
use crate::mcp::wire::{Fault, INVALID_PARAMS, Reply, our_meta, text_of};

/// How many items one page has.
const PAGE: usize = 1_000;
/// For how long a modern client need not ask again; changes are told to those who listen.
const TTL_MS: u64 = 60_000;

/// Whether a list may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Freshness {
    /// It has what every source offers.
    Complete,
    /// Some sources have not listed what they offer: the next list may be longer.
    Incomplete,
}

impl Freshness {
    /// Of lists made from here on. Taken before the list itself, so that one made while the last source appears is
    /// kept too short rather than too long.
    pub(in crate::mcp) fn of(gateway: &Gateway) -> Self {
        if gateway.sources().is_complete() { Freshness::Complete } else { Freshness::Incomplete }
    }

    pub(in crate::mcp) fn ttl_ms(self) -> u64 {
        match self {
            Freshness::Complete => TTL_MS,
            Freshness::Incomplete => 0,
        }
    }
}

/// One page of a list, with what the revision wants around it.
pub(in crate::mcp) fn page(
    member: &'static str,
    items: impl Iterator<Item = RawJson>,
    cursor: Option<&str>,
    revision: Revision,
    freshness: Freshness,
) -> Reply {
    let from = cursor.map_or(Ok(0), place)?;
    let mut items = items.skip(from).peekable();
    let bad_cursor = cursor.is_some() && items.peek().is_none();
    if bad_cursor {
        return Err(unknown_cursor());
    }
    let this: Vec<RawJson> = items.by_ref().take(PAGE).collect();
    let mut result = Members::default();
    result.put(member, &this);
    if items.peek().is_some() {
        result.put("nextCursor", &URL_SAFE_NO_PAD.encode((from + PAGE).to_string()));
    }
    if revision.is_modern() {
        cacheable(&mut result, freshness);
        result.put("_meta", &our_meta());
    }
    Ok(text_of(result.write()))
}

/// What 2026-07-28 wants of results that may be kept. What a caller sees depends on who it is.
pub(in crate::mcp) fn cacheable(result: &mut Members<'_>, freshness: Freshness) {
    for (key, value) in [
        ("resultType", json!("complete")),
        ("ttlMs", json!(freshness.ttl_ms())),
        ("cacheScope", json!("private")),
    ] {
        if !result.has(key) {
            result.put_raw(key, raw_of(&value));
        }
    }
}

fn place(cursor: &str) -> Result<usize, Fault> {
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| text.parse().ok()).ok_or_else(unknown_cursor)
}

fn unknown_cursor() -> Fault {
    Fault::new(INVALID_PARAMS, "The cursor is not valid")
}

#[cfg(test)]
mod tests {
    use toolmux_core::json_text::to_raw;

    use super::*;

    /// The number of items on the page, and the cursor of the next.
    fn check(items: usize, cursor: Option<&str>, expect: Result<(usize, Option<&str>), ()>) {
        let items = (0..items).map(|item| to_raw(&item).unwrap());
        let page =
            page("tools", items, cursor, Revision::MODERN, Freshness::Complete).map_err(drop).map(|bytes| {
                let page: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
                assert_eq!(page["ttlMs"], 60_000);
                (page["tools"].as_array().unwrap().len(), page["nextCursor"].as_str().map(str::to_owned))
            });
        assert_eq!(page, expect.map(|(count, next)| (count, next.map(str::to_owned))));
    }

    #[test]
    fn long_lists_come_in_pages() {
        check(0, None, Ok((0, None)));
        check(1_000, None, Ok((1_000, None)));
        check(1_001, None, Ok((1_000, Some("MTAwMA"))));
        check(1_001, Some("MTAwMA"), Ok((1, None)));
    }

    #[test]
    fn a_cursor_that_is_not_ours_is_refused() {
        check(5, Some(""), Err(()));
        check(5, Some("x"), Err(()));
        check(1_000, Some("MTAwMA"), Err(()));
    }
}
