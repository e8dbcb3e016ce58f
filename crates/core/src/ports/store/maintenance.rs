//! The store as a whole: what it holds, what is pruned, whether it works, its end.

use super::error::{StoreError, StoreFuture};
use super::retention::Retention;
use crate::BoxFuture;
use crate::ports::figures::StoreFigures;

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// `memory`, `sqlite` or `postgres`.
    pub kind: &'static str,
    /// The version of its tables.
    pub schema: i64,
    /// Servers that hold records now.
    pub servers: u64,
    pub calls: CallCounts,
    pub tasks: TaskCounts,
    /// Sealed records, expired ones included until they are pruned.
    pub sealed: u64,
    /// Audit records of every action.
    pub audit: u64,
    /// Bytes on disk, when known.
    pub bytes: Option<u64>,
}

/// How many calls are recorded. The ids of tasks are not counted among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Running and ended ones.
    pub all: u64,
    pub running: u64,
}

/// How many tasks there are, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts {
    pub pending: u64,
    pub running: u64,
    /// Completed, failed or cancelled.
    pub ended: u64,
}

/// How many records were removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub calls: u64,
    /// Ended tasks past their time or over their number.
    pub tasks: u64,
    /// Sealed records that had expired.
    pub sealed: u64,
    pub audit: u64,
}

/// What concerns every record of a store.
pub trait StoreMaintenance: Send + Sync {
    /// What is kept now.
    fn status(&self) -> StoreFuture<'_, StoreStatus>;

    /// Removes what is older or more than allowed: of each caller its oldest. Results over the budget of bytes are
    /// replaced by [`crate::task::result_not_kept`], and the record that the tool ran stays.
    fn prune<'a>(&'a self, retention: &'a Retention) -> StoreFuture<'a, Pruned>;

    /// Why nothing is recorded any more until the server is restarted, when that is so. For a health probe: asks
    /// neither a database nor the network.
    fn fault(&self) -> Option<StoreError> {
        None
    }

    /// How its writes do. Must not block.
    fn figures(&self) -> StoreFigures {
        StoreFigures::default()
    }

    /// Ends what the store runs and lets others take over at once what it held.
    fn close(&self) -> BoxFuture<'_, ()>;
}
