//! toolmux as a library: write tools as Rust functions and serve them over every protocol.
//!
//! ```no_run
#![doc = include_str!("../examples/calculator.rs")]
//! ```

mod assembly;
mod authorization;
#[doc(hidden)]
pub mod cli;
mod clients;
pub mod config;
mod console_view;
mod environment;
#[cfg(any(test, fuzzing))]
pub mod fuzz_targets;
mod host_rules;
mod jwks;
mod key_file;
pub mod listener;
mod machine_memory;
mod printable;
mod process_hardening;
mod receipt_anchors;
mod receipt_signing;
mod redacted_log;
mod reload;
mod rust_tool;
mod secret_files;
mod server;
mod service_manager;
mod signals;
mod snippets;
pub mod source;
mod telemetry;
mod toolkit;

/// The JSON library that the types here are made of, in the version they need.
pub use serde_json;
pub use toolmux_core::message::Message;
pub use toolmux_core::outcome::{Retry, ToolError};
pub use toolmux_core::progress::{Progress, Update};
pub use toolmux_core::secret::Secret;
pub use toolmux_core::tool::Hints;
pub use toolmux_core::version::Version;
pub use toolmux_core::{limits::Limits, requirements};
pub use toolmux_http::client::HttpLimits;
pub use toolmux_protocols::model;

pub use self::clients::{ats, opentool, oxp};
pub use self::rust_tool::{Context, RustTool, ToolFn, tool};
pub use self::server::{Running, Server};
pub use self::toolkit::Toolkit;

/// Turns this process into one of those that toolmux starts from its own program, if it was started as one, and does
/// not return then: the worker of a C library, the launcher of a program in a sandbox, or the watcher that kills the
/// children of a process that was killed.
/// Call it first in `main`, before anything starts threads or opens files.
pub fn become_worker_if_asked() {
    toolmux_protocols::opendyn::become_worker_if_asked();
    toolmux_protocols::become_launcher_if_asked();
    toolmux_protocols::become_watcher_if_asked();
}

/// The guide for writers of tools, so that its code is compiled.
#[cfg(doctest)]
#[doc = include_str!("../docs/sdk.md")]
struct Guide;
