//! Counters of the one path, in Prometheus form. Each tool's are made at its first call, so that a large
//! catalogue costs nothing until it is used.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use prometheus::core::Collector;
use prometheus::proto::{Metric, MetricFamily};
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

/// Upper bounds in seconds.
const BUCKETS: [f64; 12] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0];

/// All metrics of one gateway.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    calls: IntCounterVec,
    seconds: HistogramVec,
    running: IntGaugeVec,
    refusals: IntCounterVec,
    audit_dropped: IntCounterVec,
    receipts_lost: IntCounter,
    telemetry_dropped: IntCounter,
    tools: IntGaugeVec,
    ready: IntGaugeVec,
    /// Tools that were called since the start, also by a source that was made anew since.
    called: Mutex<HashSet<Box<str>>>,
}

/// The metrics of one tool.
#[derive(Debug)]
pub struct ToolMetrics {
    /// Calls whose tool returned.
    pub returned: IntCounter,
    /// Calls whose tool failed.
    pub failed: IntCounter,
    /// Calls that did not reach their tool.
    pub refused: IntCounter,
    /// How long calls took.
    pub seconds: Histogram,
    /// Calls running now.
    pub running: IntGauge,
}

/// What was counted of all calls since the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallTotals {
    /// Calls whose tool returned.
    pub returned: u64,
    /// Calls whose tool failed.
    pub failed: u64,
    /// Calls of a known tool that did not reach it.
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

impl Default for Metrics {
    fn default() -> Self {
        let registry = Registry::new();
        let metrics = Metrics {
            calls: counters("toolmux_calls_total", "Calls by tool and result", &["tool", "result"]),
            seconds: HistogramVec::new(
                HistogramOpts::new("toolmux_call_seconds", "Duration of calls").buckets(BUCKETS.to_vec()),
                &["tool"],
            )
            .expect("a constant name is valid"),
            running: gauges("toolmux_calls_running", "Calls running now", &["tool"]),
            refusals: counters("toolmux_refusals_total", "Requests refused, by reason", &["reason"]),
            audit_dropped: counters(
                "toolmux_audit_dropped_total",
                "Audit records that were dropped because the queue was full",
                &["action"],
            ),
            receipts_lost: IntCounter::new(
                "toolmux_receipts_lost_total",
                "Receipts that were not written, because the store did not take them in time",
            )
            .expect("a constant name is valid"),
            telemetry_dropped: IntCounter::new(
                "toolmux_telemetry_dropped_total",
                "Calls whose spans were not exported, because the collector did not take them",
            )
            .expect("a constant name is valid"),
            tools: gauges("toolmux_source_tools", "Tools served by a source", &["source"]),
            ready: gauges("toolmux_source_ready", "1 if the last listing of a source succeeded", &["source"]),
            registry,
            called: Mutex::default(),
        };
        for collector in [
            Box::new(metrics.calls.clone()) as Box<dyn Collector>,
            Box::new(metrics.seconds.clone()),
            Box::new(metrics.running.clone()),
            Box::new(metrics.refusals.clone()),
            Box::new(metrics.audit_dropped.clone()),
            Box::new(metrics.receipts_lost.clone()),
            Box::new(metrics.telemetry_dropped.clone()),
            Box::new(metrics.tools.clone()),
            Box::new(metrics.ready.clone()),
        ] {
            metrics.registry.register(collector).expect("constant names are distinct");
        }
        metrics
    }
}

