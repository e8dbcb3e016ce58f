//! Sends the requests of one signal: again after a pause while the collector is away, and what it does not take is counted
//! and logged once.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolmux_core::gateway::Gateway;
use toolmux_core::metrics::ExportedSignal;

use super::collector::{Collector, NotTaken};
use crate::config::OtlpConfig;

/// The pause before a request is sent again: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// What becomes of a request while the collector is away.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WhileAway {
    /// It is sent again until it is taken, or the server stops.
    SendAgain,
    /// It is dropped: the next one says the same and more.
    Drop,
}

/// Sends what belongs to one signal.
pub(super) struct SignalSender {
    collector: Collector,
    signal: ExportedSignal,
    pub(super) gateway: Arc<Gateway>,
    pub(super) stop: CancellationToken,
    /// The last request was not taken, which was logged.
    is_failing: bool,
}

impl SignalSender {
    pub(super) fn new(
        config: &OtlpConfig,
        (signal, address): (ExportedSignal, &str),
        (gateway, stop): (&Arc<Gateway>, &CancellationToken),
    ) -> anyhow::Result<Self> {
        let collector = Collector::new(config, address)?;
        let (gateway, stop) = (Arc::clone(gateway), stop.clone());
        Ok(SignalSender { collector, signal, gateway, stop, is_failing: false })
    }

    /// Sends a request with so many calls, values or records; once only when the server stops.
    pub(super) async fn send(&mut self, request: Vec<u8>, number: u64, while_away: WhileAway) {
        let (request, (mut pause, longest)) = (Bytes::from(request), PAUSES);
        loop {
            let error = match self.collector.send(request.clone()).await {
                Ok(rejected) => {
                    self.note_taken(rejected);
                    return self.note_dropped(rejected.min(number));
                }
                Err(NotTaken::ForNow(error))
                    if while_away == WhileAway::SendAgain && !self.stop.is_cancelled() =>
                {
                    error
                }
                Err(NotTaken::ForNow(error) | NotTaken::ForGood(error)) => {
                    self.note_failing(&error);
                    return self.note_dropped(number);
                }
            };
            self.note_failing(&error);
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(longest),
                () = self.stop.cancelled() => {}
            }
        }
    }

    /// Counts what was not exported.
    pub(super) fn note_dropped(&self, number: u64) {
        self.gateway.metrics().telemetry_dropped(self.signal, number);
    }

    fn note_taken(&mut self, rejected: u64) {
        let signal = self.signal.as_str();
        if std::mem::take(&mut self.is_failing) {
            tracing::info!("the collector of `telemetry.otlp` takes {signal} again");
        }
        if rejected > 0 {
            tracing::debug!(rejected, "the collector of `telemetry.otlp` rejected {signal}");
        }
    }

    /// Logs the first failure only: the metrics count what is dropped.
    fn note_failing(&mut self, error: &anyhow::Error) {
        if !std::mem::replace(&mut self.is_failing, true) {
            // The address may hold a password.
            let signal = self.signal.as_str();
            tracing::warn!("{signal} cannot be exported to `telemetry.otlp`: {error:#}");
        }
    }
}
