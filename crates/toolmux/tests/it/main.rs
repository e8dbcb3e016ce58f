//! The binary and the SDK as a user meets them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod attacks;
mod authority;
mod bad_input;
mod calls;
mod chat;
mod check_documents;
mod children;
mod cli;
mod commands;
mod config;
mod console;
mod demo;
mod describe;
mod describe_idioms;
mod describe_structures;
mod docs;
mod doctor;
mod http_request;
mod init_and_add;
mod keys;
mod life;
mod mcp_leaks;
mod metrics;
mod openapi;
mod opendyn;
mod opendyn_denials;
mod opendyn_described;
mod opendyn_did_not_run;
mod opendyn_faults;
mod opendyn_fixture;
mod opendyn_gallery;
mod opendyn_loopback;
mod opendyn_sharing;
mod opendyn_stories;
mod opendyn_workers;
mod opentool;
mod packaging;
#[path = "../../../store/tests/it/postgres_server.rs"]
mod postgres_server;
mod process;
mod protected;
mod remote;
mod replicas;
mod sdk;
mod sdk_clients;
mod sdk_examples;
mod sdk_running;
mod shaping;
mod snippets;
#[path = "../../../protocols/tests/it/loopback/contract.rs"]
mod source_contract;
mod starting;
mod stopping;
mod store_log;
mod tasks;
mod telemetry;
mod terminal_text;
mod tls;
mod toolkit_loopback;
mod workflows;
mod zero_config;
