//! Calls as tasks: a part of 2025-11-25, and the extension `io.modelcontextprotocol/tasks` of 2026-07-28.
//! They are the tasks of every other protocol too: an id is good wherever its caller asks.

mod call;
mod early;
mod methods;
mod shape;
mod watch;

pub(in crate::mcp) use self::call::{Plan, call, resume};
pub(in crate::mcp) use self::early::named;
pub(in crate::mcp) use self::methods::{cancel, declared, get, list, result, tell, update};
