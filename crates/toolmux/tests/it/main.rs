//! The binary and the SDK as a user meets them.

mod bad_input;
mod chat;
mod cli;
mod config;
mod describe;
mod doctor;
mod init_and_add;
mod life;
mod mcp_leaks;
mod opendyn;
mod opendyn_faults;
mod opendyn_fixture;
mod opendyn_gallery;
mod opendyn_workers;
mod opentool;
mod process;
mod protected;
mod sdk;
mod tasks;
mod zero_config;
