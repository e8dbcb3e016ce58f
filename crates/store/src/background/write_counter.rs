//! How much was written here, and when what callers hold has to be counted again: counting reads every record, so it is
//! done once for many of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Other servers write too, which is not counted here: at least this often what callers hold is counted anyway.
const COUNT_AT_LEAST: Duration = Duration::from_mins(10);

/// Records and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

#[derive(Default)]
pub(crate) struct WriteCounter {
    records: AtomicU64,
    bytes: AtomicU64,
    next: Mutex<Option<NextCount>>,
}

struct NextCount {
    /// It is due when more than this was written in all.
    beyond: Amount,
    counted: Instant,
}

impl WriteCounter {
    /// A record of so many bytes was written, or so many bytes were added to one.
    pub(crate) fn add(&self, records: u64, bytes: usize) {
        self.records.fetch_add(records, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn written(&self) -> Amount {
        Amount { records: self.records.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }

    pub(crate) fn is_count_due(&self) -> bool {
        let Amount { records, bytes } = self.written();
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.as_ref().is_none_or(|next| {
            records > next.beyond.records
                || bytes > next.beyond.bytes
                || next.counted.elapsed() >= COUNT_AT_LEAST
        })
    }

    /// What callers held was counted, and so much more may be written before somebody can hold too much. `written` is how
    /// much had been written before the count began: what was written meanwhile may or may not be in it, and counts again.
    pub(crate) fn counted(&self, written: Amount, left: Amount) {
        let beyond = Amount {
            records: written.records.saturating_add(left.records),
            bytes: written.bytes.saturating_add(left.bytes),
        };
        let next = NextCount { beyond, counted: Instant::now() };
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
    }
}
