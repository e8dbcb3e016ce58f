//! The load of a benchmark: what is sent and how long, by which generator, and what came of it.
//!
//! To add a generator, write its file and add it to [`Generator`].

mod built_in;
mod generator;
mod oha;
mod wrk;

use std::sync::Arc;
use std::time::Duration;

use crate::bench::exchange::Exchange;

pub(crate) use self::built_in::percentile;
pub(crate) use self::generator::{Generator, choose};

/// A few kept-alive connections, each sending one request after the other.
pub(crate) struct Load {
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) connections: usize,
    pub(crate) duration: Duration,
}

/// What one round gave: only good answers are counted as such. Latencies are in microseconds.
#[derive(Debug, PartialEq)]
pub(crate) struct Round {
    pub(crate) good: u64,
    pub(crate) bad: u64,
    pub(crate) elapsed: Duration,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Round {
    pub(crate) fn requests_per_second(&self) -> f64 {
        self.good as f64 / self.elapsed.as_secs_f64()
    }
}
