//! `sqlite-kill`: the server is killed and started again, over and over; ids without an answer are sent again.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::load::Load;
use crate::chaos::place::Place;
use crate::chaos::protocol::Protocol;
use crate::chaos::report::Report;
use crate::chaos::steady::{Setup, Steady};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "sqlite-kill",
    about: "kill -9 of a server on SQLite, again and again, under calls and tasks",
    seconds: 60,
    short: Some(4),
    run: |place| Box::pin(run(place)),
};

/// How long calls go on between a start and the next kill.
const BETWEEN: Duration = Duration::from_secs(1);

async fn run(place: &Place) -> anyhow::Result<Report> {
    let load = Load { protocols: &[Protocol::Oxp, Protocol::Ats], ..Load::default() };
    let setup = Setup { store: &place.sqlite(), load, ..Setup::default() };
    let mut steady = Steady::start(place, setup).await?;
    let (start, mut kills) = (Instant::now(), 0);
    while start.elapsed() < place.duration {
        sleep(BETWEEN).await;
        steady.servers[0].kill()?;
        kills += 1;
        steady.servers[0].start()?;
        steady.servers[0].until_ready().await?;
    }
    let mut report = Report::new("16 clients, OXP and ATS", format!("{kills} x kill -9"));
    steady.until_good(&mut report, Instant::now()).await;
    steady.finish(&mut report).await?;
    Ok(report)
}
