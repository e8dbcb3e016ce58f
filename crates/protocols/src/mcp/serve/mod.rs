//! We answer as an MCP server.

mod encode;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzz_targets;
pub(super) mod methods;
mod questions;
pub(super) mod request;
pub(super) mod tasks;
mod transport;

use std::future::ready;
use std::sync::Arc;

use axum::extract::{Request, State};
use toolmux_core::example::example_arguments;
use toolmux_http::serve::{Access, Routes, Served, curl};

use self::request::SessionState;
use self::transport::server::Server;
pub use self::transport::stdio::serve_streams;
use self::transport::{http_sse, protected, streamable_http};
use crate::mcp::methods::TOOLS_CALL;
use crate::mcp::revision::Revision;

pub(crate) const SERVED: Served = Served {
    name: "MCP",
    path: "/mcp",
    routes,
    try_it: |base, tool| {
        let params =
            serde_json::json!({ "name": tool.flat, "arguments": example_arguments(tool.tool.input.value()) });
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": TOOLS_CALL, "params": params });
        Some(curl::post(&format!("{base}/mcp"), &body))
    },
    shows: Some(|entry| {
        let shown = serde_json::from_str(encode::tool::tool(entry, Revision::MODERN).get()).ok()?;
        Some((entry.flat.to_string(), shown))
    }),
    client_headers: None,
};

/// The transport of 2024-11-05, for clients that know no other.
pub(crate) const SERVED_SSE: Served = Served {
    name: "MCP (HTTP+SSE)",
    path: "/sse",
    routes: http_sse::routes,
    try_it: |_, _| None,
    shows: None,
    client_headers: None,
};

fn routes() -> Routes {
    let session_state = Arc::new(SessionState::default());
    let server = move |web| Server { web, session_state: Arc::clone(&session_state) };
    let (asked, followed, deleted) = (server.clone(), server.clone(), server);
    Routes::default()
        .post("/mcp", Access::Callers, move |State(web), request: Request| {
            streamable_http::post(asked(web), request)
        })
        .get("/mcp", Access::Callers, move |State(web), request: Request| {
            ready(streamable_http::get(followed(web), request))
        })
        .delete("/mcp", Access::Callers, move |State(web), request: Request| {
            ready(streamable_http::delete(deleted(web), request))
        })
        .merge(protected::routes())
}
