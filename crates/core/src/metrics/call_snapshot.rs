//! What was counted of calls at one moment, for those who show it: of all calls, and of one tool.

use super::calls::CallMetrics;
use super::histogram::{DurationHistogram, cumulative};

/// What was counted of calls until one moment.
#[derive(Clone, Debug)]
pub struct CallSnapshot(CallMetrics);

/// What was counted of all calls since the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallTotals {
    /// Calls whose tool returned.
    pub returned: u64,
    /// Calls whose tool failed.
    pub failed: u64,
    /// Calls that did not reach their tool.
    pub refused: u64,
    /// Calls running now.
    pub running: u64,
    /// Every request refused, by reason, in the order of the reasons.
    pub refusals: Vec<(String, u64)>,
    /// How many calls took at most so many seconds.
    pub at_most: Vec<(f64, u64)>,
    /// How many calls were timed.
    pub timed: u64,
}

/// What was counted of one tool, all its versions together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ToolCallCounts {
    /// Calls that returned.
    pub returned: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls that did not reach the tool.
    pub refused: u64,
    /// How many calls were timed.
    pub timed: u64,
    /// How long those took together.
    pub seconds: f64,
}

impl CallSnapshot {
    pub(crate) fn new(metrics: CallMetrics) -> Self {
        CallSnapshot(metrics)
    }

    /// Of one tool, such as `Math.pow`; none before its first call, nor for a tool that is counted with others because
    /// `limits.metrics_tools` are busier.
    pub fn of_tool(&self, toolkit: &str, tool: &str) -> Option<ToolCallCounts> {
        let (results, seconds) = self.0.tool(&format!("{toolkit}.{tool}"))?;
        let [returned, failed, refused, ..] = *results;
        let (timed, seconds) = seconds.count_and_sum();
        Some(ToolCallCounts { returned, failed, refused, timed, seconds })
    }

    /// Of all calls that have ended: the sums of what `/metrics` shows.
    pub(crate) fn totals(&self) -> CallTotals {
        let mut totals = CallTotals::default();
        let mut all = DurationHistogram::default();
        for ([returned, failed, refused, ..], seconds) in self.0.tools() {
            totals.returned += returned;
            totals.failed += failed;
            totals.refused += refused;
            all.add(seconds);
        }
        totals.at_most = cumulative(&all);
        totals.timed = all.count_and_sum().0;
        totals
    }
}
