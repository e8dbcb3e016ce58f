//! What the API answers and pages show: the same numbers and words for both.

mod callers;
mod calls;
mod overview;
mod sources;
mod tool;
mod tools;

pub(crate) use self::callers::{CallerAccess, CallerRow, access, callers};
pub(crate) use self::calls::{find_receipt, listed_receipts};
pub(crate) use self::overview::{Flow, Overview, flows, overview};
pub(crate) use self::sources::{SourceRow, sources};
pub(crate) use self::tool::{ToolDetail, tool_detail};
pub(crate) use self::tools::{ToolFilter, ToolList, ToolRow, tools};
