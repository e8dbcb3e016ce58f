//! Calls as tasks: a part of 2025-11-25, and the extension `io.modelcontextprotocol/tasks` of 2026-07-28.
//! They are the tasks of every other protocol too: an id is good wherever its caller asks.

mod call;
mod early;
mod methods;
mod shape;
mod watch;

pub(super) use self::call::{Plan, call};
pub(super) use self::early::{named, resume};
pub(super) use self::methods::{answer, declared, tell};
