//! A request of ours to a server, as a transport sends it.

use http::HeaderMap;

use crate::jsonrpc;

/// By which a session of the handshake era begins.
pub(in crate::mcp) const INITIALIZE: &str = "initialize";
/// What a server is asked first: only one of 2026-07-28 knows it.
pub(in crate::mcp) const DISCOVER: &str = "server/discover";

pub(in crate::mcp) struct UpstreamRequest<'a> {
    /// The token of its progress too.
    pub(in crate::mcp) id: u64,
    pub(in crate::mcp) method: &'a str,
    /// The text of a JSON object.
    pub(in crate::mcp) params: String,
    /// What `Mcp-Name` repeats.
    pub(in crate::mcp) name: Option<&'a str>,
    /// What is mirrored as headers.
    pub(in crate::mcp) headers: Vec<(String, String)>,
    /// Credentials of this request, over those of the source; none for what no caller asks.
    pub(in crate::mcp) credentials: Option<&'a HeaderMap>,
}

impl UpstreamRequest<'_> {
    /// The message. The parameters may be long and the answer late, so they are freed.
    pub(in crate::mcp) fn take_message(&mut self) -> Vec<u8> {
        let message = jsonrpc::ask(Some(&self.id.to_string()), self.method, Some(&self.params));
        self.params = String::new();
        message.into_bytes()
    }
}
