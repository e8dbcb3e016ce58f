//! Invariants of what our server gives out and takes back: sessions and cursors.

use std::sync::{Arc, LazyLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use serde_json::value::RawValue;
use toolmux_core::call::Caller;
use toolmux_core::gateway::{Admission, ApiKey, Credential, Gateway, Settings};
use toolmux_core::json_text::to_raw;
use toolmux_core::memory::MemoryStore;
use toolmux_core::secret::Secret;

use crate::fuzz_targets::{Target, examples};
use crate::mcp::revision::Revision;
use crate::mcp::serve::encode::page::{Freshness, page};
use crate::mcp::serve::request::session_id::{open, seal};
use crate::mcp::wire::Capabilities;

pub(crate) const TARGETS: &[Target] =
    &[("mcp_session", session_examples, session), ("mcp_page", cursor_examples, cursor)];

/// Two callers, whose sessions are not each other's.
static CALLERS: LazyLock<[Caller; 2]> = LazyLock::new(|| {
    let key = |name: &str| ApiKey { name: name.into(), sha256: Secret::new(name).sha256(), toolset: None };
    let admission = Admission { keys: vec![key("alice"), key("bob")], jwt: None };
    let gateway =
        Gateway::new(Settings { admission, ..Settings::default() }, Arc::new(MemoryStore::default()));
    ["alice", "bob"].map(|name| gateway.admit(Credential::Key(name), None).expect("the key is good"))
});

fn session_examples() -> Vec<Vec<u8>> {
    let capabilities = |text: &str| Capabilities::new(serde_json::from_str(text).ok());
    let declared = [r#"{"elicitation":{"url":{}}}"#, "{}", r#"{"roots":{"listChanged":true},"sampling":{}}"#];
    let ids = declared.map(|declared| seal(Revision::V2025_06_18, &capabilities(declared), &CALLERS[0]));
    ids.iter().filter_map(|id| URL_SAFE_NO_PAD.decode(id).ok()).collect()
}

/// The bytes behind an id: whatever they are, a session is its own caller's alone, and of an era that has sessions.
fn session(data: &[u8]) {
    let [alice, bob] = &*CALLERS;
    let _ = open(&String::from_utf8_lossy(data), alice);
    let id = URL_SAFE_NO_PAD.encode(data);
    let opened = open(&id, alice);
    assert!(opened.is_none() || open(&id, bob).is_none(), "one session for two callers");
    let Some((revision, capabilities)) = opened else { return };
    assert!(!revision.is_modern());
    let again = seal(revision, &capabilities, alice);
    assert!(again.len() <= 2 * data.len() + 512);
    let (same, kept) = open(&again, alice).expect("a session of ours");
    assert_eq!(same, revision);
    let text = |capabilities: &Capabilities| capabilities.declared().map(RawValue::get).map(str::to_owned);
    assert!(text(&kept) == text(&capabilities) || text(&kept).is_none());
}

fn cursor_examples() -> Vec<Vec<u8>> {
    examples(&["MTAwMA", "MA", "MTg0NDY3NDQwNzM3MDk1NTE2MTU", "", "x"])
}

/// A page begins where its cursor says and has the items that follow, each once; any other cursor is refused.
fn cursor(data: &[u8]) {
    const ITEMS: usize = 1_003;
    let cursor = String::from_utf8_lossy(data);
    for cursor in [cursor.to_string(), URL_SAFE_NO_PAD.encode(data)] {
        let items = (0..ITEMS).map(|item| to_raw(&item).expect("a number"));
        let Ok(bytes) = page("tools", items, Some(&cursor), Revision::LEGACY, Freshness::Complete) else {
            continue;
        };
        let page: Value = serde_json::from_slice(&bytes).expect("a page is JSON");
        let items: Vec<u64> =
            page["tools"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let first = *items.first().expect("a page is not empty");
        assert!(items.iter().copied().eq(first..first + items.len() as u64), "{items:?}");
        let last = items.last().is_some_and(|last| *last == ITEMS as u64 - 1);
        assert_eq!(last, page.get("nextCursor").is_none());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
