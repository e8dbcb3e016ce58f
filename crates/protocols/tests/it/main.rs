//! Protocols over real sockets.

mod ats;
mod ats_source;
mod model;
mod oxp;
mod oxp_grid;
mod oxp_ledger;
mod oxp_server;
