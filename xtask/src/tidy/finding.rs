//! One broken rule: where, what, and what to do about it.

use std::fmt;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    what: String,
    remedy: &'static str,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>, remedy: &'static str) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), remedy }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}, {}", self.path, self.line, self.what, self.remedy)
    }
}

/// What a rule's tests compare with: `line: what`, one below the other.
#[cfg(test)]
pub(crate) fn brief(findings: impl IntoIterator<Item = Finding>) -> Vec<String> {
    findings.into_iter().map(|finding| format!("{}: {}", finding.line, finding.what)).collect()
}
