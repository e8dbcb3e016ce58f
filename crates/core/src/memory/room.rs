//! How much of one kind of record is kept in memory.

use crate::ports::store::{Quota, Retention};

/// How many bytes of results of calls, and as many of tasks, are kept when configuration does not say.
const RESULT_BYTES: u64 = 256 << 20;

/// How many records and how many bytes of their results are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) count: Quota,
    pub(super) bytes: Quota,
}

impl Room {
    pub(super) fn of_calls(retention: &Retention) -> Self {
        Room::new(retention, retention.calls, retention.calls_bytes)
    }

    pub(super) fn of_tasks(retention: &Retention) -> Self {
        Room::new(retention, retention.tasks, retention.tasks_bytes)
    }

    fn new(retention: &Retention, count: u64, bytes: Option<u64>) -> Self {
        Room { count: retention.quota(count), bytes: retention.quota(bytes.unwrap_or(RESULT_BYTES)) }
    }

    /// The same with an eighth left free, see [`Quota::with_room`].
    pub(super) fn with_room(self) -> Self {
        Room { count: self.count.with_room(), bytes: self.bytes.with_room() }
    }
}
