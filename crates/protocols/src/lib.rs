//! One folder per protocol: its bytes, its server, its client, its source.
//!
//! To add one: a folder, a `mod` line, and an entry in [`SERVED`] or [`SOURCES`].

pub mod ats;
mod child;
mod command;
pub mod documents;
#[cfg(any(test, fuzzing))]
pub mod fuzz_targets;
mod http_request;
mod http_tools;
pub mod jsonrpc;
pub mod mcp;
pub mod model;
mod openapi;
pub mod opendyn;
mod openrpc;
pub mod opentool;
mod operations;
pub mod oxp;
pub mod registry;
mod rest;
mod tls;
pub mod workflow;

use toolmux_http::serve::Served;

pub use self::child::{Held, become_launcher_if_asked, become_watcher_if_asked, sandbox_here};
use crate::registry::{DocumentKind, SourceKind};

/// How agents talk to us.
pub const SERVED: &[Served] = &[
    opentool::SERVED,
    oxp::SERVED,
    ats::SERVED,
    mcp::SERVED,
    mcp::SERVED_SSE,
    rest::SERVED,
    model::SERVED,
    operations::SERVED,
];

/// Where tools come from. An address that several kinds may answer is the first of them that lists tools: what keeps
/// more of a tool stands before what keeps less.
pub const SOURCES: &[SourceKind] = &[
    command::SOURCE,
    opendyn::SOURCE,
    oxp::SOURCE,
    mcp::SOURCE,
    opentool::SOURCE,
    ats::SOURCE,
    workflow::SOURCE,
    http_tools::SOURCE,
    openapi::SOURCE,
    openrpc::SOURCE,
];

/// What people write and `check` reads.
pub const DOCUMENTS: &[DocumentKind] = &[
    opentool::DOCUMENT,
    opendyn::DOCUMENT,
    workflow::DOCUMENT,
    openapi::DOCUMENT,
    openapi::DOCUMENT_2,
    openrpc::DOCUMENT,
];
