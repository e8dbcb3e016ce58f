//! `soak`: a mixed load for a long time, with a row of figures every so often; what grows is judged by its slope.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::time::sleep;

use super::child_crash::source;
use crate::chaos::Scenario;
use crate::chaos::child;
use crate::chaos::ledger::Ledger;
use crate::chaos::load::{Load, Running, Sample, Targets, latencies};
use crate::chaos::owned::send_to_children;
use crate::chaos::place::Place;
use crate::chaos::protocol;
use crate::chaos::report::Report;
use crate::chaos::sample::Held;
use crate::chaos::server::Toolmux;
use crate::chaos::slope::slope;
use crate::chaos::upstream::{Script, Upstream};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "soak",
    about: "64 connections over all protocols, calls and tasks, child kills now and then; judged for growth",
    seconds: 30 * 60,
    short: Some(5),
    run: |place| Box::pin(run(place)),
};

/// At most, or a tenth of the time when that is less.
const ROW: Duration = Duration::from_secs(30);

/// From which length on the slope of the second half is judged; shorter runs are still warming up in it.
const LONG: Duration = Duration::from_mins(10);

/// Mebibytes per minute that the second half may grow by.
const SLOPE: f64 = 0.5;

/// What a run that is too short for the slope may end with, as a multiple of what it had halfway.
const COARSE: f64 = 1.5;

/// Descriptors beyond those of the start, of connections to the store.
const DESCRIPTORS: usize = 12;

/// Threads for blocking work end only after some idle time.
const THREADS: usize = 8;

async fn run(place: &Place) -> anyhow::Result<Report> {
    let upstream = Upstream::start(Script::default()).await?;
    let config = format!("store = \"{}\"\n{}{}", place.sqlite(), upstream.source(), source(place));
    let server = Toolmux::start_ready(place, "server", &config).await?;
    server.until_listed(8).await?;
    let (pid, targets) = (server.pid()?, Targets::new(vec![server.address]));
    let (ledger, kids) = (Arc::new(Ledger::default()), Arc::new(Ledger::default()));
    let start = Held::by(pid)?;
    let loads = [
        Load { clients: 48, protocols: &protocol::ALL, ..Load::default() }.start(&targets, &ledger),
        Load { clients: 16, tool: "Kid.record", prefix: "k", ..Load::default() }.start(&targets, &kids),
    ];
    let mut report = Report::new("64 connections, 4 protocols, tasks", "none");
    let rows = rows(place, pid, &loads).await?;
    let kills = rows.len() - 1;
    report.faults = format!("{kills} child kills");
    for mut load in loads {
        load.stop().await;
    }
    let runs = child::runs(&place.folder.path().join("runs"))?;
    report.counts = ledger.count(&upstream.runs()).plus(kids.count(&runs));
    let unanswered = report.counts.unanswered;
    report.demand(unanswered == 0, format!("{unanswered} ids were never answered"));
    judge_memory(&mut report, place.duration, &rows);
    // Connections that the server keeps for its next calls are closed with the upstream.
    drop(upstream);
    judge_rest(&mut report, start, until_released(pid, start).await?);
    Ok(report)
}

/// Prints the figures as they come; gives back seconds and mebibytes. A child is killed after each row.
async fn rows(place: &Place, pid: u32, loads: &[Running; 2]) -> anyhow::Result<Vec<(f64, f64)>> {
    println!("   seconds  RSS MB    fds threads  kids   WAL MB   calls/s  p50 ms  p99 ms");
    let (start, every, mut rows) = (Instant::now(), ROW.min(place.duration / 10), Vec::new());
    while start.elapsed() < place.duration {
        sleep(every).await;
        let (held, seconds) = (Held::by(pid)?, start.elapsed().as_secs_f64());
        let samples: Vec<Sample> = loads.iter().flat_map(Running::take_samples).collect();
        let [p50, p99, _] = latencies(&samples);
        let wal = fs::metadata(place.folder.path().join("store.db-wal")).map_or(0, |file| file.len());
        let rate = samples.len() as f64 / every.as_secs_f64();
        let wal = wal as f64 / 1_048_576.0;
        println!("{seconds:>10.0} {held} {wal:>8.1} {rate:>9.0} {p50:>7.1} {p99:>7.1}");
        rows.push((seconds, held.rss));
        send_to_children(pid, Signal::KILL);
    }
    Ok(rows)
}

fn judge_memory(report: &mut Report, duration: Duration, rows: &[(f64, f64)]) {
    let second = &rows[rows.len() / 2..];
    let (half, end) = (second[0].1, second[second.len() - 1].1);
    let per_minute = slope(second) * 60.0;
    report.note(format!(
        "RSS {half:.0} MB halfway, {end:.0} MB at the end, {per_minute:+.2} MB a minute between"
    ));
    if duration >= LONG {
        report.demand(per_minute <= SLOPE, format!("memory grows by {per_minute:.2} MB a minute"));
    } else {
        report.note("too short a run to judge the slope");
        report.demand(end <= half * COARSE, format!("memory grew from {half:.0} to {end:.0} MB"));
    }
}

fn judge_rest(report: &mut Report, start: Held, end: Held) {
    report.leaks = end.since(start);
    report.demand(end.descriptors <= start.descriptors + DESCRIPTORS, "descriptors were left open");
    report.demand(end.threads <= start.threads + THREADS, "threads were left");
    report.demand(end.children == start.children, "the number of children changed");
}

/// Bounded: what is not back by then is a leak.
async fn until_released(pid: u32, start: Held) -> anyhow::Result<Held> {
    let begin = Instant::now();
    loop {
        let held = Held::by(pid)?;
        let back = held.descriptors <= start.descriptors + DESCRIPTORS && held.children == start.children;
        if back || begin.elapsed() > Duration::from_mins(1) {
            return Ok(held);
        }
        sleep(Duration::from_millis(200)).await;
    }
}
