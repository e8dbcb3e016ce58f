//! `sqlite-two-servers`, `sqlite-removed`, `sqlite-replaced`: other hands on the file of the store.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::answer::Answer;
use crate::chaos::client::HttpClient;
use crate::chaos::ledger::Ledger;
use crate::chaos::load::Load;
use crate::chaos::place::Place;
use crate::chaos::protocol::{CallRequest, Protocol};
use crate::chaos::report::Report;
use crate::chaos::resend::resend;
use crate::chaos::steady::{Setup, Steady};
use crate::process;

pub(crate) const TWO_SERVERS: Scenario = Scenario {
    name: "sqlite-two-servers",
    about: "two servers on one SQLite file",
    seconds: 15,
    short: Some(3),
    run: |place| Box::pin(two_servers(place)),
};

pub(crate) const REMOVED: Scenario = Scenario {
    name: "sqlite-removed",
    about: "the SQLite file is removed under the server: noticed, said in the log, and refused until a restart",
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
    let mut steady = Steady::start(place, Setup { store: &place.sqlite(), load, ..Setup::default() }).await?;
    sleep(place.share(0.3)).await;
    let file = place.folder.path().join("store.db");
    // Acknowledged before the copy is made, so each of them is in it.
    let known = Arc::new(Ledger::default());
    steady.ledger.good().iter().for_each(|id| known.answered(id, Answer::Good));
    let copy = file.with_extension("copy");
    back_up(&file, &copy)?;
    remove(&file);
    let what = match harm {
        Harm::Removed => "removed",
        Harm::Replaced => {
            fs::rename(&copy, &file)?;
            "replaced by a copy"
        }
    };
    let harmed = Instant::now();
    sleep(NOTICE + place.share(0.5)).await;
    let mut report = Report::new("12 clients", format!("the file is {what}, then a restart"));
    let late =
        steady.running.take_samples().iter().filter(|one| one.good && one.sent > harmed + NOTICE).count();
    report.demand(late == 0, format!("{late} calls were acknowledged later than {NOTICE:?} after that"));
    let log = fs::read_to_string(steady.servers[0].log())?;
    let said = log.lines().filter(|line| line.contains("store.db") && !line.contains(" INFO ")).count();
    report.demand(said == 1, format!("{said} lines in the log name the file instead of one"));
    demand_unready(&mut report, &steady.servers[0].base()).await;
    steady.running.stop().await;
    // Before the restart: what it finds of earlier ids depends on the harm, and is judged by itself.
    report.counts = steady.ledger.count(&steady.upstream.runs());
    let unanswered = report.counts.unanswered;
    report.demand(unanswered == 0, format!("{unanswered} ids were never answered"));
    steady.servers[0].terminate().await?;
    report.demand(matches!(harm, Harm::Replaced) == file.exists(), "the stopping server changed the file");
    steady.servers[0].start()?;
    steady.servers[0].until_ready().await?;
    after_restart(&mut report, &steady, &known, harm).await;
    Ok(report)
}

/// A probe learns that nothing is recorded, and that the process need not be killed for that.
async fn demand_unready(report: &mut Report, base: &str) {
    let client = HttpClient::new();
    for (path, expect) in [("/health", 503), ("/health?live", 200)] {
        let status = client.get(&format!("{base}{path}")).await.map_or(0, |reply| reply.status);
        report.demand(status == expect, format!("{path} answers {status} instead of {expect}"));
    }
}

/// The server works again on whatever is at the path: on an empty store it knows no id, on a copy each that was
/// acknowledged before the copy was made.
async fn after_restart(report: &mut Report, steady: &Steady, known: &Arc<Ledger>, harm: Harm) {
    let base = steady.servers[0].base();
    let (sent, before) = (known.good().len(), steady.upstream.runs());
    match harm {
        Harm::Replaced => {
            report.note(resend(&base, ("Up.record", None), known).await);
            let counts = known.count(&steady.upstream.runs());
            let kept = counts.doubled == 0 && counts.lost == 0 && counts.good == counts.sent;
            report.demand(kept && sent > 0, format!("the copy answers for {} of {sent} ids", counts.good));
            report.demand(counts.doubled == 0, format!("{} ids of the copy ran again", counts.doubled));
        }
        Harm::Removed => {
            let Some(id) = known.good().pop() else { return report.demand(false, "nothing was recorded") };
            let again = send(&base, &id).await;
            let ran = steady.upstream.runs().get(&id) == before.get(&id).map(|runs| runs + 1).as_ref();
            report.demand(again && ran, "the empty store answers for an id of the removed one");
        }
    }
    report
        .demand(send(&base, "after-the-restart").await, "a new id is not answered as good after the restart");
    let runs = steady.upstream.runs().get("after-the-restart").copied();
    report.demand(runs == Some(1), format!("the new id ran {} times", runs.unwrap_or(0)));
}

/// Whether the answer is good.
async fn send(base: &str, id: &str) -> bool {
    let call = CallRequest { tool: "Up.record", id, arguments: json!({ "id": id }), key: None };
    matches!(Protocol::Oxp.call(&HttpClient::new(), base, &call).await, Ok(Answer::Good))
}

/// A copy with all that is committed, made by SQLite itself while the server writes.
fn back_up(file: &Path, copy: &Path) -> anyhow::Result<()> {
    const SCRIPT: &str = "import sqlite3, sys\n\
        sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))";
    process::run(Command::new("python3").args(["-c", SCRIPT]).arg(file).arg(copy))
}

/// With the files that SQLite keeps beside it.
fn remove(file: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        // One that is not there is as good as removed.
        let _ = fs::remove_file(PathBuf::from(name));
    }
}
