//! All metrics of a server at one moment: what was counted, and what its parts say of themselves.

use super::Gateway;
use crate::metrics::{CallSnapshot, CallTotals, MetricFamily, MetricsFormat, NumberSample};
use crate::ports::figures::StoreFigures;

impl Gateway {
    /// Every metric as it is now. Calls are not held up by it, and no network is used.
    pub fn metric_families(&self) -> Vec<MetricFamily> {
        let mut families = self.receipts.metrics().families();
        families.extend(self.metrics.families());
        families.extend(self.sources.metric_families());
        families.extend(self.task_families());
        families.extend(store_families(self.store.figures()));
        families.extend([
            MetricFamily::gauge(
                "toolmux_memory_in_flight_bytes",
                "Bytes of request bodies and results in flight",
                NumberSample::alone(self.memory.used() as u64),
            ),
            MetricFamily::gauge(
                "toolmux_receipts_waiting",
                "Receipts that wait for the store",
                NumberSample::alone(self.receipt_writer.backlog(&self.receipts).waiting),
            ),
        ]);
        families
    }

    /// What was counted of calls until now, by tool. Its cost is bounded by `limits.metrics_tools`.
    pub fn call_counts(&self) -> CallSnapshot {
        CallSnapshot::new(self.receipts.metrics())
    }

    /// What was counted of all calls until now. Its cost is linear in the number of tools.
    pub fn call_totals(&self) -> CallTotals {
        let (running, refusals) = (self.sources.calls_running(), self.metrics.refusals());
        CallTotals { running, refusals, ..self.call_counts().totals() }
    }

    /// Every metric as text.
    pub fn metrics_text(&self, format: MetricsFormat) -> String {
        format.text(&self.metric_families())
    }

    fn task_families(&self) -> [MetricFamily; 3] {
        let slots = self.local_tasks.slots();
        [
            MetricFamily::gauge(
                "toolmux_tasks_running",
                "Tasks running on this server",
                NumberSample::alone(slots.used as u64),
            ),
            MetricFamily::gauge(
                "toolmux_task_slots",
                "Tasks that may run on this server at a time",
                NumberSample::alone(slots.most as u64),
            ),
            MetricFamily::gauge(
                "toolmux_tasks_wait",
                "1 while tasks wait in the store for a free slot of this server",
                NumberSample::alone(slots.is_waited_for.into()),
            ),
        ]
    }
}

fn store_families(figures: StoreFigures) -> [MetricFamily; 4] {
    [
        MetricFamily::gauge(
            "toolmux_store_queue",
            "Writes that wait for the store",
            NumberSample::alone(figures.waiting),
        ),
        MetricFamily::counter(
            "toolmux_store_errors",
            "Writes that the store did not confirm",
            NumberSample::alone(figures.failed),
        ),
        MetricFamily::histogram(
            "toolmux_store_write_seconds",
            "Duration of transactions of the store, retries included",
            figures.write_seconds.into_iter().collect(),
        ),
        MetricFamily::histogram(
            "toolmux_store_batch_writes",
            "Writes in one transaction",
            figures.batch_size.into_iter().collect(),
        ),
    ]
}
