//! The client of a collector: one request with spans, metrics or log records, as OTLP/HTTP with JSON, and what the
//! collector makes of it.

use std::time::Duration;

use anyhow::Context;
use axum::body::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::Value;
use toolmux_http::client::{HttpClient, HttpLimits, Target, web_address};

use crate::config::OtlpConfig;

/// Bounds of one exchange with a collector, whose answers are short.
const LIMITS: HttpLimits = HttpLimits {
    connect_timeout: Duration::from_secs(5),
    timeout: Duration::from_secs(10),
    body_bytes: 64 << 10,
};

/// A collector that takes one signal.
pub(super) struct Collector {
    client: HttpClient,
    target: Target,
}

/// Why a batch was not taken.
pub(super) enum NotTaken {
    /// It may be taken later.
    ForNow(anyhow::Error),
    /// It will not be taken.
    ForGood(anyhow::Error),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExportAnswer {
    partial_success: PartialSuccess,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    /// A number, or its digits in a string, as the JSON form of protobuf has 64-bit numbers.
    #[serde(alias = "rejectedDataPoints", alias = "rejectedLogRecords")]
    rejected_spans: Value,
}

impl Collector {
    pub(super) fn new(config: &OtlpConfig, address: &str) -> anyhow::Result<Self> {
        let url = web_address(address).context("the address cannot be read")?;
        let mut headers = config.headers.clone();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let client = HttpClient::new(LIMITS);
        let target = client.target(&url, headers)?;
        Ok(Collector { client, target })
    }

    /// Sends a request once; the number of spans, values or records in it that the collector rejected.
    pub(super) async fn send(&self, batch: Bytes) -> Result<u64, NotTaken> {
        let sent = self.client.send_to(Method::POST, &self.target, self.target.headers.clone(), batch);
        let answer = sent.await.map_err(|error| NotTaken::ForNow(error.into()))?;
        let status = answer.status();
        if status.is_success() {
            // Whatever the body is, the collector has taken the rest.
            let body = answer.body().await.unwrap_or_default();
            let answer: ExportAnswer = serde_json::from_slice(&body).unwrap_or_default();
            return Ok(number(&answer.partial_success.rejected_spans));
        }
        let error = anyhow::anyhow!("the answer is {status}");
        Err(if is_temporary(status) { NotTaken::ForNow(error) } else { NotTaken::ForGood(error) })
    }
}

/// The statuses after which OTLP/HTTP lets a client send a batch again.
fn is_temporary(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

fn number(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_rejected_is_counted_in_both_forms_of_the_number() {
        for (answer, expect) in [
            (r#"{"partialSuccess":{"rejectedSpans":"3"}}"#, 3),
            (r#"{"partialSuccess":{"rejectedSpans":3,"errorMessage":"no"}}"#, 3),
            (r#"{"partialSuccess":{"rejectedDataPoints":"4"}}"#, 4),
            (r#"{"partialSuccess":{"rejectedLogRecords":"5"}}"#, 5),
            (r#"{"partialSuccess":{}}"#, 0),
            ("{}", 0),
        ] {
            let answer: ExportAnswer = serde_json::from_str(answer).unwrap();
            assert_eq!(number(&answer.partial_success.rejected_spans), expect);
        }
    }
}
