//! `bad-upstreams`: an MCP server that answers calls in every wrong way there is; runs are counted by that server.
//! Each call is sent twice under its id. A tool without hints may run once at most, and no refusal may be untrue.

use std::fmt::Write;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use crate::chaos::Scenario;
use crate::chaos::answer::{Answer, NOTHING_LISTENS};
use crate::chaos::client::HttpClient;
use crate::chaos::ledger::Ledger;
use crate::chaos::misbehaviour::Misbehaviour;
use crate::chaos::place::Place;
use crate::chaos::protocol::{CallRequest, Protocol};
use crate::chaos::report::Report;
use crate::chaos::scripted;
use crate::chaos::server::Toolmux;
use crate::chaos::upstream::{Script, Upstream};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "bad-upstreams",
    about: "14 wrong ways to answer a call x tools without hints, idempotent and read-only",
    seconds: 10,
    short: Some(4),
    run: |place| Box::pin(run(place)),
};

/// The circuit breaker has a scenario of its own.
const LIMITS: &str = "call_timeout = \"1s\"\nbreaker_failures = 1000";

/// With whether it may run more than once.
const TOOLS: [(&str, Repeatable); 3] =
    [("record", Repeatable::No), ("idempotent", Repeatable::Yes), ("read_only", Repeatable::Yes)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeatable {
    No,
    Yes,
}

async fn run(place: &Place) -> anyhow::Result<Report> {
    let upstream = Upstream::start(Script::default()).await?;
    let mut config = format!("store = \"{}\"\n[limits]\n{LIMITS}\n", place.sqlite());
    for (_, name) in Misbehaviour::ALL {
        let url = format!("{}/{name}", upstream.url());
        write!(config, "[sources.{name}]\nkind = \"mcp\"\nurl = \"{url}\"\n")?;
    }
    let server = Toolmux::start_ready(place, "server", &config).await?;
    server.until_listed(Misbehaviour::ALL.len() * scripted::TOOLS.len()).await?;
    let mut modes = JoinSet::new();
    for (misbehaviour, name) in Misbehaviour::ALL {
        modes.spawn(all_tools(server.base(), misbehaviour, name));
    }
    let mut report = Report::new("14 sources, 3 tools, each id twice", "every answer is wrong");
    let mut ledgers = Vec::new();
    while let Some(ended) = modes.join_next().await {
        ledgers.push(ended?);
    }
    let runs = upstream.runs();
    for (misbehaviour, plain, repeatable) in &ledgers {
        let counts = plain.count(&runs).plus(repeatable.count(&runs).repeatable());
        let broken = counts.broken_promises();
        let honest = counts.good == 0 || misbehaviour.is_readable();
        report.demand(honest, format!("{misbehaviour:?}: {} answered as good", counts.good));
        report.demand(broken.is_empty(), format!("{misbehaviour:?}: {}", broken.join(", ")));
        report.counts = std::mem::take(&mut report.counts).plus(counts);
    }
    report.note(format!("{} requests reached the upstream", upstream.calls()));
    let unanswered = report.counts.unanswered;
    report.demand(unanswered == 0, format!("{unanswered} ids were never answered"));
    Ok(report)
}

/// Every tool of one source, one call after the other, so that runs of one call are not taken for another's.
async fn all_tools(base: String, how: Misbehaviour, source: &'static str) -> (Misbehaviour, Ledger, Ledger) {
    let (http, plain, repeatable) = (HttpClient::new(), Ledger::default(), Ledger::default());
    for (tool, may_repeat) in TOOLS {
        let (tool, id) = (format!("{source}.{tool}"), format!("{source}-{tool}"));
        for _ in 0..2 {
            let call = CallRequest { tool: &tool, id: &id, arguments: json!({ "id": id }), key: None };
            let answer = Protocol::Oxp.call(&http, &base, &call).await;
            let answer = answer.unwrap_or(Answer::Unanswered(NOTHING_LISTENS.to_owned()));
            let ledger = if may_repeat == Repeatable::Yes { &repeatable } else { &plain };
            ledger.answered(&id, answer);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    (how, plain, repeatable)
}
