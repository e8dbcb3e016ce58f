//! Servers that want a token of the user.

pub(in crate::mcp) mod authorization;
pub(in crate::mcp) mod own_lists;
pub(in crate::mcp) mod remedy;
