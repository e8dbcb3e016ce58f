//! The text formats that Prometheus reads: its own, and OpenMetrics, which has exemplars.

use std::fmt::{self, Display, Write};
use std::time::UNIX_EPOCH;

use super::family::{HistogramSample, MetricExemplar, MetricFamily, MetricLabels, MetricSamples};
use crate::hex::to_hex;

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsFormat {
    /// The format 0.0.4 of Prometheus.
    Prometheus,
    /// OpenMetrics 1.0, where values of histograms name their traces.
    OpenMetrics,
}

impl MetricsFormat {
    /// The media type.
    pub fn content_type(self) -> &'static str {
        match self {
            MetricsFormat::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            MetricsFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The text of some metrics.
    pub fn text(self, families: &[MetricFamily]) -> String {
        let mut text = String::new();
        for family in families {
            self.write(&mut text, family).expect("writing to memory cannot fail");
        }
        if self == MetricsFormat::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }

    fn write(self, text: &mut String, family: &MetricFamily) -> fmt::Result {
        let (kind, suffix) = match family.samples {
            MetricSamples::Counter(_) => ("counter", "_total"),
            MetricSamples::Gauge(_) => ("gauge", ""),
            MetricSamples::Histogram(_) => ("histogram", ""),
        };
        let name = family.name;
        // OpenMetrics names a counter without the suffix that its samples have.
        let described = if self == MetricsFormat::OpenMetrics { "" } else { suffix };
        writeln!(text, "# HELP {name}{described} {}", family.help)?;
        writeln!(text, "# TYPE {name}{described} {kind}")?;
        match &family.samples {
            MetricSamples::Counter(samples) | MetricSamples::Gauge(samples) => {
                for sample in samples {
                    writeln!(text, "{name}{suffix}{} {}", LabelSet(&sample.labels, None), sample.value)?;
                }
                Ok(())
            }
            MetricSamples::Histogram(samples) => {
                samples.iter().try_for_each(|sample| self.write_histogram(text, name, sample))
            }
        }
    }

    fn write_histogram(self, text: &mut String, name: &str, sample: &HistogramSample) -> fmt::Result {
        let mut sum = 0;
        for (bucket, count) in sample.counts.iter().enumerate() {
            sum += count;
            let bound = sample.bounds.get(bucket).copied().unwrap_or(f64::INFINITY);
            write!(text, "{name}_bucket{} {sum}", LabelSet(&sample.labels, Some(bound)))?;
            let exemplar = sample.exemplars.iter().find(|(of, _)| *of == bucket);
            if let Some((_, exemplar)) = exemplar.filter(|_| self == MetricsFormat::OpenMetrics) {
                write_exemplar(text, exemplar)?;
            }
            text.push('\n');
        }
        let labels = LabelSet(&sample.labels, None);
        writeln!(text, "{name}_sum{labels} {}", sample.sum)?;
        writeln!(text, "{name}_count{labels} {sum}")
    }
}

fn write_exemplar(text: &mut String, exemplar: &MetricExemplar) -> fmt::Result {
    let MetricExemplar { span, value, at } = exemplar;
    let at = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let (trace, span) = (to_hex(&span.trace), to_hex(&span.span));
    write!(text, " # {{trace_id=\"{trace}\",span_id=\"{span}\"}} {value} {at:.3}")
}

/// Labels as both formats have them, and the bound of a bucket.
struct LabelSet<'a>(&'a MetricLabels, Option<f64>);

impl Display for LabelSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LabelSet(labels, bound) = self;
        if labels.is_empty() && bound.is_none() {
            return Ok(());
        }
        let mut between = '{';
        for (name, value) in *labels {
            write!(f, "{between}{name}=\"{}\"", Escaped(value))?;
            between = ',';
        }
        match bound {
            None => f.write_char('}'),
            Some(bound) if bound.is_infinite() => write!(f, "{between}le=\"+Inf\"}}"),
            // With a point in it, as OpenMetrics asks.
            Some(bound) => write!(f, "{between}le=\"{bound:?}\"}}"),
        }
    }
}

/// The value of a label: backslashes, quotes and line ends would end it.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::NumberSample;
    use crate::trace_context::TraceContext;

    fn families() -> Vec<MetricFamily> {
        let span = TraceContext { trace: [1; 16], span: [2; 8], sampled: true };
        let exemplar = MetricExemplar { span, value: 0.5, at: UNIX_EPOCH + Duration::from_millis(1_500) };
        let histogram = HistogramSample {
            labels: vec![("tool", "Kit.add".into())],
            bounds: vec![0.00001, 1.0],
            counts: vec![1, 2, 3],
            sum: 9.25,
            exemplars: vec![(1, exemplar)],
        };
        let named = NumberSample::new(vec![("caller", "a\\b\"c\nd".into())], 7);
        vec![
            MetricFamily::counter("calls", "Calls", vec![named]),
            MetricFamily::gauge("waiting", "Waiting", NumberSample::alone(3)),
            MetricFamily::histogram("seconds", "Duration", vec![histogram]),
        ]
    }

    #[test]
    fn prometheus_has_no_exemplars() {
        let expect = "# HELP calls_total Calls\n# TYPE calls_total counter\ncalls_total{caller=\"a\\\\b\\\"c\\nd\"} 7\n\
            # HELP waiting Waiting\n# TYPE waiting gauge\nwaiting 3\n\
            # HELP seconds Duration\n# TYPE seconds histogram\n\
            seconds_bucket{tool=\"Kit.add\",le=\"1e-5\"} 1\nseconds_bucket{tool=\"Kit.add\",le=\"1.0\"} 3\n\
            seconds_bucket{tool=\"Kit.add\",le=\"+Inf\"} 6\nseconds_sum{tool=\"Kit.add\"} 9.25\n\
            seconds_count{tool=\"Kit.add\"} 6\n";
        assert_eq!(MetricsFormat::Prometheus.text(&families()), expect);
    }

    #[test]
    fn openmetrics_names_the_trace_of_a_value() {
        let text = MetricsFormat::OpenMetrics.text(&families());
        let ids = format!("trace_id=\"{}\",span_id=\"{}\"", "01".repeat(16), "02".repeat(8));
        let line = format!("seconds_bucket{{tool=\"Kit.add\",le=\"1.0\"}} 3 # {{{ids}}} 0.5 1.500\n");
        assert!(text.contains(&line), "{text}");
        assert!(text.contains("# TYPE calls counter\ncalls_total{"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
