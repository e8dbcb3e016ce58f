//! What the system tells a process.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ends when the process is told to end, from now on: SIGTERM, or SIGINT from a terminal.
pub(crate) fn told_to_end() -> impl Future<Output = ()> {
    let (mut term, mut int) = (stream(SignalKind::terminate()), stream(SignalKind::interrupt()));
    async move {
        tokio::select! {
            () = next(&mut term) => {}
            () = next(&mut int) => {}
        }
    }
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
