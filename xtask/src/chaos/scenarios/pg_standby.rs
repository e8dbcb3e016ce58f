//! `pg-standby`: the primary dies under load and its synchronous standby is promoted; the store's URL names both.

use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::load::Load;
use crate::chaos::place::Place;
use crate::chaos::postgres::Postgres;
use crate::chaos::protocol::Protocol;
use crate::chaos::report::Report;
use crate::chaos::steady::{Setup, Steady};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "pg-standby",
    about: "the primary is killed and its synchronous standby promoted; both hosts in the store's URL",
    seconds: 20,
    short: Some(5),
    run: |place| Box::pin(run(place)),
};

const SYNCHRONOUS_TIMEOUT: Duration = Duration::from_secs(30);

async fn run(place: &Place) -> anyhow::Result<Report> {
    let mut primary = Postgres::start(&[]).await?;
    let standby = Postgres::standby(&primary).await?;
    primary.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")?;
    primary.sql("postgres", "SELECT pg_reload_conf()")?;
    until_synchronous(&primary).await?;
    let (one, two) = (primary.port, standby.port);
    let url =
        format!("postgres://toolmux@127.0.0.1:{one},127.0.0.1:{two}/chaos?target_session_attrs=read-write");
    let load = Load { clients: 12, protocols: &[Protocol::Oxp, Protocol::Ats], ..Load::default() };
    let setup = Setup { store: &url, replicas: 2, load, ..Setup::default() };
    let steady = Steady::start(place, setup).await?;
    sleep(place.share(0.5)).await;
    primary.kill()?;
    standby.sql("postgres", "SELECT pg_promote()")?;
    let mut report =
        Report::new("12 clients, OXP and ATS, 2 replicas", "primary kill -9, synchronous standby promoted");
    steady.until_good(&mut report, Instant::now()).await;
    sleep(place.share(0.5)).await;
    steady.finish(&mut report).await?;
    Ok(report)
}

/// What the primary acknowledges from then on, the standby has.
async fn until_synchronous(primary: &Postgres) -> anyhow::Result<()> {
    let start = Instant::now();
    while start.elapsed() < SYNCHRONOUS_TIMEOUT {
        if primary.sql("postgres", "SELECT sync_state FROM pg_stat_replication")? == "sync" {
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
    }
    bail!("the standby did not become synchronous within {SYNCHRONOUS_TIMEOUT:?}")
}
