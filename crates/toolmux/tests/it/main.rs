//! The binary and the SDK as a user meets them.

mod bad_input;
mod cli;
mod config;
mod life;
mod opendyn;
mod opendyn_faults;
mod opendyn_fixture;
mod opendyn_gallery;
mod process;
mod sdk;
