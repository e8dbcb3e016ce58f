//! What a running tool tells and asks, passed on to its client in the way of its era.

pub(in crate::mcp) mod ask;
pub(in crate::mcp) mod suspended;
pub(in crate::mcp) mod update_notifier;
