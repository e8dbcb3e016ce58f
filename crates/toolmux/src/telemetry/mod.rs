//! Telemetry: spans of calls for an OpenTelemetry collector. They are made from receipts in the background, so that no call
//! waits for them. Which trace a call belongs to is in `toolmux_core::trace_context`.

mod collector;
mod exporter;
mod spans;

pub(crate) use self::exporter::Exporter;
