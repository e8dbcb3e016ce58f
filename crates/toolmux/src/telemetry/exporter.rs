//! Exports the spans of calls: one task reads receipts into a bounded queue, another sends what is in it. A call only
//! writes its receipt, whether the collector answers or not.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use toolmux_core::gateway::Gateway;
use toolmux_core::receipt::Receipt;

use super::collector::{Collector, NotTaken};
use super::spans::{TracedService, export_request};
use crate::config::Config;

/// How often receipts are read: often enough that 100,000 calls a second do not push out what was not read.
const EVERY: Duration = Duration::from_millis(100);
/// How many receipts are read under one lock.
const READ_TOGETHER: usize = 256;
/// How many calls wait for the collector; what comes when there are so many is dropped.
const QUEUE: usize = 8_192;
/// How many calls are in one request.
const BATCH: usize = 1_024;
/// The pause before a batch is sent again: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// How long the stop of a server waits for the collector.
const FLUSH: Duration = Duration::from_secs(1);

/// Exports spans until it is stopped or dropped; nothing when no collector is configured.
pub(crate) struct Exporter {
    /// A set, because a set aborts its tasks when it is dropped.
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Exporter {
    /// Starts to export the calls of a gateway where the configuration names a collector.
    pub(crate) fn start(config: &Config, gateway: &Arc<Gateway>) -> anyhow::Result<Self> {
        let (mut tasks, stop) = (JoinSet::new(), CancellationToken::new());
        if let Some(otlp) = &config.telemetry.otlp {
            let (queue, waiting) = mpsc::channel(QUEUE);
            let sender = Sender {
                collector: Collector::new(otlp)?,
                service: TracedService::named(&otlp.service),
                gateway: Arc::clone(gateway),
                stop: stop.clone(),
                is_failing: false,
            };
            tasks.spawn(read(Arc::clone(gateway), queue, stop.clone()));
            tasks.spawn(sender.run(waiting));
        }
        Ok(Exporter { tasks, stop })
    }

    /// Sends what is left, within a second. For a gateway that is closed: the receipts of all its calls are written.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(FLUSH, ended).await.is_err() {
            tracing::warn!("the collector of `telemetry.otlp` did not take the last spans within a second");
        }
    }
}

/// Reads receipts into the queue. After the stop it reads once more and closes the queue.
async fn read(gateway: Arc<Gateway>, queue: mpsc::Sender<Receipt>, stop: CancellationToken) {
    let mut position = 0;
    loop {
        let is_last = tokio::select! {
            () = stop.cancelled() => true,
            () = sleep(EVERY) => false,
        };
        loop {
            let piece = gateway.receipts().after(position, READ_TOGETHER);
            if piece.next == position {
                break;
            }
            position = piece.next;
            let exported = piece.receipts.into_iter().filter(is_exported);
            let full = exported.filter_map(|receipt| queue.try_send(receipt).err()).count();
            gateway.metrics().telemetry_dropped(piece.missed + full as u64);
            // Other tasks of this thread have their turn before the next lock.
            tokio::task::yield_now().await;
        }
        if is_last {
            return;
        }
    }
}

/// What is sampled, and whatever did not succeed.
fn is_exported(receipt: &Receipt) -> bool {
    receipt.span.is_some_and(|span| span.context.sampled || receipt.is_failed())
}

struct Sender {
    collector: Collector,
    service: TracedService,
    gateway: Arc<Gateway>,
    stop: CancellationToken,
    /// The last request was not taken, which was logged.
    is_failing: bool,
}

impl Sender {
    async fn run(mut self, mut waiting: mpsc::Receiver<Receipt>) {
        let mut batch = Vec::with_capacity(BATCH);
        while waiting.recv_many(&mut batch, BATCH).await > 0 {
            self.send(&batch).await;
            batch.clear();
        }
    }

    /// Sends a batch until it is taken or refused; once only when the server stops. Meanwhile the queue fills.
    async fn send(&mut self, batch: &[Receipt]) {
        let (request, (mut pause, longest)) = (export_request(&self.service, batch), PAUSES);
        loop {
            let error = match self.collector.send(request.clone().into()).await {
                Ok(rejected) => {
                    self.note_taken(rejected);
                    return self.gateway.metrics().telemetry_dropped(rejected.min(batch.len() as u64));
                }
                Err(NotTaken::ForNow(error)) if !self.stop.is_cancelled() => error,
                Err(NotTaken::ForNow(error) | NotTaken::ForGood(error)) => {
                    self.note_failing(&error);
                    return self.gateway.metrics().telemetry_dropped(batch.len() as u64);
                }
            };
            self.note_failing(&error);
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(longest),
                () = self.stop.cancelled() => {}
            }
        }
    }

    fn note_taken(&mut self, rejected: u64) {
        if std::mem::take(&mut self.is_failing) {
            tracing::info!("the collector of `telemetry.otlp` takes spans again");
        }
        if rejected > 0 {
            tracing::debug!(rejected, "the collector of `telemetry.otlp` rejected spans");
        }
    }

    /// Logs the first failure only: the metrics count what is dropped.
    fn note_failing(&mut self, error: &anyhow::Error) {
        if !std::mem::replace(&mut self.is_failing, true) {
            // The address may hold a password.
            tracing::warn!("spans cannot be exported to `telemetry.otlp`: {error:#}");
        }
    }
}
