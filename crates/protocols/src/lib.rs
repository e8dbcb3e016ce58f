//! One folder per protocol: its bytes, its server, its client, its source.
//!
//! To add one: a folder, a `mod` line, and an entry in [`SERVED`] or [`SOURCES`].

pub mod ats;
pub mod auth;
mod child;
mod child_family;
mod child_sandbox;
mod child_sandbox_setting;
#[cfg_attr(not(target_os = "linux"), path = "child_unwatched.rs")]
mod child_watch;
#[cfg(target_os = "linux")]
mod child_watcher;
mod command;
mod curl;
mod exit_status;
pub mod fault;
#[cfg(any(test, fuzzing))]
pub mod fuzz_targets;
pub mod http_client;
mod http_connect;
mod http_error;
mod http_pool;
mod http_resolve;
mod http_status;
mod inlined_schema;
pub mod jsonrpc;
pub mod mcp;
pub mod model;
pub mod network_zone;
pub mod open_stream;
pub mod opendyn;
pub mod opentool;
mod operations;
pub mod oxp;
pub mod oxp_header;
mod protected_resource;
pub mod registry;
pub mod routes;
pub mod sse;
pub mod web;
pub mod workflow;

#[cfg(not(target_os = "linux"))]
pub use self::child_watch::become_watcher_if_asked;
#[cfg(target_os = "linux")]
pub use self::child_watcher::become_watcher_if_asked;

pub use self::child_sandbox::{Held, become_launcher_if_asked, sandbox_here};

use crate::registry::{DocumentKind, Served, SourceKind};

/// How agents talk to us.
pub const SERVED: &[Served] = &[
    opentool::SERVED,
    oxp::SERVED,
    ats::SERVED,
    mcp::SERVED,
    mcp::SERVED_SSE,
    model::SERVED,
    auth::SERVED,
    operations::SERVED,
];

/// Where tools come from.
pub const SOURCES: &[SourceKind] = &[
    command::SOURCE,
    opendyn::SOURCE,
    opentool::SOURCE,
    oxp::SOURCE,
    ats::SOURCE,
    mcp::SOURCE,
    workflow::SOURCE,
];

/// What people write and `check` reads.
pub const DOCUMENTS: &[DocumentKind] = &[opentool::DOCUMENT, opendyn::DOCUMENT, workflow::DOCUMENT];
