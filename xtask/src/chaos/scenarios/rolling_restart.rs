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
    short: Some(3),
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

/// Of a short run. The grace is still several probes long. A replica that clients leave out keeps their idle connections
/// until the drain ends, so that is what a stop takes.
const SHORT_STOP: &str = "[limits]\nstop_grace = \"800ms\"\ndrain = \"3s\"\n";

async fn run(place: &Place, list_after: Duration, call_takes: Duration) -> anyhow::Result<Report> {
    let postgres = Postgres::start(&["fsync=off"]).await?;
    let load =
        Load { clients: 32, protocols: &protocol::ALL, lists: Some((10, TOOLS.len())), ..Load::default() };
    let script = Script { list_after, call_takes, ..Script::default() };
    let config = place.pick(SHORT_STOP, "");
    let setup = Setup { store: &postgres.url(), replicas: 3, load, script, config, ..Setup::default() };
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
    steady.running.stop().await;
    let (lists, refused) = (steady.running.lists(), steady.running.refused_connects());
    steady.finish(&mut report).await?;
    report.note(format!("{} lists", lists.all));
    report.note(format!("{refused} refused connects, sent to the next replica"));
    report.demand(lists.short == 0, format!("{} of {} lists were short", lists.short, lists.all));
    report.demand(lists.broken == 0, format!("{} of {} lists were broken", lists.broken, lists.all));
    // An id that was sent again and then answered well counts as a failed call here all the same, unless its server
    // had only left before it was asked: such are the refused connects.
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
