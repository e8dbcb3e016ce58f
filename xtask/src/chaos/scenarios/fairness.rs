//! `fairness`: one caller floods a tool, another calls it politely, one call after the other. The polite one must get
//! its turns.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::ledger::Ledger;
use crate::chaos::load::{Load, Targets, latencies};
use crate::chaos::place::Place;
use crate::chaos::report::Report;
use crate::chaos::server::Toolmux;
use crate::chaos::upstream::{Script, Upstream};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "fairness",
    about: "300 connections of one caller against one connection of another, 4 turns, a queue of 200",
    seconds: 15,
    short: Some(4),
    run: |place| Box::pin(run(place)),
};

const TURN: Duration = Duration::from_millis(20);

/// The polite caller waits for one turn and uses one, while the four turns serve the flooding caller: eight of its
/// calls for one polite call, and some more while the polite client itself is busy. Counted against each other, not
/// in seconds, so that a slow machine judges the same; without fairness it would be some 200.
const MOST_FLOOD_CALLS: u64 = 20;

async fn run(place: &Place) -> anyhow::Result<Report> {
    let upstream = Upstream::start(Script { call_takes: TURN, ..Script::default() }).await?;
    let config = format!(
        "store = \"memory\"\n{}[keys.flood]\nkey = \"flood-key-0123456789\"\n[keys.polite]\n\
         key = \"polite-key-0123456789\"\n[limits]\nconcurrency = 4\nqueue = 200\n",
        upstream.source()
    );
    let mut server = Toolmux::new(place, "server", &config)?;
    server.start()?;
    server.until_ready().await?;
    let targets = Targets::new(vec![server.address]);
    let (flood_ledger, polite_ledger) = (Arc::new(Ledger::default()), Arc::new(Ledger::default()));
    let clients = place.pick(220, 300);
    let flood = Load { clients, prefix: "f", key: Some("flood-key-0123456789"), ..Load::default() };
    let mut flood = flood.start(&targets, &flood_ledger);
    sleep(Duration::from_millis(500)).await;
    let polite = Load { clients: 1, prefix: "p", key: Some("polite-key-0123456789"), ..Load::default() };
    let mut polite = polite.start(&targets, &polite_ledger);
    sleep(place.duration).await;
    polite.stop().await;
    flood.stop().await;
    let runs = upstream.runs();
    let mut report = Report::new(format!("{clients} connections against 1"), "none");
    let alone = polite_ledger.count(&runs);
    let [p50, p99, _] = latencies(&polite.take_samples());
    report.note(format!(
        "polite caller: {} good, {} refused, p50 {p50:.0} ms, p99 {p99:.0} ms",
        alone.good, alone.refused
    ));
    let flooding = flood_ledger.count(&runs);
    report.demand(
        alone.good * MOST_FLOOD_CALLS >= flooding.good,
        format!("{} polite calls for {} of the flooding caller", alone.good, flooding.good),
    );
    report.demand(alone.refused == 0, format!("the polite caller was refused {} times", alone.refused));
    report.counts = flooding.plus(alone);
    Ok(report)
}
