//! `sqlite-two-servers`, `sqlite-removed`, `sqlite-replaced`: other hands on the file of the store.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::load::Load;
use crate::chaos::place::Place;
use crate::chaos::report::Report;
use crate::chaos::steady::{Setup, Steady};

pub(crate) const TWO_SERVERS: Scenario = Scenario {
    name: "sqlite-two-servers",
    about: "two servers on one SQLite file",
    seconds: 15,
    short: Some(3),
    run: |place| Box::pin(two_servers(place)),
};

pub(crate) const REMOVED: Scenario = Scenario {
    name: "sqlite-removed",
    about: "the SQLite file is removed under the server: noticed, said in the log, and refused",
    seconds: 12,
    short: Some(4),
    run: |place| Box::pin(run(place, Harm::Removed)),
};

pub(crate) const REPLACED: Scenario = Scenario {
    name: "sqlite-replaced",
    about: "the same with a copy of the file put in its place",
    seconds: 12,
    short: Some(4),
    run: |place| Box::pin(run(place, Harm::Replaced)),
};

#[derive(Clone, Copy)]
enum Harm {
    Removed,
    Replaced,
}

/// Calls that were under way when the file went away may still be answered as good.
const NOTICE: Duration = Duration::from_secs(2);

async fn two_servers(place: &Place) -> anyhow::Result<Report> {
    let load = Load { clients: 12, ..Load::default() };
    let setup = Setup { store: &place.sqlite(), replicas: 2, load, ..Setup::default() };
    let steady = Steady::start(place, setup).await?;
    sleep(place.duration).await;
    let mut report = Report::new("12 clients, 2 servers", "none");
    steady.finish(&mut report).await?;
    report.demand_all_good();
    Ok(report)
}

async fn run(place: &Place, harm: Harm) -> anyhow::Result<Report> {
    let load = Load { clients: 12, ..Load::default() };
    let steady = Steady::start(place, Setup { store: &place.sqlite(), load, ..Setup::default() }).await?;
    sleep(place.share(0.3)).await;
    let file = place.folder.path().join("store.db");
    let (copy, what) = (
        file.with_extension("copy"),
        match harm {
            Harm::Removed => "removed",
            Harm::Replaced => "replaced by a copy",
        },
    );
    fs::copy(&file, &copy)?;
    remove(&file);
    if let Harm::Replaced = harm {
        fs::rename(&copy, &file)?;
    }
    let harmed = Instant::now();
    sleep(NOTICE + place.share(0.5)).await;
    let mut report = Report::new("12 clients", format!("the file is {what}"));
    let late =
        steady.running.take_samples().iter().filter(|one| one.good && one.sent > harmed + NOTICE).count();
    report.demand(late == 0, format!("{late} calls were acknowledged later than {NOTICE:?} after that"));
    let log = fs::read_to_string(steady.servers[0].log())?;
    let said = log.lines().filter(|line| line.contains("store.db") && !line.contains(" INFO ")).count();
    report.demand(said == 1, format!("{said} lines in the log name the file instead of one"));
    steady.finish(&mut report).await?;
    Ok(report)
}

/// With the files that SQLite keeps beside it.
fn remove(file: &std::path::Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        // One that is not there is as good as removed.
        let _ = fs::remove_file(PathBuf::from(name));
    }
}
