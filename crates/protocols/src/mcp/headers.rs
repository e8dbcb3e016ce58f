//! The names of MCP's headers, for both sides.

use http::HeaderName;

/// The revision that a message is written in.
pub(super) static VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The method of a request, since 2026-07-28.
pub(super) static METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
/// What a request is about, since 2026-07-28.
pub(super) static NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
/// The session of a request, in the handshake era.
pub(super) static SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
