//! Protocols over real sockets.

mod auth;
mod auth_provider;
mod oxp;
mod oxp_client;
mod oxp_delivery;
mod oxp_grid;
mod oxp_ledger;
mod oxp_server;
