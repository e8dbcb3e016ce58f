//! Metrics: what is counted, and the formats of Prometheus and OpenMetrics.
//!
//! What concerns single calls is counted from their receipts, in batches, so that a call writes its receipt and nothing
//! else. All else is counted where it happens, by atomic counters, or asked for when somebody reads the metrics.

mod busiest;
mod call_snapshot;
mod calls;
mod counters;
mod exposition;
mod family;
mod histogram;

pub use self::call_snapshot::{CallSnapshot, CallTotals, ToolCallCounts};
pub(crate) use self::calls::{CallMetrics, CallResult, MeasuredCall};
pub use self::counters::{ExportedSignal, Metrics};
pub use self::exposition::MetricsFormat;
pub use self::family::{
    HistogramSample, MetricExemplar, MetricFamily, MetricLabels, MetricSamples, NumberSample,
};
pub use self::histogram::SharedHistogram;
pub(crate) use self::histogram::TracedValue;
