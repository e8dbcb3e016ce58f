//! What sources and stores say of themselves when somebody reads the metrics. Asking neither waits nor uses a network.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::metrics::HistogramSample;

/// What a source uses on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceFigures {
    /// Connections to servers; absent for a source that makes none.
    pub connections: Option<ConnectionFigures>,
    /// Child processes; absent for a source that starts none.
    pub processes: Option<ProcessFigures>,
}

/// The connections of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFigures {
    /// How many are open now.
    pub open: u64,
    /// How many were made.
    pub made: u64,
    /// How many could not be made.
    pub failed: u64,
}

/// The child processes of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessFigures {
    /// How many run now.
    pub running: u64,
    /// How many were started.
    pub started: u64,
    /// How many ended though nobody told them to, or could not be started.
    pub failed: u64,
    /// How many calls wait for one of them.
    pub waiting: u64,
}

/// How the writes of a store do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreFigures {
    /// Writes that wait for their turn.
    pub waiting: u64,
    /// Writes that failed.
    pub failed: u64,
    /// How long transactions took; absent where there are none.
    pub write_seconds: Option<HistogramSample>,
    /// How many writes each transaction had.
    pub batch_size: Option<HistogramSample>,
}

impl SourceFigures {
    /// Those of a source that has connections alone.
    pub fn of_connections(connections: ConnectionFigures) -> Self {
        SourceFigures { connections: Some(connections), processes: None }
    }

    /// Those of a source that has child processes alone.
    pub fn of_processes(processes: ProcessFigures) -> Self {
        SourceFigures { connections: None, processes: Some(processes) }
    }
}

/// Counts the connections of a source, also over reconnects.
#[derive(Debug, Default)]
pub struct ConnectionCounters {
    open: AtomicU64,
    made: AtomicU64,
    failed: AtomicU64,
}

impl ConnectionCounters {
    /// Counts a connection as open until what this returns is dropped.
    pub fn made(self: &Arc<Self>) -> OpenConnection {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(self))
    }

    /// Counts a connection that could not be made.
    pub fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted until now.
    pub fn figures(&self) -> ConnectionFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ConnectionFigures { open: read(&self.open), made: read(&self.made), failed: read(&self.failed) }
    }
}

/// A connection that is counted as open.
#[derive(Debug)]
pub struct OpenConnection(Arc<ConnectionCounters>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts the child processes of a source.
#[derive(Debug, Default)]
pub struct ProcessCounters {
    running: AtomicU64,
    started: AtomicU64,
    failed: AtomicU64,
}

impl ProcessCounters {
    /// Counts a process as running until what this returns is dropped.
    pub fn started(self: &Arc<Self>) -> RunningProcess {
        self.started.fetch_add(1, Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::Relaxed);
        RunningProcess(Arc::clone(self))
    }

    /// Counts a process that ended unasked, or could not be started.
    pub fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted until now, of processes that no call waits for.
    pub fn figures(&self) -> ProcessFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (running, started, failed) = (read(&self.running), read(&self.started), read(&self.failed));
        ProcessFigures { running, started, failed, waiting: 0 }
    }
}

/// A process that is counted as running.
#[derive(Debug)]
pub struct RunningProcess(Arc<ProcessCounters>);

impl Drop for RunningProcess {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
