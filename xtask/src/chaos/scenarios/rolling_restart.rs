//! `rolling-restart…`: three replicas on one PostgreSQL are restarted one after the other, behind clients that take them
//! in turn and leave out those that say they are not ready. No call may fail and no list may be short.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::answer::NOTHING_LISTENS;
use crate::chaos::client::HttpClient;
use crate::chaos::load::{Load, Readiness, Targets};
use crate::chaos::place::Place;
use crate::chaos::postgres::Postgres;
use crate::chaos::protocol;
use crate::chaos::report::Report;
use crate::chaos::scripted::TOOLS;
use crate::chaos::steady::{Setup, Steady};
use crate::chaos::upstream::Script;

const LIST_AFTER: Duration = Duration::from_millis(1_500);

pub(crate) const SLOW_SOURCE: Scenario = Scenario {
    name: "rolling-restart",
    about: "3 replicas on one PostgreSQL restarted in turn, their source lists after 1.5 s",
    seconds: 20,
    short: Some(4),
    run: |place| Box::pin(run(place, LIST_AFTER, Duration::ZERO)),
};

pub(crate) const IN_FLIGHT: Scenario = Scenario {
    name: "rolling-restart-busy",
    about: "the same with calls of 400 ms in flight",
    seconds: 20,
    short: None,
    run: |place| Box::pin(run(place, LIST_AFTER, Duration::from_millis(400))),
};

pub(crate) const FAST_SOURCE: Scenario = Scenario {
    name: "rolling-restart-fast",
    about: "the same with a source that lists at once",
    seconds: 20,
    short: Some(4),
    run: |place| Box::pin(run(place, Duration::ZERO, Duration::ZERO)),
};

/// How often a load balancer asks for readiness here; a real one asks less often.
const PROBE: Duration = Duration::from_millis(100);

async fn run(place: &Place, list_after: Duration, call_takes: Duration) -> anyhow::Result<Report> {
    let postgres = Postgres::start(&["fsync=off"]).await?;
    let load =
        Load { clients: 32, protocols: &protocol::ALL, lists: Some((10, TOOLS.len())), ..Load::default() };
    let script = Script { list_after, call_takes, ..Script::default() };
    let setup = Setup { store: &postgres.url(), replicas: 3, load, script, ..Setup::default() };
    let mut steady = Steady::start(place, setup).await?;
    let mut probes = JoinSet::new();
    for (index, server) in steady.servers.iter().enumerate() {
        probes.spawn(probe(Arc::clone(&steady.targets), index, format!("{}/health", server.base())));
    }
    for server in &mut steady.servers {
        sleep(place.share(0.25)).await;
        server.terminate().await?;
        server.start()?;
        server.until_ready().await?;
    }
    sleep(place.share(0.25)).await;
    let mut report = Report::new("32 clients, 4 protocols, 3 replicas", "SIGTERM of each");
    let (lists, short) = (steady.running.lists(), steady.running.short_lists());
    steady.finish(&mut report).await?;
    report.note(format!("{lists} lists"));
    report.demand(short == 0, format!("{short} of {lists} lists were short"));
    // An id that was sent again and then answered well counts as a failed call here all the same, unless its server
    // had only left before it was asked.
    let failed = report.counts.reasons.iter().filter(|(reason, _)| *reason != NOTHING_LISTENS);
    let failed: u64 = failed.map(|(_, count)| count).sum();
    report.demand(failed == 0, format!("{failed} requests failed"));
    Ok(report)
}

/// Ends with the scenario.
async fn probe(targets: Arc<Targets>, index: usize, health: String) {
    loop {
        let ready = HttpClient::new().get(&health).await.is_ok_and(|reply| reply.status == 200);
        targets.mark(index, if ready { Readiness::Ready } else { Readiness::Unready });
        sleep(PROBE).await;
    }
}
