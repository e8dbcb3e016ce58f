//! Log records in the JSON form of OTLP.

use serde::Serialize;
use toolmux_core::hex::to_hex;
use tracing::Level;

use super::log_tap::LogRecord;
use super::otlp::{Attribute, AttributeValue, ExportingService, OtlpResource, OtlpScope, text, unix_nanos};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportRequest<'a> {
    resource_logs: [ResourceLogs<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceLogs<'a> {
    resource: &'a OtlpResource,
    scope_logs: [ScopeLogs; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeLogs {
    scope: OtlpScope,
    log_records: Vec<OtlpLogRecord>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OtlpLogRecord {
    time_unix_nano: String,
    observed_time_unix_nano: String,
    severity_number: u8,
    severity_text: &'static str,
    body: AttributeValue,
    attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<String>,
    flags: u32,
}

/// The body of a request that exports log records.
pub(super) fn export_request(service: &ExportingService, records: &[LogRecord]) -> Vec<u8> {
    let log_records = records.iter().map(log_record).collect();
    let scope_logs = [ScopeLogs { scope: OtlpScope::OWN, log_records }];
    let resource_logs = [ResourceLogs { resource: service.resource(), scope_logs }];
    serde_json::to_vec(&ExportRequest { resource_logs }).expect("log records have a JSON form")
}

fn log_record(record: &LogRecord) -> OtlpLogRecord {
    let mut attributes = vec![text("code.namespace", record.target)];
    attributes.extend(record.fields.iter().map(|(name, value)| text(name, value)));
    let (severity_number, severity_text) = severity(record.level);
    OtlpLogRecord {
        time_unix_nano: unix_nanos(record.at),
        observed_time_unix_nano: unix_nanos(record.at),
        severity_number,
        severity_text,
        body: AttributeValue::Text(record.message.clone()),
        attributes,
        trace_id: record.span.map(|span| to_hex(&span.trace)),
        span_id: record.span.map(|span| to_hex(&span.span)),
        flags: record.span.map_or(0, |span| span.sampled.into()),
    }
}

/// The number and the name that OTLP has for a level.
fn severity(level: Level) -> (u8, &'static str) {
    match level {
        Level::TRACE => (1, "TRACE"),
        Level::DEBUG => (5, "DEBUG"),
        Level::INFO => (9, "INFO"),
        Level::WARN => (13, "WARN"),
        Level::ERROR => (17, "ERROR"),
    }
}
