//! Samples of the counters, for charts: taken from time to time beside the calls, so that a call costs the same whoever looks.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::time::{Instant, sleep};
use toolmux_core::gateway::Gateway;
use toolmux_core::metrics::CallTotals;

/// How often a sample is taken.
const EVERY: Duration = Duration::from_secs(5);
/// How many minutes are kept.
const MINUTES: usize = 60;
/// How many samples are one minute.
const IN_A_MINUTE: usize = 12;
/// How long totals are good for all who look: summing them up costs more the more tools were called.
const FRESH: Duration = Duration::from_millis(300);

/// The samples of the last hour.
#[derive(Debug, Default)]
pub(crate) struct Series {
    samples: Mutex<VecDeque<CallTotals>>,
    last: Mutex<Option<(Instant, CallTotals)>>,
}

/// What was counted within a minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct MinuteCounts {
    /// How many minutes ago it ended.
    pub(crate) ago: usize,
    pub(crate) returned: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    /// Latencies in seconds of which half, 95 % and 99 % of the calls were at most; absent without calls.
    pub(crate) p50: Option<f64>,
    pub(crate) p95: Option<f64>,
    pub(crate) p99: Option<f64>,
}

impl Series {
    /// Takes samples for as long as the gateway lives.
    pub(crate) async fn sample(&self, gateway: &Weak<Gateway>) {
        while let Some(gateway) = gateway.upgrade() {
            let totals = gateway.call_totals();
            drop(gateway);
            self.keep(totals);
            sleep(EVERY).await;
        }
    }

    fn keep(&self, totals: CallTotals) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() > MINUTES * IN_A_MINUTE {
            samples.pop_front();
        }
        samples.push_back(totals);
    }

    /// What was counted until now, at most a moment old.
    pub(crate) fn totals(&self, gateway: &Gateway) -> CallTotals {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((at, totals)) if at.elapsed() < FRESH => totals.clone(),
            _ => {
                let totals = gateway.call_totals();
                *last = Some((Instant::now(), totals.clone()));
                totals
            }
        }
    }

    /// The last minutes, oldest first; the newest one goes until now.
    pub(crate) fn minutes(&self, now: &CallTotals) -> Vec<MinuteCounts> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ends: Vec<&CallTotals> = samples.iter().rev().step_by(IN_A_MINUTE).collect();
        ends.reverse();
        ends.push(now);
        let last = ends.len().saturating_sub(2);
        ends.windows(2).enumerate().map(|(place, pair)| counted(pair[0], pair[1], last - place)).collect()
    }
}

fn counted(from: &CallTotals, to: &CallTotals, ago: usize) -> MinuteCounts {
    MinuteCounts {
        ago,
        returned: to.returned.saturating_sub(from.returned),
        failed: to.failed.saturating_sub(from.failed),
        refused: refused(to).saturating_sub(refused(from)),
        p50: percentile(from, to, 0.50),
        p95: percentile(from, to, 0.95),
        p99: percentile(from, to, 0.99),
    }
}

/// How many requests were refused, whatever the reason and also before their tool was known.
pub(crate) fn refused(totals: &CallTotals) -> u64 {
    totals.refusals.iter().map(|(_, count)| count).sum()
}

/// The latency that a share of the calls between two samples did not exceed, by the bounds of the histogram and evenly
/// between them.
pub(crate) fn percentile(from: &CallTotals, to: &CallTotals, share: f64) -> Option<f64> {
    let calls = to.timed.saturating_sub(from.timed);
    if calls == 0 {
        return None;
    }
    let wanted = calls as f64 * share;
    let (mut below, mut lower) = (0.0, 0.0);
    for (place, (bound, count)) in to.at_most.iter().enumerate() {
        let before = from.at_most.get(place).map_or(0, |(_, count)| *count);
        let within = count.saturating_sub(before) as f64;
        if within >= wanted {
            let part = if within > below { (wanted - below) / (within - below) } else { 1.0 };
            return Some(lower + (bound - lower) * part);
        }
        (below, lower) = (within, *bound);
    }
    Some(lower)
}

/// A time as RFC 3339 has it, in milliseconds.
pub(crate) fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(returned: u64, at_most: &[(f64, u64)], timed: u64) -> CallTotals {
        CallTotals { returned, at_most: at_most.to_vec(), timed, ..CallTotals::default() }
    }

    #[test]
    fn percentiles_are_those_of_the_calls_between_two_samples() {
        let from = totals(0, &[(0.1, 100), (1.0, 100)], 100);
        let to = totals(0, &[(0.1, 150), (1.0, 200)], 200);
        assert_eq!(percentile(&from, &to, 0.25), Some(0.05));
        assert_eq!(percentile(&from, &to, 0.75), Some(0.55));
        assert_eq!(percentile(&to, &to, 0.5), None);
    }

    #[test]
    fn minutes_are_differences_that_add_up_to_the_totals() {
        let series = Series::default();
        for count in 0..=24 {
            series.samples.lock().unwrap().push_back(totals(count, &[], 0));
        }
        let minutes = series.minutes(&totals(30, &[], 0));
        assert_eq!(minutes.iter().map(|minute| minute.returned).collect::<Vec<_>>(), [12, 12, 6]);
        assert_eq!(minutes.iter().map(|minute| minute.ago).collect::<Vec<_>>(), [2, 1, 0]);
    }
}
