//! `overload`: far more calls at once than a tool has turns and a queue for.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use crate::chaos::Scenario;
use crate::chaos::answer::{Answer, NOTHING_LISTENS};
use crate::chaos::client::HttpClient;
use crate::chaos::ledger::Ledger;
use crate::chaos::place::Place;
use crate::chaos::protocol::{CallRequest, Protocol};
use crate::chaos::report::Report;
use crate::chaos::sample::Held;
use crate::chaos::server::Toolmux;
use crate::chaos::upstream::{Script, Upstream};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "overload",
    about: "calls at once for a tool with 8 turns and a queue of 200: as many good, the rest refused as busy",
    seconds: 5,
    short: Some(3),
    run: |place| Box::pin(run(place)),
};

const TURNS: u64 = 8;
const QUEUE: u64 = 200;

async fn run(place: &Place) -> anyhow::Result<Report> {
    let clients = place.pick(400, 1_000);
    let script = Script { call_takes: Duration::from_millis(20), ..Script::default() };
    let upstream = Upstream::start(script).await?;
    let config = format!(
        "store = \"memory\"\n[sources.Up]\nkind = \"mcp\"\nurl = \"{}\"\n\
         [limits]\nconcurrency = {TURNS}\nqueue = {QUEUE}\n",
        upstream.url()
    );
    let server = Toolmux::start_ready(place, "server", &config).await?;
    let before = Held::by(server.pid()?)?;
    let ledger = Arc::new(Ledger::default());
    let mut calls = JoinSet::new();
    for number in 0..clients {
        let (ledger, base) = (Arc::clone(&ledger), server.base());
        calls.spawn(async move {
            let id = format!("c-{number}");
            let call = CallRequest { tool: "Up.record", id: &id, arguments: json!({ "id": id }), key: None };
            let answer = Protocol::Oxp.call(&HttpClient::new(), &base, &call).await;
            let nobody = || Answer::Unanswered(NOTHING_LISTENS.to_owned());
            ledger.answered(&id, answer.unwrap_or_else(|_| nobody()));
        });
    }
    while calls.join_next().await.is_some() {}
    let mut report = Report::new(format!("{clients} calls at once"), "none");
    report.counts = ledger.count(&upstream.runs());
    report.leaks = Held::by(server.pid()?)?.since(before);
    let counts = report.counts.clone();
    let fits = clients.min(TURNS + QUEUE);
    report.demand(counts.good >= fits, format!("{} good, but {fits} fit", counts.good));
    report.demand(counts.good + counts.refused == counts.sent, "not every call was answered or refused");
    Ok(report)
}
