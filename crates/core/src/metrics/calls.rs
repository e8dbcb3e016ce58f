//! What is counted of calls, from their receipts: by tool, by caller and protocol, by source, and by step.

use std::time::Instant;

use super::busiest::BusiestTable;
use super::family::{MetricFamily, MetricLabels, NumberSample};
use super::histogram::{DurationHistogram, TracedValue};
use crate::limits::Limits;
use crate::receipt::{ERROR_NAMES, STEP_NAMES};

/// How many sources are told apart; a configuration has fewer.
const MOST_SOURCES: usize = 1_000;
/// How many protocols of one caller are told apart; there are fewer.
const MOST_PROTOCOLS: usize = 16;
/// The label of calls that the program makes by itself.
const NO_PROTOCOL: &str = "none";
/// The label of calls whose tool there is not, or not for their caller, who wrote its name.
const UNKNOWN_TOOL: &str = "unknown";

const RESULTS: [&str; 5] = ["returned", "failed", "refused", "cancelled", "repeated"];

/// How a call ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallResult {
    Returned,
    Failed,
    Refused,
    Cancelled,
    /// The answer is that of an earlier call.
    Repeated,
}

/// What is counted of one call.
#[derive(Debug)]
pub(crate) struct MeasuredCall<'a> {
    /// The tool with its version, or what was relayed.
    pub(crate) tool: &'a str,
    /// Absent where there is no such tool for the caller.
    pub(crate) source: Option<&'a str>,
    /// What was asked of the source, where that is not a call.
    pub(crate) method: Option<&'a str>,
    pub(crate) caller: &'a str,
    pub(crate) protocol: &'a str,
    pub(crate) result: CallResult,
    pub(crate) us: u64,
    /// How long each step took; absent for steps that were not taken.
    pub(crate) steps: [Option<u64>; STEP_NAMES.len()],
    pub(crate) attempts: u64,
    /// How many attempts failed, by error.
    pub(crate) errors: [u64; ERROR_NAMES.len()],
    pub(crate) traced: Option<TracedValue>,
}

/// Everything that is counted of calls.
#[derive(Clone, Debug)]
pub(crate) struct CallMetrics {
    tools: BusiestTable<ToolCounts>,
    callers: BusiestTable<CallerCounts>,
    sources: BusiestTable<SourceCounts>,
    steps: [DurationHistogram; STEP_NAMES.len()],
    /// The label of a relay is made in it.
    label: String,
}

#[derive(Clone, Debug, Default)]
struct ToolCounts {
    results: [u64; RESULTS.len()],
    seconds: DurationHistogram,
}

#[derive(Clone, Debug, Default)]
struct CallerCounts(Vec<ProtocolCounts>);

#[derive(Clone, Debug)]
struct ProtocolCounts {
    protocol: Box<str>,
    results: [u64; RESULTS.len()],
    us: u64,
}

#[derive(Clone, Debug, Default)]
struct SourceCounts {
    attempts: u64,
    errors: [u64; ERROR_NAMES.len()],
}

impl Default for CallMetrics {
    fn default() -> Self {
        let limits = Limits::default();
        CallMetrics {
            tools: BusiestTable::new(limits.metrics_tools),
            callers: BusiestTable::new(limits.metrics_callers),
            sources: BusiestTable::new(MOST_SOURCES),
            steps: Default::default(),
            label: String::new(),
        }
    }
}

impl CallMetrics {
    /// How many tools and callers are told apart from now on.
    pub(crate) fn resize(&mut self, limits: &Limits) {
        self.tools.resize(limits.metrics_tools);
        self.callers.resize(limits.metrics_callers);
    }

    pub(crate) fn add(&mut self, call: &MeasuredCall<'_>, now: Instant) {
        let result = call.result as usize;
        let tool = match (call.source, call.method) {
            (Some(source), Some(method)) => {
                self.label.clear();
                self.label.extend([source, ".", method]);
                &self.label
            }
            // All versions of a tool are one series.
            (Some(_), None) => call.tool.split_once('@').map_or(call.tool, |(tool, _version)| tool),
            (None, _) => UNKNOWN_TOOL,
        };
        let tool = self.tools.of(tool, now);
        tool.results[result] += 1;
        if call.attempts > 0 {
            tool.seconds.observe(call.us, call.traced);
        }
        self.callers.of(call.caller, now).add(call.protocol, result, call.us);
        if let Some(source) = call.source.filter(|_| call.attempts > 0) {
            let source = self.sources.of(source, now);
            source.attempts += call.attempts;
            source.errors.iter_mut().zip(call.errors).for_each(|(sum, errors)| *sum += errors);
        }
        for (histogram, us) in self.steps.iter_mut().zip(call.steps) {
            if let Some(us) = us {
                histogram.observe(us, call.traced);
            }
        }
    }

