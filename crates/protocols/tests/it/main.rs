//! Protocols over real sockets.

mod oxp;
mod oxp_grid;
mod oxp_ledger;
mod oxp_server;
