//! MCP, both eras: the handshake revisions up to 2025-11-25 and the stateless 2026-07-28.
//!
//! Typed where we act, raw where we relay: what an MCP server says reaches an MCP client as the server wrote it.

mod client;
mod detect;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod headers;
mod lines;
mod members;
mod methods;
mod mirror;
mod notifications;
mod prompts_and_resources;
mod revision;
mod serve;
mod template;
mod wire;

use serde_json::json;
use toolmux_core::json_text::raw_of;
use toolmux_core::tool::Passthrough;

pub(crate) use self::client::SOURCE;
pub use self::serve::serve_streams;
pub(crate) use self::serve::{SERVED, SERVED_SSE};

/// The name under which the core keeps what only MCP knows.
const MCP: &str = "mcp";
/// The same for error objects that an upstream answered with.
const MCP_ERROR: &str = "mcp-error";
/// How 2026-07-28 asks to be told of changes, and how our server asks a source of either era.
const LISTEN: &str = "subscriptions/listen";

/// What a request says whose caller answers forms that a server asks to be filled in.
pub fn answering() -> Passthrough {
    let capabilities = json!({ "elicitation": { "form": {} } });
    Passthrough::of(MCP, raw_of(&json!({ "_meta": { wire::CAPABILITIES: capabilities } })))
}
