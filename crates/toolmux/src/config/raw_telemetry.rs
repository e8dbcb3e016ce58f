//! `[telemetry]` as people write it, and what the program makes of it. The doc comments are the reference manual.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName};
use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::trace_context::TraceSettings;
use toolmux_http::client::{base_of, sensitive};
use toolmux_protocols::registry::SecretSetting;

use super::fault::ConfigFault;
use super::resolve::Reader;

/// The name of the service when the configuration has none.
const SERVICE: &str = "toolmux";

/// Traces of calls: W3C trace context to sources, and spans to an OpenTelemetry collector. With this table, even an empty
/// one, calls are traced.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTelemetry {
    /// The OTLP/HTTP address of a collector, such as `http://127.0.0.1:4318`; spans are posted to `/v1/traces` below it.
    /// Default: spans are not exported.
    #[serde(default)]
    otlp: Option<String>,
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
    /// The `service.name` of spans. Default `toolmux`.
    #[serde(default)]
    service: Option<String>,
}

/// What is done with traces of calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TelemetryConfig {
    /// Which calls are traced.
    pub traces: TraceSettings,
    /// Where spans are exported to; absent means nowhere.
    pub otlp: Option<OtlpConfig>,
}

/// Where spans are exported to.
#[derive(Clone, Debug, PartialEq)]
pub struct OtlpConfig {
    /// The address that spans are posted to.
    pub traces_url: String,
    /// Headers of each request.
    pub headers: HeaderMap,
    /// The name of this service.
    pub service: String,
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
        let url = base_of(address).and_then(|base| base.join("v1/traces").ok()).ok_or_else(|| {
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
        Ok(OtlpConfig { traces_url: url.into(), headers, service })
    }
}
