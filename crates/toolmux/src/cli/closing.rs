//! Commands that run sources in this process: whatever ends such a command, its sources are closed first, and with
//! them all processes that they started.

use std::time::Duration;

use toolmux_core::gateway::Gateway;

use super::failure::Failure;
use crate::signals::end_signal;

/// How long sources get to end.
pub(super) const CLOSING_TIMEOUT: Duration = Duration::from_secs(10);

/// Works with the sources of a gateway and closes them then, as `serve` does. A signal ends the work early; one that
/// comes while the sources close ends the wait for them, and what they started is killed.
pub(super) async fn closing<T>(
    gateway: &Gateway,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let worked = until_signal(work).await.flatten();
    until_signal(gateway.close(CLOSING_TIMEOUT)).await?;
    worked
}

/// Works until a signal ends the command, which drops the work.
pub(super) async fn until_signal<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    tokio::select! {
        worked = work => Ok(worked),
        signal = end_signal() => Err(Failure::ended_by(signal)),
    }
}
