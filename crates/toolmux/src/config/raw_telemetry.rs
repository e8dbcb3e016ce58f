//! `[telemetry]` as people write it, and what the program makes of it. The doc comments are the reference manual.

use std::collections::BTreeMap;
use std::time::Duration;

use http::{HeaderMap, HeaderName};
use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::metrics::ExportedSignal;
use toolmux_core::trace_context::TraceSettings;
use toolmux_http::client::{base_of, sensitive};
use toolmux_protocols::registry::SecretSetting;

use super::duration::some_time;
use super::fault::ConfigFault;
use super::resolve::Reader;

/// The name of the service when the configuration has none.
const SERVICE: &str = "toolmux";
/// How often metrics are exported when the configuration does not say.
const INTERVAL: Duration = Duration::from_mins(1);

/// Traces of calls: W3C trace context to sources; and spans, metrics and logs to an OpenTelemetry collector. With this
/// table, even an empty one, calls are traced.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTelemetry {
    /// The OTLP/HTTP address of a collector, such as `http://127.0.0.1:4318`; JSON is posted to `/v1/traces`, `/v1/metrics`
    /// and `/v1/logs` below it. Default: nothing is exported.
    #[serde(default)]
    otlp: Option<String>,
    /// What is exported: `traces`, `metrics`, `logs`. Default: all three.
    #[serde(default)]
    signals: Option<Vec<SignalName>>,
    /// How often metrics are exported. Default `1m`.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    interval: Option<Duration>,
    /// Headers of requests to the collector, such as `{ authorization = { env = "OTLP_AUTHORIZATION" } }`.
    #[serde(default)]
    headers: BTreeMap<String, SecretSetting>,
    /// The share of traces that are sampled, from 0 to 1. Spans of calls that did not succeed are exported in any case.
    /// Default `1`.
    #[serde(default)]
    sample: Option<f64>,
    /// Continue the trace that a caller names in `traceparent`, with its decision on sampling. Only for callers that are all
    /// trusted. Otherwise a call begins a trace of its own with a link to the caller's.
    #[serde(default)]
    trust: bool,
    /// The `service.name` of what is exported. Default `toolmux`.
    #[serde(default)]
    service: Option<String>,
}

/// What a collector can be sent.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum SignalName {
    Traces,
    Metrics,
    Logs,
}

/// What is done with traces of calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TelemetryConfig {
    /// Which calls are traced.
    pub traces: TraceSettings,
    /// What is exported, and where to; absent means nothing.
    pub otlp: Option<OtlpConfig>,
}

/// What is exported, and where to.
#[derive(Clone, Debug, PartialEq)]
pub struct OtlpConfig {
    /// What is exported, each with the address that it is posted to.
    pub signals: BTreeMap<ExportedSignal, String>,
    /// How often metrics are exported.
    pub interval: Duration,
    /// Headers of each request.
    pub headers: HeaderMap,
    /// The name of this service.
    pub service: String,
}

impl From<SignalName> for ExportedSignal {
    fn from(name: SignalName) -> Self {
        match name {
            SignalName::Traces => ExportedSignal::Traces,
            SignalName::Metrics => ExportedSignal::Metrics,
            SignalName::Logs => ExportedSignal::Logs,
        }
    }
}

impl RawTelemetry {
    pub(super) fn resolve(&self, reader: &Reader<'_>) -> TelemetryConfig {
        let sample = self.sample.unwrap_or(1.0);
        if !(0.0..=1.0).contains(&sample) {
            let what = "`telemetry.sample` must be a number from 0 to 1".to_owned();
            reader.note(reader.fault(&["telemetry", "sample"], what));
        }
        let otlp = self.otlp.as_deref().and_then(|address| reader.kept(self.otlp(reader, address)));
        TelemetryConfig { traces: TraceSettings { enabled: true, sample, trust: self.trust }, otlp }
    }

    fn otlp(&self, reader: &Reader<'_>, address: &str) -> Result<OtlpConfig, ConfigFault> {
        let all = || vec![SignalName::Traces, SignalName::Metrics, SignalName::Logs];
        let signals = self.signals.clone().unwrap_or_else(all).into_iter().map(ExportedSignal::from);
        let address_of = |signal: ExportedSignal| {
            let url = base_of(address)?.join(&format!("v1/{}", signal.as_str())).ok()?;
            Some((signal, url.into()))
        };
        let signals: Option<BTreeMap<_, _>> = signals.map(address_of).collect();
        let signals = signals.ok_or_else(|| {
            let what = "`telemetry.otlp` must be an address of the form http://127.0.0.1:4318";
            reader.fault(&["telemetry", "otlp"], what.to_owned())
        })?;
        let mut headers = HeaderMap::new();
        for (name, setting) in &self.headers {
            let path = ["telemetry", "headers", name];
            let secret = reader.secret(&path, setting)?;
            let pair = HeaderName::try_from(name).ok().zip(sensitive(secret.expose()));
            let (header, value) = pair.ok_or_else(|| {
                reader.fault(&path, "this name or value cannot be that of a header".to_owned())
            })?;
            headers.insert(header, value);
        }
        let service = self.service.clone().unwrap_or_else(|| SERVICE.to_owned());
        let interval = self.interval.unwrap_or(INTERVAL);
        Ok(OtlpConfig { signals, interval, headers, service })
    }
}
