//! What the system tells a process.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that tell the process to end: SIGTERM, or SIGINT from a terminal. None is missed from here on.
pub(crate) struct EndSignals {
    term: Option<Signal>,
    int: Option<Signal>,
}

impl EndSignals {
    pub(crate) fn new() -> Self {
        EndSignals { term: stream(SignalKind::terminate()), int: stream(SignalKind::interrupt()) }
    }

    /// The next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            () = next(&mut self.term) => {}
            () = next(&mut self.int) => {}
        }
    }
}

/// A signal that ends a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndSignal {
    Hangup,
    Interrupt,
    Terminate,
}

impl EndSignal {
    pub(crate) fn name(self) -> &'static str {
        match self {
            EndSignal::Hangup => "SIGHUP",
            EndSignal::Interrupt => "SIGINT",
            EndSignal::Terminate => "SIGTERM",
        }
    }

    /// As shells show a process that the signal ended.
    pub(crate) fn exit_code(self) -> u8 {
        128 + match self {
            EndSignal::Hangup => 1,
            EndSignal::Interrupt => 2,
            EndSignal::Terminate => 15,
        }
    }
}

/// The next signal that ends a command, from now on. Once this was called, such signals do nothing else any more.
pub(crate) fn end_signal() -> impl Future<Output = EndSignal> {
    let (mut term, mut int) = (stream(SignalKind::terminate()), stream(SignalKind::interrupt()));
    // `nohup` has it ignored, which stays so.
    let mut hang_up = if ignores_hang_ups() { None } else { hang_ups() };
    async move {
        tokio::select! {
            () = next(&mut term) => EndSignal::Terminate,
            () = next(&mut int) => EndSignal::Interrupt,
            () = next(&mut hang_up) => EndSignal::Hangup,
        }
    }
}

/// Whether whoever started this process had SIGHUP ignored: bit 0 of a mask in hexadecimal.
fn ignores_hang_ups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// SIGHUP, again and again.
pub(crate) fn hang_ups() -> Option<Signal> {
    stream(SignalKind::hangup())
}

/// The next signal; never, when signals cannot be had.
pub(crate) async fn next(stream: &mut Option<Signal>) {
    match stream {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

fn stream(kind: SignalKind) -> Option<Signal> {
    signal(kind).inspect_err(|error| tracing::warn!(%error, "cannot listen for signals")).ok()
}
