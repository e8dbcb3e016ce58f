//! What is counted where it happens: refusals, what had to be dropped, and how long tasks waited.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::family::{MetricFamily, NumberSample};
use super::histogram::SharedHistogram;
use crate::audit::AuditAction;
use crate::refusal::Refusal;

/// What is exported to a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExportedSignal {
    /// Spans of calls and their steps.
    Traces,
    /// What is counted and measured.
    Metrics,
    /// Records of the log of this process.
    Logs,
}

impl ExportedSignal {
    const ALL: [ExportedSignal; 3] = [ExportedSignal::Traces, ExportedSignal::Metrics, ExportedSignal::Logs];

    /// The word for it, as addresses of collectors have it.
    pub fn as_str(self) -> &'static str {
        match self {
            ExportedSignal::Traces => "traces",
            ExportedSignal::Metrics => "metrics",
            ExportedSignal::Logs => "logs",
        }
    }
}

/// The counters of one gateway.
#[derive(Debug, Default)]
pub struct Metrics {
    refusals: [AtomicU64; Refusal::NAMES.len()],
    audit_dropped: [AtomicU64; AuditAction::ALL.len()],
    receipts_lost: AtomicU64,
    telemetry_dropped: [AtomicU64; ExportedSignal::ALL.len()],
    task_wait: TaskWait,
}

#[derive(Debug)]
struct TaskWait(SharedHistogram);

impl Default for TaskWait {
    fn default() -> Self {
        TaskWait(SharedHistogram::of_durations())
    }
}

impl Metrics {
    /// Counts a refusal.
    pub fn refused(&self, refusal: &Refusal) {
        let place = Refusal::NAMES.iter().position(|name| *name == refusal.name());
        if let Some(counter) = place.and_then(|place| self.refusals.get(place)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts an audit record that was dropped.
    pub fn audit_dropped(&self, action: AuditAction) {
        self.audit_dropped[action as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts receipts that were lost.
    pub fn receipts_lost(&self, receipts: u64) {
        self.receipts_lost.fetch_add(receipts, Ordering::Relaxed);
    }

    /// Counts what was not exported: calls, samples or log records.
    pub fn telemetry_dropped(&self, signal: ExportedSignal, number: u64) {
        self.telemetry_dropped[signal as usize].fetch_add(number, Ordering::Relaxed);
    }

    /// Notes how long a task waited before it ran.
    pub(crate) fn task_began(&self, waited: Duration) {
        self.task_wait.0.observe(waited);
    }

    /// How many requests were refused, by reason, in the order of the reasons.
    pub(crate) fn refusals(&self) -> Vec<(String, u64)> {
        let counted = Refusal::NAMES.iter().zip(&self.refusals);
        let counted = counted.map(|(name, count)| ((*name).to_owned(), count.load(Ordering::Relaxed)));
        let mut refusals: Vec<_> = counted.filter(|(_, count)| *count > 0).collect();
        refusals.sort();
        refusals
    }

    pub(crate) fn families(&self) -> Vec<MetricFamily> {
        let reasons = Refusal::NAMES.iter().zip(&self.refusals);
        let actions = AuditAction::ALL.iter().map(|action| action.as_str()).zip(&self.audit_dropped);
        let signals = ExportedSignal::ALL.iter().map(|signal| signal.as_str()).zip(&self.telemetry_dropped);
        let reasons = reasons.map(|(name, count)| sample("reason", name, count));
        vec![
            MetricFamily::counter("toolmux_refusals", "Requests refused, by reason", reasons.collect()),
            MetricFamily::counter(
                "toolmux_audit_dropped",
                "Audit records that were dropped because the queue was full",
                actions.map(|(name, count)| sample("action", name, count)).collect(),
            ),
            MetricFamily::counter(
                "toolmux_receipts_lost",
                "Receipts that were not written, because the store did not take them in time",
                NumberSample::alone(self.receipts_lost.load(Ordering::Relaxed)),
            ),
            MetricFamily::counter(
                "toolmux_telemetry_dropped",
                "Calls, samples and log records that were not exported, because the collector did not take them",
                signals.map(|(name, count)| sample("signal", name, count)).collect(),
            ),
            MetricFamily::histogram(
                "toolmux_task_wait_seconds",
                "How long tasks waited before they ran",
                vec![self.task_wait.0.sample(Vec::new())],
            ),
        ]
    }
}

fn sample(label: &'static str, name: &str, count: &AtomicU64) -> NumberSample {
    NumberSample::new(vec![(label, name.to_owned())], count.load(Ordering::Relaxed))
}
