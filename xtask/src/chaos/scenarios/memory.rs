//! `memory`: many large calls at once; the memory they take together is bounded, and given back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::bench::usage::resident;
use crate::chaos::Scenario;
use crate::chaos::answer::{Answer, NOTHING_LISTENS};
use crate::chaos::client::HttpClient;
use crate::chaos::ledger::Ledger;
use crate::chaos::place::Place;
use crate::chaos::protocol::{CallRequest, Protocol};
use crate::chaos::report::Report;
use crate::chaos::sample::Peak;
use crate::chaos::server::Toolmux;
use crate::chaos::upstream::{Script, Upstream};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "memory",
    about: "50 calls of 3.9 MB at once that come back as they went: memory stays within the limit",
    seconds: 10,
    short: Some(3),
    run: |place| Box::pin(run(place)),
};

const BYTES: usize = 3_900_000;

/// `limits.memory`, in mebibytes: a third of the bodies, and as much of the answers, at a time.
const LIMIT: u32 = 64;

/// What may be resident at most beyond what was before, as a multiple of the limit. That counts the bytes of bodies and
/// answers; of each there are several copies for some time: as received, as arguments, as sent on, and in buffers. The
/// default of `limits.memory` and docs/path-of-a-call.md rely on this figure.
const COPIES: f64 = 5.0;

/// What may stay resident once all is answered, in mebibytes.
const AFTERWARDS: f64 = 250.0;

async fn run(place: &Place) -> anyhow::Result<Report> {
    let (clients, limit) = place.pick((16, 40), (50, LIMIT));
    let upstream = Upstream::start(Script::default()).await?;
    let config = format!("store = \"memory\"\n{}[limits]\nmemory = \"{limit}MiB\"\n", upstream.source());
    let server = Toolmux::start_ready(place, "server", &config).await?;
    let (pid, ledger) = (server.pid()?, Arc::new(Ledger::default()));
    let before = resident(pid)?;
    let peak = Peak::watch(pid);
    let text = Arc::new("x".repeat(BYTES));
    let mut calls = JoinSet::new();
    for number in 0..clients {
        calls.spawn(large(server.base(), number, Arc::clone(&text), Arc::clone(&ledger)));
    }
    while calls.join_next().await.is_some() {}
    let peak = peak.end().await;
    let after = until_released(pid).await?;
    let mut report = Report::new(format!("{clients} x 3.9 MB at once, limits.memory {limit} MiB"), "none");
    report.counts = ledger.count(&upstream.runs());
    report.note(format!("RSS {before:.0} MB before, {peak:.0} MB at most, {after:.0} MB afterwards"));
    let growth = (peak - before) / f64::from(limit);
    report.note(format!("grew by {growth:.1} times the limit"));
    report.demand(growth <= COPIES, format!("resident memory grew by {growth:.1} times the limit"));
    report.demand(after <= AFTERWARDS, format!("{after:.0} MB stay resident"));
    let counts = report.counts.clone();
    report.demand(
        counts.good + counts.refused + counts.may_have_run == counts.sent,
        "not every call was answered",
    );
    Ok(report)
}

async fn large(base: String, number: usize, text: Arc<String>, ledger: Arc<Ledger>) {
    let id = format!("m-{number}");
    let arguments = json!({ "id": id, "text": *text });
    let call = CallRequest { tool: "Up.echo", id: &id, arguments, key: None };
    let answer = Protocol::OpenTool.call(&HttpClient::new(), &base, &call).await;
    ledger.answered(&id, answer.unwrap_or(Answer::Unanswered(NOTHING_LISTENS.to_owned())));
}

/// The allocator gives memory back a while after the last call.
async fn until_released(pid: u32) -> anyhow::Result<f64> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) && resident(pid)? > AFTERWARDS {
        sleep(Duration::from_millis(100)).await;
    }
    resident(pid)
}
