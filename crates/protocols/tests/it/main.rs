//! Protocols over real sockets and real child processes.

mod mcp_client;
mod mcp_fixture;
mod mcp_http;
mod mcp_relay;
mod mcp_stdio;
mod oxp;
mod oxp_grid;
mod oxp_ledger;
mod oxp_server;
