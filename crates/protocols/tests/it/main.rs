//! Protocols over real sockets.

mod mcp_fixture;
mod mcp_http;
