//! OpenTelemetry and Prometheus: their protobufs, SDK and parsers read what we export.

use std::time::Duration;

use crate::need::PYTHON_VENV;
use crate::peers::Suite;

pub(super) const SUITE: Suite = Suite {
    name: "telemetry",
    about: "one trace from a client to what an MCP server fetches, metrics and logs, decoded by OpenTelemetry's protobufs",
    needs: &[PYTHON_VENV],
    python: &[
        "opentelemetry-proto==1.45.1",
        "opentelemetry-sdk==1.45.2",
        "opentelemetry-exporter-otlp-proto-http==1.45.1",
        "prometheus-client==0.26.0",
    ],
    node: &[],
    command: &["python", "tests/peers/telemetry/receive.py"],
    limit: Duration::from_mins(5),
};
