//! The stores, all held to one contract, and what only databases have to survive.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod claims;
mod contract;
mod contract_calls;
mod contract_receipts;
mod contract_shares;
mod contract_tasks;
mod counted;
mod crash;
mod disk_faults;
mod failover;
mod fault_injector;
mod file_access;
mod gateways;
mod lost_file;
mod migrations;
mod notifications;
mod postgres_faults;
mod postgres_server;
mod recovery;
mod silence;
mod silent_proxy;
mod worker;
