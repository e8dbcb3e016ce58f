//! Distributions: one that a lock guards, for what is counted in batches, and one that many threads count in at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::family::{HistogramSample, MetricExemplar, MetricLabels};
use crate::trace_context::TraceContext;

const MICROS_PER_SECOND: f64 = 1e6;

/// Upper bounds of durations in microseconds: a step of a call takes a few of them, a call up to a minute.
const DURATIONS: [u64; 14] = [
    10, 50, 100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000,
    60_000_000,
];
/// Upper bounds of numbers of things.
const SIZES: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const BUCKETS: usize = DURATIONS.len() + 1;

/// A traced value of a bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TracedValue {
    pub(crate) span: TraceContext,
    pub(crate) at: SystemTime,
}

/// The last traced value of each bucket, with its microseconds.
type LastTraced = [Option<(TracedValue, u64)>; BUCKETS];

/// Durations, counted by whoever holds the lock.
#[derive(Clone, Debug, Default)]
pub(super) struct DurationHistogram {
    counts: [u64; BUCKETS],
    sum_us: u64,
    /// Made for the first traced value.
    exemplars: Option<Box<LastTraced>>,
}

impl DurationHistogram {
    pub(super) fn observe(&mut self, us: u64, traced: Option<TracedValue>) {
        let bucket = bucket_of(&DURATIONS, us);
        self.counts[bucket] += 1;
        self.sum_us = self.sum_us.saturating_add(us);
        if let Some(traced) = traced {
            self.exemplars.get_or_insert_default()[bucket] = Some((traced, us));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// How many durations there are, and their sum in seconds.
    pub(super) fn count_and_sum(&self) -> (u64, f64) {
        (self.counts.iter().sum(), self.sum_us as f64 / MICROS_PER_SECOND)
    }

    /// Adds what another has counted, without its exemplars.
    pub(super) fn add(&mut self, other: &DurationHistogram) {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, count)| *sum += count);
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
    }

    pub(super) fn sample(&self, labels: MetricLabels) -> HistogramSample {
        let traced = self.exemplars.iter().flat_map(|exemplars| exemplars.iter().enumerate());
        let exemplar = |(bucket, traced): (usize, &Option<(TracedValue, u64)>)| {
            let (TracedValue { span, at }, us) = (*traced)?;
            Some((bucket, MetricExemplar { span, value: us as f64 / MICROS_PER_SECOND, at }))
        };
        HistogramSample {
            labels,
            bounds: DURATIONS.iter().map(|bound| *bound as f64 / MICROS_PER_SECOND).collect(),
            counts: self.counts.to_vec(),
            sum: self.sum_us as f64 / MICROS_PER_SECOND,
            exemplars: traced.filter_map(exemplar).collect(),
        }
    }
}

/// How many durations are at most as long as each bound, in seconds.
pub(super) fn cumulative(histogram: &DurationHistogram) -> Vec<(f64, u64)> {
    let bounds = DURATIONS.iter().map(|bound| *bound as f64 / MICROS_PER_SECOND);
    let sums = histogram.counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    bounds.zip(sums).collect()
}

/// A distribution that any thread may add to at any time.
#[derive(Debug)]
pub struct SharedHistogram {
    bounds: &'static [u64],
    /// What one of the unit that is read is in the unit that is counted.
    per_unit: f64,
    counts: [AtomicU64; BUCKETS],
    sum: AtomicU64,
}

impl SharedHistogram {
    /// Of durations, in seconds.
    pub const fn of_durations() -> Self {
        SharedHistogram::new(&DURATIONS, MICROS_PER_SECOND)
    }

    /// Of numbers of things.
    pub const fn of_sizes() -> Self {
        SharedHistogram::new(&SIZES, 1.0)
    }

    const fn new(bounds: &'static [u64], per_unit: f64) -> Self {
        SharedHistogram {
            bounds,
            per_unit,
            counts: [const { AtomicU64::new(0) }; BUCKETS],
            sum: AtomicU64::new(0),
        }
    }

    /// Adds a duration.
    pub fn observe(&self, duration: Duration) {
        self.add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    /// Adds a number of things.
    pub fn observe_size(&self, size: usize) {
        self.add(size as u64);
    }

    fn add(&self, value: u64) {
        self.counts[bucket_of(self.bounds, value)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// What was counted until now.
    pub fn sample(&self, labels: MetricLabels) -> HistogramSample {
        let counts = self.counts[..=self.bounds.len()].iter();
        HistogramSample {
            labels,
            bounds: self.bounds.iter().map(|bound| *bound as f64 / self.per_unit).collect(),
            counts: counts.map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed) as f64 / self.per_unit,
            exemplars: Vec::new(),
        }
    }
}

/// The first bucket whose bound is not below the value; the one after the last bound for what is above all.
fn bucket_of(bounds: &[u64], value: u64) -> usize {
    bounds.partition_point(|bound| *bound < value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_bucket_whose_bound_it_reaches() {
        let histogram = SharedHistogram::of_durations();
        for us in [0, 10, 11, 60_000_000, 60_000_001] {
            histogram.observe(Duration::from_micros(us));
        }
        let sample = histogram.sample(Vec::new());
        assert_eq!((sample.bounds.len(), sample.counts.len()), (14, 15));
        assert_eq!((sample.counts[0], sample.counts[1], sample.counts[13], sample.counts[14]), (2, 1, 1, 1));
        assert!((sample.sum - 120.000_022).abs() < 1e-9, "{}", sample.sum);
    }

    #[test]
    fn sizes_have_bounds_of_their_own() {
        let histogram = SharedHistogram::of_sizes();
        histogram.observe_size(3);
        histogram.observe_size(512);
        let sample = histogram.sample(Vec::new());
        assert_eq!(sample.counts, [0, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((sample.bounds[2], sample.sum), (4.0, 515.0));
    }
}
