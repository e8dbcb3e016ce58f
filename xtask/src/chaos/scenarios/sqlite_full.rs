//! `sqlite-full…`: the disk of the SQLite store is full, then has room again, then the server is killed and started;
//! whatever was acknowledged in between must be there.

use std::time::Instant;

use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::load::Load;
use crate::chaos::place::Place;
use crate::chaos::protocol::Protocol;
use crate::chaos::report::Report;
use crate::chaos::steady::{Setup, Steady};
use crate::chaos::tmpfs::Tmpfs;

pub(crate) const ONE: Scenario = Scenario {
    name: "sqlite-full-1",
    about: "disk full, then room, then kill -9, with 1 client; ids and tasks",
    seconds: 12,
    short: Some(3),
    run: |place| Box::pin(run(place, 1)),
};

pub(crate) const EIGHT: Scenario = Scenario {
    name: "sqlite-full-8",
    about: "the same with 8 clients",
    seconds: 12,
    short: Some(3),
    run: |place| Box::pin(run(place, 8)),
};

pub(crate) const SIXTY_FOUR: Scenario = Scenario {
    name: "sqlite-full-64",
    about: "the same with 64 clients",
    seconds: 12,
    short: Some(3),
    run: |place| Box::pin(run(place, 64)),
};

const MEGABYTES: u32 = 48;

async fn run(place: &Place, clients: usize) -> anyhow::Result<Report> {
    let small = Tmpfs::mount(place.folder.path().join("small"), MEGABYTES)?;
    let store = format!("sqlite:{}", small.path.join("store.db").display());
    let protocols: &[Protocol] = &[Protocol::Ats, Protocol::Oxp];
    let load = Load { clients, protocols, ..Load::default() };
    let mut steady = Steady::start(place, Setup { store: &store, load, ..Setup::default() }).await?;
    sleep(place.share(0.25)).await;
    small.fill()?;
    let full = place.share(0.35);
    sleep(full).await;
    small.free()?;
    let mut report = Report::new(
        format!("{clients} clients, ATS and OXP"),
        format!("disk full for {:.1} s, then kill -9", full.as_secs_f64()),
    );
    steady.until_good(&mut report, Instant::now()).await;
    sleep(place.share(0.4)).await;
    steady.kill_and_restart(&mut report).await?;
    steady.finish(&mut report).await?;
    Ok(report)
}
