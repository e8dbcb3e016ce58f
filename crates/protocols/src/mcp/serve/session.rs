//! Legacy sessions. The id holds all there is to know, so that any replica can answer for it, none has to
//! remember it, and a restart loses nothing. It proves nothing: who asks is checked with every request.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::mcp::revision::Revision;
use crate::mcp::wire::Capabilities;

/// Capabilities larger than this are forgotten: an id travels in a header.
const MOST_BYTES: usize = 4 << 10;

#[derive(Serialize, Deserialize)]
struct Session<'a> {
    revision: &'a str,
    #[serde(borrow, skip_serializing_if = "Option::is_none", default)]
    capabilities: Option<&'a RawValue>,
    nonce: &'a str,
}

/// A new session's id.
pub(super) fn seal(revision: Revision, capabilities: &Capabilities) -> String {
    let capabilities = capabilities.declared().filter(|declared| declared.get().len() <= MOST_BYTES);
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let session = Session { revision: revision.text(), capabilities, nonce: &nonce };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&session).expect("a session is writable"))
}

/// What a session's id holds; none when it is not one of ours.
pub(super) fn open(id: &str) -> Option<(Revision, Capabilities)> {
    let bytes = URL_SAFE_NO_PAD.decode(id).ok()?;
    let session: Session<'_> = serde_json::from_slice(&bytes).ok()?;
    let revision = Revision::read(session.revision).filter(|revision| !revision.is_modern())?;
    Some((revision, Capabilities::new(session.capabilities)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_holds_its_session() {
        let declared: Box<RawValue> = serde_json::from_str(r#"{"elicitation":{"url":{}}}"#).unwrap();
        let id = seal(Revision::V2025_06_18, &Capabilities::new(Some(&declared)));
        let (revision, capabilities) = open(&id).unwrap();
        assert_eq!(revision, Revision::V2025_06_18);
        assert!(capabilities.answers("elicitation/create") && capabilities.opens_urls());
        assert!(!capabilities.answers("sampling/createMessage"));
    }

    #[test]
    fn foreign_ids_hold_nothing() {
        for id in ["", "abc", "eyJ4IjoxfQ", "%%%"] {
            assert!(open(id).is_none(), "{id}");
        }
    }
}
