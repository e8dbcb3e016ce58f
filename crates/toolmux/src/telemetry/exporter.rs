//! Exports traces, metrics and logs, each by tasks of its own: a call only writes its receipt, and a log line is only
//! kept, whether the collector answers or not.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use toolmux_core::gateway::Gateway;
use toolmux_core::metrics::ExportedSignal;
use toolmux_core::receipt::Receipt;

use super::log_tap::LogTap;
use super::metric_points::MetricPeriod;
use super::otlp::ExportingService;
use super::sender::{SignalSender, WhileAway};
use super::{log_records, metric_points, spans};
use crate::config::{Config, OtlpConfig};

/// How often receipts are read: often enough that 100,000 calls a second do not push out what was not read.
const RECEIPTS_EVERY: Duration = Duration::from_millis(100);
/// How many receipts are read under one lock.
const READ_TOGETHER: usize = 256;
/// How many calls wait for the collector; what comes when there are so many is dropped.
const QUEUE: usize = 8_192;
/// How many calls are in one request.
const BATCH: usize = 1_024;
/// How often log records are exported.
const LOGS_EVERY: Duration = Duration::from_secs(1);
/// How long the stop of a server waits for the collector.
const FLUSH: Duration = Duration::from_secs(1);

/// Exports until it is stopped or dropped; nothing when no collector is configured.
pub(crate) struct Exporter {
    /// A set, because a set aborts its tasks when it is dropped.
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Exporter {
    /// Starts to export what the configuration says, if it names a collector.
    pub(crate) fn start(config: &Config, gateway: &Arc<Gateway>) -> anyhow::Result<Self> {
        let mut exporter = Exporter { tasks: JoinSet::new(), stop: CancellationToken::new() };
        if let Some(otlp) = &config.telemetry.otlp {
            for (signal, address) in &otlp.signals {
                let sender = SignalSender::new(otlp, (*signal, address), (gateway, &exporter.stop))?;
                exporter.export(otlp, *signal, sender);
            }
        }
        Ok(exporter)
    }

    fn export(&mut self, otlp: &OtlpConfig, signal: ExportedSignal, sender: SignalSender) {
        let service = ExportingService::named(&otlp.service);
        match signal {
            ExportedSignal::Traces => {
                let (queue, waiting) = mpsc::channel(QUEUE);
                self.tasks.spawn(read_receipts(Arc::clone(&sender.gateway), queue, self.stop.clone()));
                self.tasks.spawn(export_traces(sender, service, waiting));
            }
            ExportedSignal::Metrics => {
                self.tasks.spawn(export_metrics(sender, service, otlp.interval));
            }
            ExportedSignal::Logs => {
                if let Some(tap) = LogTap::of_process() {
                    tap.open();
                    self.tasks.spawn(export_logs(sender, service, tap));
                }
            }
        }
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
async fn read_receipts(gateway: Arc<Gateway>, queue: mpsc::Sender<Receipt>, stop: CancellationToken) {
    let mut position = 0;
    loop {
        let is_last = is_last_round(RECEIPTS_EVERY, &stop).await;
        loop {
            let piece = gateway.receipts().after(position, READ_TOGETHER);
            if piece.next == position {
                break;
            }
            position = piece.next;
            let exported = piece.receipts.into_iter().filter(is_exported);
            let full = exported.filter_map(|receipt| queue.try_send(receipt).err()).count();
            gateway.metrics().telemetry_dropped(ExportedSignal::Traces, piece.missed + full as u64);
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

async fn export_traces(
    mut sender: SignalSender,
    service: ExportingService,
    mut waiting: mpsc::Receiver<Receipt>,
) {
    let mut batch = Vec::with_capacity(BATCH);
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        let request = spans::export_request(&service, &batch);
        sender.send(request, batch.len() as u64, WhileAway::SendAgain).await;
        batch.clear();
    }
}

/// Exports all metrics now and then, and once more at the end.
async fn export_metrics(mut sender: SignalSender, service: ExportingService, interval: Duration) {
    let began = SystemTime::now();
    loop {
        let is_last = is_last_round(interval, &sender.stop).await;
        let families = sender.gateway.metric_families();
        let period = MetricPeriod { began, now: SystemTime::now() };
        let (request, values) = metric_points::export_request(&service, &families, period);
        sender.send(request, values, WhileAway::Drop).await;
        if is_last {
            return;
        }
    }
}

/// Exports the records that wait, and once more at the end. While a request waits for the collector, the tap fills.
async fn export_logs(mut sender: SignalSender, service: ExportingService, tap: LogTap) {
    loop {
        let is_last = is_last_round(LOGS_EVERY, &sender.stop).await;
        if is_last {
            tap.close();
        }
        let (records, dropped) = tap.take();
        sender.note_dropped(dropped);
        for batch in records.chunks(BATCH) {
            let request = log_records::export_request(&service, batch);
            sender.send(request, batch.len() as u64, WhileAway::SendAgain).await;
        }
        if is_last {
            return;
        }
    }
}

/// Waits for the next round; true when the server stops, so that it is the last one.
async fn is_last_round(interval: Duration, stop: &CancellationToken) -> bool {
    stop.run_until_cancelled(sleep(interval)).await.is_none()
}
