//! MCP's own conformance suite, and real servers and clients of both eras.

use std::time::Duration;

use super::Suite;
use crate::need::{GIT, NODE, PYTHON_VENV};

/// The suite wants a newer Node.js than Debian has; npm has one.
const NEWER_NODE: &str = "node@22.23.3";

pub(super) const CONFORMANCE: Suite = Suite {
    name: "mcp-conformance",
    about: "MCP's conformance suite, both requirement sets: as a server in front of both eras and natively, and as a client",
    needs: &[NODE, PYTHON_VENV],
    python: &[],
    node: &["@modelcontextprotocol/conformance@0.2.0-alpha.12", NEWER_NODE],
    command: &["python3", "tests/peers/mcp/run_conformance.py"],
    limit: Duration::from_mins(10),
};

pub(super) const WORLD: Suite = Suite {
    name: "mcp-world",
    about: "MCP servers of three revisions behind us, clients of both eras and of HTTP+SSE in front",
    needs: &[NODE, PYTHON_VENV, GIT],
    python: &["mcp==2.3.0", "mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19"],
    node: &[
        "@modelcontextprotocol/inspector@0.15.0",
        "@modelcontextprotocol/sdk@1.32.2",
        // The client of its time, for HTTP+SSE: under another name, beside the present one.
        "old-mcp-sdk@npm:@modelcontextprotocol/sdk@1.10.2",
        "@modelcontextprotocol/server-everything@2026.8.31",
        "@modelcontextprotocol/server-filesystem@2026.8.31",
        "@modelcontextprotocol/server-postgres@0.6.2",
        NEWER_NODE,
    ],
    command: &["python3", "tests/peers/mcp/run_world.py"],
    limit: Duration::from_mins(10),
};

/// Dozens of servers from npm and PyPI, listed in `tests/peers/mcp/world/servers.toml`. By hand only: they take
/// gigabytes and an hour to install, and other people's registries to do it.
pub(super) const SERVERS: Suite = Suite {
    name: "mcp-servers",
    about: "at least 60 real MCP servers, each alone and all behind one toolmux: no tool is lost",
    needs: &[NODE, PYTHON_VENV, GIT],
    python: &["uv==0.13.7"],
    node: &[NEWER_NODE],
    command: &["python3", "tests/peers/mcp/world/run.py"],
    limit: Duration::from_hours(4),
};

/// Built apart: nearly two minutes of processor time that the build of the product does not need.
pub(super) const RUST_SDK: Suite = Suite {
    name: "mcp-rmcp",
    about: "the official Rust SDK as a server behind us and as clients of both eras in front",
    needs: &[],
    python: &[],
    node: &[],
    command: &[
        "sh",
        "-c",
        "exec cargo run --quiet --locked --manifest-path tests/peers/mcp/rmcp/Cargo.toml \
         --target-dir \"$TOOLMUX_SCRATCH/../target\"",
    ],
    limit: Duration::from_mins(15),
};