    /// The results of one tool, and how long its calls took.
    pub(super) fn tool(&self, name: &str) -> Option<(&[u64; RESULTS.len()], &DurationHistogram)> {
        self.tools.get(name).map(|counts| (&counts.results, &counts.seconds))
    }

    /// The same of every tool, those that are counted together being one.
    pub(super) fn tools(&self) -> impl Iterator<Item = (&[u64; RESULTS.len()], &DurationHistogram)> {
        self.tools.iter().map(|(_, counts)| (&counts.results, &counts.seconds))
    }

    pub(crate) fn families(&self) -> Vec<MetricFamily> {
        vec![
            MetricFamily::counter("toolmux_calls", "Calls by tool and result", self.results()),
            MetricFamily::histogram(
                "toolmux_call_seconds",
                "Duration of calls that their source was asked for",
                self.tools
                    .iter()
                    .filter(|(_, counts)| !counts.seconds.is_empty())
                    .map(|(tool, counts)| counts.seconds.sample(vec![("tool", tool.to_owned())]))
                    .collect(),
            ),
            MetricFamily::histogram(
                "toolmux_step_seconds",
                "Duration of the steps of calls",
                STEP_NAMES
                    .iter()
                    .zip(&self.steps)
                    .map(|(step, histogram)| histogram.sample(vec![("step", (*step).to_owned())]))
                    .collect(),
            ),
            MetricFamily::counter(
                "toolmux_caller_calls",
                "Calls by caller, protocol and result",
                self.by_caller(|labels, counts| results(&labels, &counts.results)),
            ),
            MetricFamily::counter(
                "toolmux_caller_seconds",
                "Duration of all calls by caller and protocol",
                self.by_caller(|labels, counts| vec![NumberSample { labels, value: counts.us as f64 / 1e6 }]),
            ),
            MetricFamily::counter(
                "toolmux_source_attempts",
                "How often a source was asked for calls, retries included",
                self.by_source(|labels, counts| vec![NumberSample::new(labels, counts.attempts)]),
            ),
            MetricFamily::counter(
                "toolmux_source_errors",
                "Attempts to which a source gave no outcome, by reason",
                self.by_source(|labels, counts| named(&labels, "error", &ERROR_NAMES, &counts.errors)),
            ),
        ]
    }

    fn results(&self) -> Vec<NumberSample> {
        let of_tool =
            |(tool, counts): (&str, &ToolCounts)| results(&vec![("tool", tool.to_owned())], &counts.results);
        self.tools.iter().flat_map(of_tool).collect()
    }

    fn by_caller(
        &self,
        samples: impl Fn(MetricLabels, &ProtocolCounts) -> Vec<NumberSample>,
    ) -> Vec<NumberSample> {
        let pairs =
            self.callers.iter().flat_map(|(caller, counts)| counts.0.iter().map(move |of| (caller, of)));
        let labelled = |(caller, counts): (&str, &ProtocolCounts)| {
            let labels = vec![("caller", caller.to_owned()), ("protocol", counts.protocol.to_string())];
            samples(labels, counts)
        };
        pairs.flat_map(labelled).collect()
    }

    fn by_source(
        &self,
        samples: impl Fn(MetricLabels, &SourceCounts) -> Vec<NumberSample>,
    ) -> Vec<NumberSample> {
        let asked = self.sources.iter().filter(|(_, counts)| counts.attempts > 0);
        asked.flat_map(|(source, counts)| samples(vec![("source", source.to_owned())], counts)).collect()
    }
}

impl CallerCounts {
    fn add(&mut self, protocol: &str, result: usize, us: u64) {
        let protocol = if protocol.is_empty() { NO_PROTOCOL } else { protocol };
        let known = self.0.iter().position(|counts| *counts.protocol == *protocol);
        let place = known.unwrap_or_else(|| {
            if self.0.len() < MOST_PROTOCOLS {
                self.0.push(ProtocolCounts { protocol: protocol.into(), results: Default::default(), us: 0 });
            }
            self.0.len() - 1
        });
        let counts = &mut self.0[place];
        counts.results[result] += 1;
        counts.us = counts.us.saturating_add(us);
    }
}

fn results(labels: &MetricLabels, counts: &[u64; RESULTS.len()]) -> Vec<NumberSample> {
    named(labels, "result", &RESULTS, counts)
}

/// A sample for each name that was counted, with the name as one more label.
fn named(labels: &MetricLabels, label: &'static str, names: &[&str], counts: &[u64]) -> Vec<NumberSample> {
    let counted = names.iter().zip(counts).filter(|(_, count)| **count > 0);
    let sample = |(name, count): (&&str, &u64)| {
        let mut labels = labels.clone();
        labels.push((label, (*name).to_owned()));
        NumberSample::new(labels, *count)
    };
    counted.map(sample).collect()
}
