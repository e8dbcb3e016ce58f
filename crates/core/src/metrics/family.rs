//! Metrics as they are at one moment, before a format is chosen.

use std::time::SystemTime;

use crate::trace_context::TraceContext;

/// Names and values that tell one sample of a metric from the others.
pub type MetricLabels = Vec<(&'static str, String)>;

/// One metric with all its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricFamily {
    /// The name, which for a counter does not have the `_total` that formats add.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Its kind and its values.
    pub samples: MetricSamples,
}

/// The values of a metric, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricSamples {
    /// Numbers that only grow.
    Counter(Vec<NumberSample>),
    /// Numbers that grow and shrink.
    Gauge(Vec<NumberSample>),
    /// How values are distributed over buckets.
    Histogram(Vec<HistogramSample>),
}

/// The number that a metric has for some labels.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberSample {
    /// What it is of.
    pub labels: MetricLabels,
    /// The number itself, without the unit, which is in the name of the metric.
    pub value: f64,
}

/// The distribution that a metric has for some labels.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramSample {
    /// What it is of.
    pub labels: MetricLabels,
    /// The upper bound of each bucket but the last, which has none.
    pub bounds: Vec<f64>,
    /// How many values are in each bucket, not counting those in smaller ones.
    pub counts: Vec<u64>,
    /// The sum of all values.
    pub sum: f64,
    /// The last traced value of each bucket, by the number of the bucket.
    pub exemplars: Vec<(usize, MetricExemplar)>,
}

/// One value whose trace can be looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricExemplar {
    /// Where it was measured.
    pub span: TraceContext,
    /// The value, in the unit of its metric.
    pub value: f64,
    /// When it was measured.
    pub at: SystemTime,
}

impl MetricFamily {
    /// A metric whose numbers only grow.
    pub fn counter(name: &'static str, help: &'static str, samples: Vec<NumberSample>) -> Self {
        MetricFamily { name, help, samples: MetricSamples::Counter(samples) }
    }

    /// A metric whose numbers grow and shrink.
    pub fn gauge(name: &'static str, help: &'static str, samples: Vec<NumberSample>) -> Self {
        MetricFamily { name, help, samples: MetricSamples::Gauge(samples) }
    }

    /// A metric of distributions.
    pub fn histogram(name: &'static str, help: &'static str, samples: Vec<HistogramSample>) -> Self {
        MetricFamily { name, help, samples: MetricSamples::Histogram(samples) }
    }
}

impl NumberSample {
    /// A number with its labels.
    pub fn new(labels: MetricLabels, value: u64) -> Self {
        NumberSample { labels, value: value as f64 }
    }

    /// A number that needs no label.
    pub fn alone(value: u64) -> Vec<Self> {
        vec![NumberSample::new(Vec::new(), value)]
    }
}
