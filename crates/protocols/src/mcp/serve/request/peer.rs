//! Who sent a request, in which revision, and what it declared.

use toolmux_core::call::Caller;

use super::session_state::SessionKey;
use crate::mcp::revision::Revision;
use crate::mcp::wire::Capabilities;

#[derive(Clone, Debug)]
pub(in crate::mcp) struct Peer {
    pub(in crate::mcp) caller: Caller,
    pub(in crate::mcp) revision: Revision,
    pub(in crate::mcp) capabilities: Capabilities,
    /// The session of a legacy client: where its answers to our questions come in.
    pub(in crate::mcp) session: Option<SessionKey>,
}
