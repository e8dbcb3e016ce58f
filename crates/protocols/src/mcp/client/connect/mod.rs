//! The one connection to a server: opening it, finding out what the server speaks and has, opening it again.

pub(in crate::mcp) mod changes;
pub(in crate::mcp) mod connecting;
pub(in crate::mcp) mod connection;
pub(in crate::mcp) mod greet;
pub(in crate::mcp) mod listing;
pub(in crate::mcp) mod reconnect_delay;
