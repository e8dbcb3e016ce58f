//! The binary and the SDK as a user meets them.

mod bad_input;
mod chat;
mod cli;
mod config;
mod life;
mod opentool;
mod process;
mod sdk;
mod tasks;
