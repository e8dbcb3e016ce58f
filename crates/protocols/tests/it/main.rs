//! Protocols over real sockets and real child processes.

mod ats;
mod ats_source;
mod auth;
mod auth_provider;
mod idempotency;
mod mcp_client;
mod mcp_fixture;
mod mcp_http;
mod mcp_relay;
mod mcp_stdio;
mod mcp_streams;
mod model;
mod opentool;
mod opentool_client;
mod opentool_document;
mod opentool_express;
mod opentool_grid;
mod opentool_server;
mod opentool_source;
mod oxp;
mod oxp_client;
mod oxp_delivery;
mod oxp_grid;
mod oxp_ledger;
mod oxp_server;
mod workflow;
