//! `pg-full`: the tablespace of the store has no room left, then has again.

use std::time::Instant;

use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::load::Load;
use crate::chaos::place::Place;
use crate::chaos::postgres::Postgres;
use crate::chaos::protocol::Protocol;
use crate::chaos::report::Report;
use crate::chaos::steady::{Setup, Steady};
use crate::chaos::tmpfs::Tmpfs;

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "pg-full",
    about: "the disk of PostgreSQL is full for half the time, then has room again",
    seconds: 30,
    short: Some(6),
    run: |place| Box::pin(run(place)),
};

const MEGABYTES: u32 = 48;

async fn run(place: &Place) -> anyhow::Result<Report> {
    let postgres = Postgres::start(&[]).await?;
    let small = Tmpfs::mount(postgres.folder.path().join("small"), MEGABYTES)?;
    Tmpfs::give_to_nobody(&small.path)?;
    let room = small.path.join("tablespace");
    postgres.make_folder(&room)?;
    postgres.sql("postgres", &format!("CREATE TABLESPACE small LOCATION '{}'", room.display()))?;
    postgres.sql("postgres", "DROP DATABASE chaos")?;
    postgres.sql("postgres", "CREATE DATABASE chaos TABLESPACE small")?;
    let load = Load { protocols: &[Protocol::Oxp, Protocol::Ats], ..Load::default() };
    let setup = Setup { store: &postgres.url(), replicas: 2, load, ..Setup::default() };
    let steady = Steady::start(place, setup).await?;
    sleep(place.share(0.25)).await;
    small.fill()?;
    let full = place.share(0.5);
    sleep(full).await;
    small.free()?;
    let mut report = Report::new(
        "16 clients, OXP and ATS, 2 replicas",
        format!("tablespace full for {:.0} s", full.as_secs_f64()),
    );
    steady.until_good(&mut report, Instant::now()).await;
    sleep(place.share(0.25)).await;
    steady.finish(&mut report).await?;
    Ok(report)
}
