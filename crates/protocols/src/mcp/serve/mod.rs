//! We answer as an MCP server.

mod batch;
mod bounded_map;
mod content;
mod conversation;
mod encode;
mod era;
mod exchange;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzz_targets;
mod http;
mod http_sse;
mod instructions;
mod listen;
mod methods;
mod offers;
mod page;
mod protected;
mod questions;
mod running;
mod session;
mod session_state;
mod stdio;
mod stream;
mod suspended;
mod tasks;
mod tools;
mod update_notifier;
mod updated;
mod upstream;

use std::future::ready;
use std::sync::Arc;

use axum::extract::{Request, State};
use toolmux_http::serve::{Access, Routes, Served, curl};

use self::http::Server;
use self::session_state::SessionState;
pub use self::stdio::serve_streams;
use toolmux_core::example::example_arguments;

pub(crate) const SERVED: Served = Served {
    name: "MCP",
    path: "/mcp",
    routes,
    try_it: |base, tool| {
        let params =
            serde_json::json!({ "name": tool.flat, "arguments": example_arguments(tool.tool.input.value()) });
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        Some(curl::post(&format!("{base}/mcp"), &body))
    },
    client_headers: None,
};

/// The transport of 2024-11-05, for clients that know no other.
pub(crate) const SERVED_SSE: Served = Served {
    name: "MCP (HTTP+SSE)",
    path: "/sse",
    routes: http_sse::routes,
    try_it: |_, _| None,
    client_headers: None,
};

fn routes() -> Routes {
    let session_state = Arc::new(SessionState::default());
    let server = move |web| Server { web, session_state: Arc::clone(&session_state) };
    let (asked, followed, deleted) = (server.clone(), server.clone(), server);
    Routes::default()
        .post("/mcp", Access::Callers, move |State(web), request: Request| http::post(asked(web), request))
        .get("/mcp", Access::Callers, move |State(web), request: Request| {
            ready(http::get(followed(web), request))
        })
        .delete("/mcp", Access::Callers, move |State(web), request: Request| {
            ready(http::delete(deleted(web), request))
        })
        .merge(protected::routes())
}
