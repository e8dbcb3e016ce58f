//! `followers`: thousands follow one task over server-sent events; all of them must see its end.

use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::chaos::Scenario;
use crate::chaos::answer::Answer;
use crate::chaos::client::{Broken, HttpClient};
use crate::chaos::ledger::Ledger;
use crate::chaos::place::Place;
use crate::chaos::report::Report;
use crate::chaos::sample::Held;
use crate::chaos::server::Toolmux;
use crate::chaos::upstream::{Script, Upstream};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "followers",
    about: "2,000 followers of one task by server-sent events: all see its end",
    seconds: 6,
    short: Some(4),
    run: |place| Box::pin(run(place)),
};

async fn run(place: &Place) -> anyhow::Result<Report> {
    let count = place.pick(300, 2_000);
    let upstream = Upstream::start(Script { call_takes: place.duration, ..Script::default() }).await?;
    let config = format!("store = \"{}\"\n{}", place.sqlite(), upstream.source());
    let server = Toolmux::start_ready(place, "server", &config).await?;
    let before = Held::by(server.pid()?)?;
    let task = submit(&server.base()).await?;
    let mut followers = JoinSet::new();
    for _ in 0..count {
        let url = format!("{}/callback/{task}", server.base());
        followers.spawn(async move {
            let request = Request::get(url).header("accept", "text/event-stream");
            let all = HttpClient::new().send(request, "").await;
            all.is_ok_and(|reply| String::from_utf8_lossy(&reply.body).contains("\"completed\""))
        });
    }
    // Measured while they all wait for the end.
    tokio::time::sleep(place.share(0.7)).await;
    let during = Held::by(server.pid()?)?;
    let mut saw = 0;
    while let Some(ended) = followers.join_next().await {
        saw += u32::from(ended?);
    }
    let ledger = Arc::new(Ledger::default());
    ledger.answered("task", if saw > 0 { Answer::Good } else { Answer::Gone("no end was seen".to_owned()) });
    let mut report = Report::new(format!("{count} followers"), "none");
    report.counts = ledger.count(&upstream.runs());
    report.note(format!("{saw} saw the end; {}", during.since(before)));
    report.demand(saw == count, format!("{} followers did not see the end", count - saw));
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(report)
}

async fn submit(base: &str) -> anyhow::Result<String> {
    let request = Request::post(format!("{base}/call_tool/Up_record"));
    let reply = HttpClient::new().send(request, json!({ "id": "task" }).to_string()).await;
    let reply = reply.map_err(|broken| match broken {
        Broken::Unreachable => anyhow::anyhow!("nothing listens"),
        Broken::Unanswered(why) => anyhow::anyhow!(why),
    })?;
    let accepted: Value = serde_json::from_slice(&reply.body)?;
    accepted["task_id"].as_str().map(str::to_owned).ok_or_else(|| anyhow::anyhow!("no task: {accepted}"))
}
