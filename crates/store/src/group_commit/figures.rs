//! How the writes by key do: how long their transactions take, how many come together, and how many fail.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use toolmux_core::metrics::SharedHistogram;
use toolmux_core::ports::figures::StoreFigures;

pub(crate) struct WriteFigures {
    seconds: SharedHistogram,
    batch_size: SharedHistogram,
    failed: AtomicU64,
}

impl Default for WriteFigures {
    fn default() -> Self {
        WriteFigures {
            seconds: SharedHistogram::of_durations(),
            batch_size: SharedHistogram::of_sizes(),
            failed: AtomicU64::new(0),
        }
    }
}

impl WriteFigures {
    /// A batch was written, or given up.
    pub(crate) fn written(&self, size: usize, took: Duration) {
        self.seconds.observe(took);
        self.batch_size.observe_size(size);
    }

    /// A write was not confirmed.
    pub(crate) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, waiting: usize) -> StoreFigures {
        StoreFigures {
            waiting: waiting as u64,
            failed: self.failed.load(Ordering::Relaxed),
            write_seconds: Some(self.seconds.sample(Vec::new())),
            batch_size: Some(self.batch_size.sample(Vec::new())),
        }
    }
}
