//! How messages of clients reach us and how answers leave: streamable HTTP, HTTP+SSE, a pair of streams.

pub(in crate::mcp) mod batch;
pub(in crate::mcp) mod conversation;
pub(in crate::mcp) mod http_sse;
pub(in crate::mcp) mod protected;
pub(in crate::mcp) mod server;
pub(in crate::mcp) mod stdio;
pub(in crate::mcp) mod stream;
pub(in crate::mcp) mod streamable_http;
