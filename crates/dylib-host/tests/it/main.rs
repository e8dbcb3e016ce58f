//! One integration binary: every row of the fixture table, in-process and through a real worker.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a test that fails")]

mod allocation;
mod buffers;
mod crash;
mod denials;
mod endings;
mod fixture;
mod handles;
mod hang;
mod launcher;
mod loading;
mod numbers;
mod orphans;
mod plans;
mod properties;
mod protocol;
mod real_libraries;
mod resources;
mod sandbox;
mod strings;
mod worker;