impl Metrics {
    /// The metrics of one tool.
    pub fn of_tool(&self, tool: &str) -> ToolMetrics {
        self.called.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.into());
        ToolMetrics {
            returned: self.calls.with_label_values(&[tool, "returned"]),
            failed: self.calls.with_label_values(&[tool, "failed"]),
            refused: self.calls.with_label_values(&[tool, "refused"]),
            seconds: self.seconds.with_label_values(&[tool]),
            running: self.running.with_label_values(&[tool]),
        }
    }

    /// The metrics of a tool, if it was called since the start: looking at one makes none.
    pub fn counted(&self, tool: &str) -> Option<ToolMetrics> {
        let was_called = self.called.lock().unwrap_or_else(PoisonError::into_inner).contains(tool);
        was_called.then(|| self.of_tool(tool))
    }

    /// Counts a refusal.
    pub fn refused(&self, reason: &str) {
        self.refusals.with_label_values(&[reason]).inc();
    }

    /// Counts an audit record that was dropped.
    pub fn audit_dropped(&self, action: &str) {
        self.audit_dropped.with_label_values(&[action]).inc();
    }

    /// Counts receipts that were lost.
    pub fn receipts_lost(&self, receipts: u64) {
        self.receipts_lost.inc_by(receipts);
    }

    /// Counts calls whose spans were not exported.
    pub fn telemetry_dropped(&self, calls: u64) {
        self.telemetry_dropped.inc_by(calls);
    }

    /// Notes that a source answered.
    pub fn source_ready(&self, source: &str, tools: usize) {
        self.ready.with_label_values(&[source]).set(1);
        self.source_tools(source, tools);
    }

    /// Notes that a source did not answer; the tools it listed before stay.
    pub fn source_failing(&self, source: &str, tools: usize) {
        self.ready.with_label_values(&[source]).set(0);
        self.source_tools(source, tools);
    }

    fn source_tools(&self, source: &str, tools: usize) {
        self.tools.with_label_values(&[source]).set(i64::try_from(tools).unwrap_or(i64::MAX));
    }

    /// Forgets a source that is no longer configured.
    pub fn source_gone(&self, source: &str) {
        self.ready.remove_label_values(&[source]).ok();
        self.tools.remove_label_values(&[source]).ok();
    }

    /// What was counted of all calls: the sums of the counters that [`Metrics::text`] shows. Its cost grows with the number
    /// of tools that were called.
    pub fn totals(&self) -> CallTotals {
        let mut totals = CallTotals { at_most: BUCKETS.map(|bound| (bound, 0)).into(), ..Default::default() };
        for (labels, count) in counts(&self.calls) {
            match labels.get("result").map(String::as_str) {
                Some("returned") => totals.returned += count,
                Some("failed") => totals.failed += count,
                _ => totals.refused += count,
            }
        }
        let reason = |(mut labels, count): (HashMap<String, String>, u64)| {
            (labels.remove("reason").unwrap_or_default(), count)
        };
        totals.refusals = counts(&self.refusals).into_iter().map(reason).collect();
        totals.refusals.sort();
        for family in self.running.collect() {
            let values = family.get_metric().iter().map(|metric| metric.get_gauge().get_value());
            totals.running += values.sum::<f64>().max(0.0) as u64;
        }
        for family in self.seconds.collect() {
            for metric in family.get_metric() {
                let histogram = metric.get_histogram();
                totals.timed += histogram.get_sample_count();
                for (total, bucket) in totals.at_most.iter_mut().zip(histogram.get_bucket()) {
                    total.1 += bucket.cumulative_count();
                }
            }
        }
        totals
    }

    /// All of them as Prometheus text.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text).expect("writing to memory cannot fail");
        String::from_utf8(text).expect("Prometheus text is UTF-8")
    }
}

/// What each counter of a family counted, with its labels.
fn counts(family: &IntCounterVec) -> Vec<(HashMap<String, String>, u64)> {
    let families = family.collect();
    let metrics = families.iter().flat_map(MetricFamily::get_metric);
    let labels = |metric: &Metric| {
        metric.get_label().iter().map(|pair| (pair.name().to_owned(), pair.value().to_owned())).collect()
    };
    metrics.map(|metric| (labels(metric), metric.get_counter().get_value() as u64)).collect()
}

fn counters(name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    IntCounterVec::new(Opts::new(name, help), labels).expect("a constant name is valid")
}

fn gauges(name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    IntGaugeVec::new(Opts::new(name, help), labels).expect("a constant name is valid")
}
