//! Which receipts somebody wants to see. One filter for memory, stores and the command line.

use std::time::SystemTime;

use super::record::Receipt;
use crate::names::ToolRef;
use crate::toolset::fits;

/// Which receipts are wanted; absent members fit all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiptFilter {
    /// The name of the caller, where `*` stands for any text.
    pub caller: Option<String>,
    /// A pattern over `Toolkit.tool`, where `*` stands for any text; a name without a version fits every version.
    pub tool: Option<String>,
    /// Only what did not end well.
    pub failed: bool,
    /// Not those that began before.
    pub since: Option<SystemTime>,
}

impl ReceiptFilter {
    /// True for a receipt that is wanted.
    pub fn fits(&self, receipt: &Receipt) -> bool {
        self.caller.as_ref().is_none_or(|caller| fits(caller, &receipt.caller))
            && self.tool.as_ref().is_none_or(|tool| fits_tool(tool, &receipt.tool))
            && (!self.failed || receipt.is_failed())
            && self.since.is_none_or(|since| receipt.id.at() >= since)
    }
}

fn fits_tool(pattern: &str, tool: &str) -> bool {
    let unversioned = || ToolRef { version: None, ..ToolRef::either(tool) }.to_string();
    fits(pattern, tool) || fits(pattern, &unversioned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_with_and_without_a_version() {
        for (pattern, tool, expect) in [
            ("Kit.add", "Kit.add@1.0.0", true),
            ("Kit.*", "Kit.add@1.0.0", true),
            ("Kit.add@1.*", "Kit.add@1.0.0", true),
            ("Kit.add@2.0.0", "Kit.add@1.0.0", false),
            ("add", "Kit.add@1.0.0", false),
            ("no such", "no such", true),
        ] {
            assert_eq!(fits_tool(pattern, tool), expect, "{pattern} {tool}");
        }
    }
}
