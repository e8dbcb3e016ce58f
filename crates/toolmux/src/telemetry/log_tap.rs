//! The log of this process as a source of records for a collector: a layer beside the one that writes lines. While
//! nobody takes records it keeps none.

use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use toolmux_core::redact::redacted;
use toolmux_core::trace_context::TraceContext;

/// How many records wait for the collector; what comes when there are so many is dropped.
const QUEUE: usize = 4_096;
/// The longest text of a record that is kept, in bytes.
const LONGEST: usize = 8 << 10;
/// The beginning of the names of our own modules. What others log at `debug` is not exported: the client of the collector
/// would export what it does to export.
const OWN: &str = "toolmux";

/// One record of the log, without secrets.
#[derive(Debug)]
pub(super) struct LogRecord {
    pub(super) at: SystemTime,
    pub(super) level: Level,
    pub(super) target: &'static str,
    pub(super) message: String,
    pub(super) fields: Vec<(&'static str, String)>,
    /// The span of the call that it is about.
    pub(super) span: Option<TraceContext>,
}

/// Keeps records for an exporter. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogTap(Arc<TapState>);

#[derive(Debug, Default)]
struct TapState {
    is_open: AtomicBool,
    waiting: Mutex<WaitingRecords>,
}

#[derive(Debug, Default)]
struct WaitingRecords {
    records: Vec<LogRecord>,
    dropped: u64,
}

impl LogTap {
    /// The tap in the log of this process, if it has one.
    pub(super) fn of_process() -> Option<Self> {
        tracing::dispatcher::get_default(|dispatch| dispatch.downcast_ref::<LogTap>().cloned())
    }

    /// Keeps records from now on.
    pub(super) fn open(&self) {
        self.0.is_open.store(true, Ordering::Relaxed);
    }

    /// Keeps no more.
    pub(super) fn close(&self) {
        self.0.is_open.store(false, Ordering::Relaxed);
    }

    /// The records that wait, and how many were dropped since the last time.
    pub(super) fn take(&self) -> (Vec<LogRecord>, u64) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut waiting.records), std::mem::take(&mut waiting.dropped))
    }

    fn keep(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        if *metadata.level() > Level::INFO && !metadata.target().starts_with(OWN) {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let record = LogRecord {
            at: SystemTime::now(),
            level: *metadata.level(),
            target: metadata.target(),
            message: clean(&fields.message),
            fields: fields.others.into_iter().map(|(name, value)| (name, clean(&value))).collect(),
            span: fields.span,
        };
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.records.len() < QUEUE {
            waiting.records.push(record);
        } else {
            waiting.dropped += 1;
        }
    }
}

impl<S: Subscriber> Layer<S> for LogTap {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if self.0.is_open.load(Ordering::Relaxed) {
            self.keep(event);
        }
    }
}

/// Without the secrets that are known, and not too long.
fn clean(text: &str) -> String {
    let text = redacted(text);
    text[..text.floor_char_boundary(LONGEST)].to_owned()
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, String)>,
    span: Option<TraceContext>,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            "traceparent" => self.span = TraceContext::read(value),
            name => self.others.push((name, value.to_owned())),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        // Whoever logs may fail to write a value; then what was written of it is kept.
        write!(text, "{value:?}").ok();
        self.record_str(field, &text);
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn records_have_fields_and_trace_and_no_secrets() {
        toolmux_core::redact::know("log-tap-test-secret");
        let tap = LogTap::default();
        let subscriber = tracing_subscriber::registry().with(tap.clone());
        let span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("before anybody takes records");
            let found = LogTap::of_process().expect("the tap is found");
            found.open();
            tracing::warn!(tool = "Kit.add", tries = 2, traceparent = span, "it said log-tap-test-secret");
            tracing::debug!(target: "hyper", "a connection");
        });
        let (records, dropped) = tap.take();
        let [record] = &records[..] else { panic!("{records:?}") };
        assert_eq!((&*record.message, record.level, dropped), ("it said [redacted]", Level::WARN, 0));
        assert_eq!(record.fields, [("tool", "Kit.add".to_owned()), ("tries", "2".to_owned())]);
        assert_eq!(record.span, TraceContext::read(span));
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_counted() {
        let tap = LogTap::default();
        tap.open();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(tap.clone()), || {
            for _ in 0..QUEUE + 3 {
                tracing::info!("again");
            }
        });
        let (records, dropped) = tap.take();
        assert_eq!((records.len(), dropped), (QUEUE, 3));
    }
}
