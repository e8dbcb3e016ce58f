//! `child-crash`: the process of a stdio source is killed under load, again and again; it must answer again at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::child;
use crate::chaos::ledger::Ledger;
use crate::chaos::load::{Load, Targets};
use crate::chaos::owned::send_to_children;
use crate::chaos::place::Place;
use crate::chaos::report::Report;
use crate::chaos::sample::Held;
use crate::chaos::server::Toolmux;

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "child-crash",
    about: "a stdio MCP server is killed under 16 callers: good again within 500 ms",
    seconds: 30,
    short: Some(5),
    run: |place| Box::pin(run(place)),
};

const BETWEEN: Duration = Duration::from_secs(2);

/// From the crash to the first good answer of a call that was sent after it.
const PROMISED: Duration = Duration::from_millis(500);

/// A debug build on a busy machine starts processes slowly.
const PROMISED_SHORT: Duration = Duration::from_secs(2);

async fn run(place: &Place) -> anyhow::Result<Report> {
    let runs = place.folder.path().join("runs");
    let config = format!("store = \"{}\"\n{}", place.sqlite(), source(place));
    let server = Toolmux::start_ready(place, "server", &config).await?;
    let pid = server.pid()?;
    let before = Held::by(pid)?;
    let ledger = Arc::new(Ledger::default());
    let targets = Targets::new(vec![server.address]);
    let mut running = Load { tool: "Kid.record", ..Load::default() }.start(&targets, &ledger);
    let (start, mut outages) = (Instant::now(), Vec::new());
    while start.elapsed() < place.duration {
        sleep(BETWEEN).await;
        let crash = Instant::now();
        send_to_children(pid, Signal::KILL);
        outages.push(running.until_good_since(crash, Duration::from_secs(40)).await);
    }
    running.stop().await;
    let mut report = Report::new("16 clients", format!("{} crashes", outages.len()));
    report.counts = ledger.count(&child::runs(&runs)?);
    report.leaks = Held::by(pid)?.since(before);
    let longest = outages.iter().map(|outage| outage.unwrap_or(Duration::MAX)).max().unwrap_or_default();
    report.note(format!("longest outage {:.0} ms", longest.as_secs_f64() * 1e3));
    let promised = place.pick(PROMISED_SHORT, PROMISED);
    report.demand(longest <= promised, format!("an outage was longer than {promised:?}"));
    Ok(report)
}

/// A source `Kid` that is a process of its own, which writes its runs to the scenario's folder.
pub(super) fn source(place: &Place) -> String {
    let (xtask, runs) = (place.xtask.display(), place.folder.path().join("runs"));
    let runs = runs.display();
    format!(
        "[sources.Kid]\nkind = \"mcp\"\ncommand = [\"{xtask}\", \"chaos-child\", \"--runs\", \"{runs}\"]\n"
    )
}
