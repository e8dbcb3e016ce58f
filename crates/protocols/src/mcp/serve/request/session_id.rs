//! Legacy sessions. The id holds all there is to know, so that any replica can answer for it, none has to
//! remember it, and a restart loses nothing. It proves nothing: who asks is checked with every request, and a session
//! of another caller is none.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use toolmux_core::call::Caller;

use crate::mcp::revision::Revision;
use crate::mcp::wire::Capabilities;

/// Capabilities larger than this are forgotten: an id travels in a header.
const MOST_BYTES: usize = 4 << 10;

/// Longer ids are none of ours.
const LONGEST_ID: usize = 8 << 10;

#[derive(Serialize, Deserialize)]
struct Session<'a> {
    revision: &'a str,
    #[serde(borrow, skip_serializing_if = "Option::is_none", default)]
    capabilities: Option<&'a RawValue>,
    nonce: &'a str,
    /// Whose it is.
    #[serde(default)]
    caller: u64,
}

/// A new session's id.
pub(in crate::mcp) fn seal(revision: Revision, capabilities: &Capabilities, caller: &Caller) -> String {
    let capabilities = capabilities.declared().filter(|declared| declared.get().len() <= MOST_BYTES);
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let session = Session { revision: revision.text(), capabilities, nonce: &nonce, caller: digest(caller) };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&session).expect("a session is writable"))
}

/// What a session's id holds; none when it is not one of ours, or not this caller's.
pub(in crate::mcp) fn open(id: &str, caller: &Caller) -> Option<(Revision, Capabilities)> {
    if id.len() > LONGEST_ID {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(id).ok()?;
    let session: Session<'_> = serde_json::from_slice(&bytes).ok()?;
    if session.caller != digest(caller) {
        return None;
    }
    let revision = Revision::read(session.revision).filter(|revision| !revision.is_modern())?;
    Some((revision, Capabilities::new(session.capabilities)))
}

fn digest(caller: &Caller) -> u64 {
    let digest: [u8; 32] = Sha256::digest(caller.name()).into();
    digest.first_chunk().copied().map_or(0, u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolmux_core::gateway::{Admission, ApiKey, Credential, Gateway, Settings};
    use toolmux_core::memory::MemoryStore;
    use toolmux_core::secret::Secret;

    use super::*;

    fn caller(name: &str) -> Caller {
        let key = ApiKey { name: name.into(), sha256: Secret::new(name).sha256(), toolset: None };
        let admission = Admission { keys: vec![key], jwt: None };
        let settings = Settings { admission, ..Settings::default() };
        let gateway = Gateway::new(settings, Arc::new(MemoryStore::default()));
        gateway.admit(Credential::Key(name), None).unwrap()
    }

    #[test]
    fn an_id_holds_its_session() {
        let declared: Box<RawValue> = serde_json::from_str(r#"{"elicitation":{"url":{}}}"#).unwrap();
        let alice = caller("alice");
        let id = seal(Revision::V2025_06_18, &Capabilities::new(Some(&declared)), &alice);
        let (revision, capabilities) = open(&id, &alice).unwrap();
        assert_eq!(revision, Revision::V2025_06_18);
        assert!(capabilities.answers("elicitation/create") && capabilities.opens_urls());
        assert!(!capabilities.answers("sampling/createMessage"));
    }

    #[test]
    fn a_session_of_another_caller_is_none() {
        let id = seal(Revision::V2025_06_18, &Capabilities::default(), &caller("alice"));
        assert!(open(&id, &caller("bob")).is_none());
    }

    #[test]
    fn foreign_ids_hold_nothing() {
        for id in ["", "abc", "eyJ4IjoxfQ", "%%%"] {
            assert!(open(id, &caller("alice")).is_none(), "{id}");
        }
    }
}
