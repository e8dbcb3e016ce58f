//! `toolmux demo-server`: the MCP server that `toolmux demo` starts as one of its sources. A ticket is drawn from a
//! counter, so that a reader sees how often the tool really ran.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::Serialize;
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::sources::{Mount, Naming};

use crate::ToolError;
use crate::cli::failure::Failure;
use crate::cli::mcp::serve_standard_streams;
use crate::rust_tool::tool;
use crate::toolkit::Toolkit;

/// Serve the tickets of `toolmux demo` over MCP on standard input and output.
///
/// Example: toolmux demo-server
#[derive(clap::Args)]
pub(in crate::cli) struct DemoServer {}

#[derive(Serialize, JsonSchema)]
struct Ticket {
    /// The number on the ticket: one more than on the last one.
    number: u64,
}

impl DemoServer {
    pub(in crate::cli) async fn run() -> Result<ExitCode, Failure> {
        let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
        gateway.sources().mount(Mount::new("Tickets", "Tickets", Naming::Bare, Arc::new(tickets())));
        let caller = gateway.admit(Credential::None, None)?;
        serve_standard_streams(&gateway, caller).await
    }
}

fn tickets() -> Toolkit {
    let drawn = Arc::new(AtomicU64::new(0));
    let draw = move || {
        let drawn = Arc::clone(&drawn);
        async move { Ok::<_, ToolError>(Ticket { number: drawn.fetch_add(1, Ordering::Relaxed) + 1 }) }
    };
    Toolkit::new("Tickets").tool(tool("draw", "Draws the next ticket", draw))
}
