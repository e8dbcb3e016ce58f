//! What each method is answered with, one file for a method or a family of them. The table `mcp/methods.rs` says which
//! method is answered by what.

pub(in crate::mcp) mod capabilities;
pub(in crate::mcp) mod completions;
pub(in crate::mcp) mod discover;
pub(in crate::mcp) mod initialize;
pub(in crate::mcp) mod instructions;
pub(in crate::mcp) mod listen;
pub(in crate::mcp) mod offers;
pub(in crate::mcp) mod ping;
pub(in crate::mcp) mod prompts;
pub(in crate::mcp) mod relay;
pub(in crate::mcp) mod resource_notifier;
pub(in crate::mcp) mod resources;
pub(in crate::mcp) mod set_level;
pub(in crate::mcp) mod subscriptions;
pub(in crate::mcp) mod tools;
