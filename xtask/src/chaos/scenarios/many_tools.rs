//! `many-tools`: a source with 100,000 tools appears while others are called; their latency must not show it.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::client::HttpClient;
use crate::chaos::load::latencies;
use crate::chaos::place::{Place, Size};
use crate::chaos::report::Report;
use crate::chaos::sample::Peak;
use crate::chaos::steady::{Setup, Steady};
use crate::chaos::upstream::{Script, Upstream};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "many-tools",
    about: "a source lists 100,000 tools while others are called: their p99 stays within twice what it was, and none stalls",
    seconds: 30,
    short: Some(4),
    run: |place| Box::pin(run(place)),
};

/// For listing and compiling them.
const LISTING_TIMEOUT: Duration = Duration::from_mins(3);

const TOOLS: usize = 100_000;

/// A debug build takes seconds for these.
const TOOLS_SHORT: usize = 4_000;

/// Below this many milliseconds a p99 is noise of the machine, and doubling it means nothing.
const NOISE: f64 = 5.0;

/// How many milliseconds the slowest call may take where that is more than twice what it was. A p99 does not show it
/// when the tools are compiled in one go: that stalls the few calls of one moment, among tens of thousands.
const STALL: f64 = 250.0;

/// The same with a debug build on a busy machine, which would take seconds for them in one go.
const STALL_SHORT: f64 = 1_000.0;

async fn run(place: &Place) -> anyhow::Result<Report> {
    let tools = place.pick(TOOLS_SHORT, TOOLS);
    let many = Upstream::start(Script { tools, ..Script::default() }).await?;
    let setup = Setup { store: "memory", script: Script::default(), ..Setup::default() };
    let steady = Steady::start(place, setup).await?;
    sleep(place.share(0.4)).await;
    let [p50, p99, slowest] = latencies(&steady.running.take_samples());
    let peak = Peak::watch(steady.servers[0].pid()?);
    let config = steady.servers[0].config();
    let more = format!("[sources.Many]\nkind = \"mcp\"\nurl = \"{}\"\n", many.url());
    fs::write(&config, format!("{}{more}", fs::read_to_string(&config)?))?;
    until_served(&steady.servers[0].base()).await?;
    let mut report = Report::new("16 clients", format!("a source with {tools} tools appears"));
    let [during50, during99, during_slowest] = latencies(&steady.running.take_samples());
    report.note(format!(
        "p50 {p50:.1} → {during50:.1} ms, p99 {p99:.1} → {during99:.1} ms, slowest {slowest:.0} → {during_slowest:.0} ms, \
         RSS at most {:.0} MB",
        peak.end().await
    ));
    // The short run has too few calls in it to judge a percentile.
    if place.size == Size::Full {
        let allowed = (2.0 * p99).max(NOISE);
        let broken = format!("p99 of others {during99:.1} ms, {allowed:.1} ms are allowed");
        report.demand(during99 <= allowed, broken);
    }
    let allowed = (2.0 * slowest).max(place.pick(STALL_SHORT, STALL));
    let broken = format!("a call of others took {during_slowest:.0} ms, {allowed:.0} ms are allowed");
    report.demand(during_slowest <= allowed, broken);
    steady.finish(&mut report).await?;
    report.demand_all_good();
    Ok(report)
}

/// Until the source has as many tools as one may have, says the metric.
async fn until_served(base: &str) -> anyhow::Result<()> {
    let (client, start) = (HttpClient::new(), Instant::now());
    while start.elapsed() < LISTING_TIMEOUT {
        let metrics = client.get(&format!("{base}/metrics")).await;
        let served = metrics.is_ok_and(|reply| {
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            let many = text.lines().find(|line| line.starts_with("toolmux_source_tools{source=\"Many\"}"));
            many.is_some_and(|line| !line.ends_with(" 0"))
        });
        if served {
            return Ok(());
        }
        sleep(Duration::from_millis(100)).await;
    }
    bail!("the tools were not served within {LISTING_TIMEOUT:?}")
}
