//! The named bounds of everything that could grow.

use std::time::Duration;

/// Bounds that hold for every call unless a tool has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a call may take.
    pub call_timeout: Duration,
    /// How many calls of one tool run at a time.
    pub concurrency: usize,
    /// How many more wait for their turn; beyond that a call is refused as busy.
    pub queue: usize,
    /// How many calls of a source, or of a tool that shares nothing with others, may fail in a row before its
    /// circuit breaker opens.
    pub breaker_failures: u32,
    /// How long the circuit breaker stays open.
    pub breaker_rest: Duration,
    /// How many bytes bodies and answers in flight may take together; without a number there is no bound.
    pub memory: Option<usize>,
    /// How long stopping may take in all, and how long calls in flight may go on when their source leaves.
    pub drain: Duration,
    /// How long lists and calls wait for a source that has not listed its tools yet, counted from its start.
    pub start_wait: Duration,
    /// How often a source is asked for its tools when it does not tell of changes.
    pub refresh: Duration,
    /// How long a source may take to list its tools.
    pub list_timeout: Duration,
    /// How many tools one source may have.
    pub tools_per_source: usize,
    /// The largest definitions of one source that are kept in the store for the next start, in bytes.
    pub definitions_bytes: usize,
    /// How many tasks run at a time.
    pub task_concurrency: usize,
    /// How many tasks of one caller may wait for their turn.
    pub task_backlog: u64,
    /// How many bytes the requests of a caller's waiting and running tasks may have before more are refused.
    pub task_backlog_bytes: u64,
    /// How long a task waits for a tool that is not there.
    pub task_patience: Duration,
    /// How long an ended task is kept unless its submitter says otherwise.
    pub task_ttl: Duration,
    /// The largest result of a task that is kept.
    pub task_result_bytes: usize,
    /// How many updates of one task are kept.
    pub task_updates: usize,
    /// How many bytes of them.
    pub task_updates_bytes: usize,
    /// How many callers have metrics of their own: the busiest. All others share one.
    pub metrics_callers: usize,
    /// The same for tools.
    pub metrics_tools: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            call_timeout: Duration::from_mins(1),
            concurrency: 256,
            queue: 1024,
            breaker_failures: 5,
            breaker_rest: Duration::from_secs(5),
            memory: None,
            drain: Duration::from_secs(10),
            start_wait: Duration::from_secs(10),
            refresh: Duration::from_mins(1),
            list_timeout: Duration::from_secs(30),
            tools_per_source: 20_000,
            definitions_bytes: 32 << 20,
            task_concurrency: 256,
            task_backlog: 10_000,
            task_backlog_bytes: 64 << 20,
            task_patience: Duration::from_mins(5),
            task_ttl: Duration::from_mins(5),
            task_result_bytes: 8 << 20,
            task_updates: 10_000,
            task_updates_bytes: 8 << 20,
            metrics_callers: 50,
            metrics_tools: 1_000,
        }
    }
}
