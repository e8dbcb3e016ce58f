//! Results, errors, tools and lists in the form of the client's revision.

pub(in crate::mcp) mod answer;
pub(in crate::mcp) mod content;
pub(in crate::mcp) mod page;
pub(in crate::mcp) mod refusal;
pub(in crate::mcp) mod result;
pub(in crate::mcp) mod tool;
pub(in crate::mcp) mod upstream;
