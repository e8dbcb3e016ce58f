//! Metrics in the JSON form of OTLP: the same numbers that `/metrics` shows, counted since the start of the server.

use std::time::SystemTime;

use serde::Serialize;
use toolmux_core::hex::to_hex;
use toolmux_core::metrics::{
    HistogramSample, MetricExemplar, MetricFamily, MetricLabels, MetricSamples, NumberSample,
};

use super::otlp::{Attribute, ExportingService, OtlpResource, OtlpScope, text, unix_nanos};

/// The number that OTLP has for values counted since the start.
const CUMULATIVE: u8 = 2;

/// From when on values were counted, and when they were read.
#[derive(Clone, Copy)]
pub(super) struct MetricPeriod {
    pub(super) began: SystemTime,
    pub(super) now: SystemTime,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportRequest<'a> {
    resource_metrics: [ResourceMetrics<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceMetrics<'a> {
    resource: &'a OtlpResource,
    scope_metrics: [ScopeMetrics; 1],
}

#[derive(Serialize)]
struct ScopeMetrics {
    scope: OtlpScope,
    metrics: Vec<OtlpMetric>,
}

#[derive(Serialize)]
struct OtlpMetric {
    name: &'static str,
    description: &'static str,
    unit: &'static str,
    #[serde(flatten)]
    data: MetricData,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum MetricData {
    #[serde(rename_all = "camelCase")]
    Sum { data_points: Vec<NumberPoint>, aggregation_temporality: u8, is_monotonic: bool },
    #[serde(rename_all = "camelCase")]
    Gauge { data_points: Vec<NumberPoint> },
    #[serde(rename_all = "camelCase")]
    Histogram { data_points: Vec<HistogramPoint>, aggregation_temporality: u8 },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NumberPoint {
    attributes: Vec<Attribute>,
    start_time_unix_nano: String,
    time_unix_nano: String,
    as_double: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HistogramPoint {
    attributes: Vec<Attribute>,
    start_time_unix_nano: String,
    time_unix_nano: String,
    count: String,
    sum: f64,
    bucket_counts: Vec<String>,
    explicit_bounds: Vec<f64>,
    exemplars: Vec<OtlpExemplar>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OtlpExemplar {
    time_unix_nano: String,
    as_double: f64,
    trace_id: String,
    span_id: String,
}

/// The body of a request that exports metrics, and how many values are in it.
pub(super) fn export_request(
    service: &ExportingService,
    families: &[MetricFamily],
    period: MetricPeriod,
) -> (Vec<u8>, u64) {
    let metrics = families.iter().filter(|family| size_of(family) > 0);
    let metrics = metrics.map(|family| metric(family, period)).collect();
    let scope_metrics = [ScopeMetrics { scope: OtlpScope::OWN, metrics }];
    let resource_metrics = [ResourceMetrics { resource: service.resource(), scope_metrics }];
    let body = serde_json::to_vec(&ExportRequest { resource_metrics }).expect("metrics have a JSON form");
    (body, families.iter().map(size_of).sum::<usize>() as u64)
}

fn size_of(family: &MetricFamily) -> usize {
    match &family.samples {
        MetricSamples::Counter(samples) | MetricSamples::Gauge(samples) => samples.len(),
        MetricSamples::Histogram(samples) => samples.len(),
    }
}

fn metric(family: &MetricFamily, period: MetricPeriod) -> OtlpMetric {
    let numbers =
        |samples: &[NumberSample]| samples.iter().map(|sample| number_point(sample, period)).collect();
    let data = match &family.samples {
        MetricSamples::Counter(samples) => MetricData::Sum {
            data_points: numbers(samples),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        },
        MetricSamples::Gauge(samples) => MetricData::Gauge { data_points: numbers(samples) },
        MetricSamples::Histogram(samples) => MetricData::Histogram {
            data_points: samples.iter().map(|sample| histogram_point(sample, period)).collect(),
            aggregation_temporality: CUMULATIVE,
        },
    };
    OtlpMetric { name: family.name, description: family.help, unit: unit_of(family.name), data }
}

/// In the notation of UCUM, by the name.
fn unit_of(name: &str) -> &'static str {
    match name.rsplit_once('_') {
        Some((_, "seconds")) => "s",
        Some((_, "bytes")) => "By",
        Some(_) | None => "1",
    }
}

fn number_point(sample: &NumberSample, period: MetricPeriod) -> NumberPoint {
    NumberPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: unix_nanos(period.began),
        time_unix_nano: unix_nanos(period.now),
        as_double: sample.value,
    }
}

fn histogram_point(sample: &HistogramSample, period: MetricPeriod) -> HistogramPoint {
    HistogramPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: unix_nanos(period.began),
        time_unix_nano: unix_nanos(period.now),
        count: sample.counts.iter().sum::<u64>().to_string(),
        sum: sample.sum,
        bucket_counts: sample.counts.iter().map(u64::to_string).collect(),
        explicit_bounds: sample.bounds.clone(),
        exemplars: sample.exemplars.iter().map(|(_, exemplar)| otlp_exemplar(exemplar)).collect(),
    }
}

fn otlp_exemplar(exemplar: &MetricExemplar) -> OtlpExemplar {
    OtlpExemplar {
        time_unix_nano: unix_nanos(exemplar.at),
        as_double: exemplar.value,
        trace_id: to_hex(&exemplar.span.trace),
        span_id: to_hex(&exemplar.span.span),
    }
}

fn attributes(labels: &MetricLabels) -> Vec<Attribute> {
    labels.iter().map(|(name, value)| text(name, value)).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use serde_json::{Value, json};
    use toolmux_core::trace_context::TraceContext;

    use super::*;

    #[test]
    fn each_kind_of_metric_has_its_form() {
        let span = TraceContext { trace: [1; 16], span: [2; 8], sampled: true };
        let histogram = HistogramSample {
            labels: vec![("tool", "Kit.add".to_owned())],
            bounds: vec![0.1],
            counts: vec![2, 1],
            sum: 3.5,
            exemplars: vec![(
                1,
                MetricExemplar { span, value: 3.0, at: UNIX_EPOCH + Duration::from_secs(1) },
            )],
        };
        let families = [
            MetricFamily::counter("a_calls", "Calls", NumberSample::alone(7)),
            MetricFamily::gauge("b_bytes", "Bytes", NumberSample::alone(1)),
            MetricFamily::gauge("nothing", "None", Vec::new()),
            MetricFamily::histogram("c_seconds", "Seconds", vec![histogram]),
        ];
        let period = MetricPeriod { began: UNIX_EPOCH, now: UNIX_EPOCH + Duration::from_secs(2) };
        let (body, values) = export_request(&ExportingService::named("tools"), &families, period);
        assert_eq!(values, 3);
        let body: Value = serde_json::from_slice(&body).unwrap();
        let metrics = &body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let point = json!({ "attributes": [], "startTimeUnixNano": "0", "timeUnixNano": "2000000000", "asDouble": 7.0 });
        let sum = json!({ "dataPoints": [point], "aggregationTemporality": 2, "isMonotonic": true });
        assert_eq!(metrics[0], json!({ "name": "a_calls", "description": "Calls", "unit": "1", "sum": sum }));
        assert_eq!(
            (&metrics[1]["unit"], &metrics[1]["gauge"]["dataPoints"][0]["asDouble"]),
            (&json!("By"), &json!(1.0))
        );
        let point = &metrics[2]["histogram"]["dataPoints"][0];
        assert_eq!((&point["count"], &point["bucketCounts"]), (&json!("3"), &json!(["2", "1"])));
        assert_eq!(point["exemplars"][0]["traceId"], "01".repeat(16));
        assert_eq!((&metrics[2]["unit"], &metrics[3]), (&json!("s"), &Value::Null));
    }
}
