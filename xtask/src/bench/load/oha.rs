//! The load by oha, which tells its numbers as JSON.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::{Load, Round};
use crate::bench::exchange::ANSWER_TIMEOUT;
use crate::process;

/// Requests that were under way when the time was up; nobody's fault.
const CUT_OFF: &str = "aborted due to deadline";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OhaReport {
    summary: Summary,
    /// Percentiles of the latency, in seconds.
    latency_percentiles: BTreeMap<String, Option<f64>>,
    status_code_distribution: BTreeMap<String, u64>,
    error_distribution: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Summary {
    /// The length of the round, in seconds.
    total: f64,
}

pub(super) fn generate(load: &Load, address: SocketAddr) -> anyhow::Result<Round> {
    let exchange = &load.exchange;
    let mut oha = Command::new("oha");
    oha.arg("--no-tui").args(json_flags()?).args(["-m", exchange.method]);
    oha.args(["-c", &load.connections.to_string(), "-z", &format!("{}ms", load.duration.as_millis())]);
    oha.args(["-t", &format!("{}s", ANSWER_TIMEOUT.as_secs())]);
    for (name, value) in &exchange.headers {
        oha.args(["-H", &format!("{name}: {value}")]);
    }
    if !exchange.body.is_empty() {
        oha.args(["-d", &exchange.body]);
    }
    oha.arg(format!("http://{address}{}", exchange.path));
    read(&process::capture(&mut oha)?)
}

/// Releases before 1.9 know `--json`, later ones `--output-format` alone.
fn json_flags() -> anyhow::Result<&'static [&'static str]> {
    let help = process::capture(Command::new("oha").arg("--help"))?;
    Ok(if help.contains("--output-format") { &["--output-format", "json"] } else { &["--json"] })
}

fn read(output: &str) -> anyhow::Result<Round> {
    let told: OhaReport =
        serde_json::from_str(output).with_context(|| format!("not what oha tells: {output}"))?;
    let broken: Vec<String> = told
        .error_distribution
        .iter()
        .filter(|(what, _)| *what != CUT_OFF)
        .map(|(what, count)| format!("{count} × {what}"))
        .collect();
    if !broken.is_empty() {
        bail!("connections broke: {}", broken.join(", "));
    }
    let percentile = |name: &str| {
        let latency = told.latency_percentiles.get(name).copied().flatten();
        latency.map(|seconds| seconds * 1e6).with_context(|| format!("oha told no {name}"))
    };
    let count = |good: bool| {
        let chosen =
            told.status_code_distribution.iter().filter(|(status, _)| status.starts_with('2') == good);
        chosen.map(|(_, count)| *count).sum()
    };
    Ok(Round {
        good: count(true),
        bad: count(false),
        elapsed: Duration::from_secs_f64(told.summary.total),
        p50: percentile("p50")?,
        p99: percentile("p99")?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Round, read};
    use serde_json::{Value, json};
    use std::time::Duration;

    fn check(statuses: Value, errors: Value, expect: Result<Round, &str>) {
        let told = json!({ "summary": { "total": 2.5, "successRate": 1.0 },
            "latencyPercentiles": { "p50": 0.000_25, "p99": 0.001, "p99.99": null },
            "statusCodeDistribution": statuses, "errorDistribution": errors });
        let round = read(&told.to_string()).map_err(|error| error.to_string());
        assert_eq!(round, expect.map_err(str::to_owned));
    }

    #[test]
    fn numbers_are_read_from_json() {
        check(
            json!({ "200": 900, "202": 9, "503": 10 }),
            json!({ "aborted due to deadline": 32 }),
            Ok(Round { good: 909, bad: 10, elapsed: Duration::from_millis(2500), p50: 250.0, p99: 1000.0 }),
        );
    }

    #[test]
    fn a_round_with_broken_connections_is_none() {
        let errors = json!({ "Connection refused": 3 });
        check(json!({}), errors, Err("connections broke: 3 × Connection refused"));
        assert!(read("unknown flag").is_err());
    }
}
