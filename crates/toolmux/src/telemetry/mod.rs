//! Telemetry: spans of calls, metrics and log records for an OpenTelemetry collector. All are sent in the background, so
//! that no call waits for them. Which trace a call belongs to is in `toolmux_core::trace_context`.

mod collector;
mod exporter;
mod log_records;
mod log_tap;
mod metric_points;
mod otlp;
mod sender;
mod spans;

pub(crate) use self::exporter::Exporter;
pub(crate) use self::log_tap::LogTap;
