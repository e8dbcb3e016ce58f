//! `sqlite-io-error`: writes and syncs of the store's files fail with an I/O error for a while, by a library that is
//! loaded before the C library; then the server is killed and started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::load::Load;
use crate::chaos::place::Place;
use crate::chaos::protocol::Protocol;
use crate::chaos::report::Report;
use crate::chaos::steady::{Setup, Steady};
use crate::process;

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "sqlite-io-error",
    about: "writes, then syncs of the SQLite file fail with EIO for a while; then kill -9",
    seconds: 16,
    short: Some(6),
    run: |place| Box::pin(run(place)),
};

/// Shared with the tests of the store.
const SOURCE: &str = "crates/store/tests/faults/fault.c";

async fn run(place: &Place) -> anyhow::Result<Report> {
    let (library, switch) = (build(place)?, place.folder.path().join("fault"));
    let environment = vec![
        ("LD_PRELOAD", library.display().to_string()),
        ("FAULT_FILES", "store.db".to_owned()),
        ("FAULT_SWITCH", switch.display().to_string()),
    ];
    let load = Load { clients: 8, protocols: &[Protocol::Ats, Protocol::Oxp], ..Load::default() };
    let setup = Setup { store: &place.sqlite(), load, environment, ..Setup::default() };
    let mut steady = Steady::start(place, setup).await?;
    let mut report = Report::new("8 clients, ATS and OXP", "EIO of writes, then of syncs, then kill -9");
    for fault in ["EIO write", "EIO sync"] {
        sleep(place.share(0.2)).await;
        fs::write(&switch, fault)?;
        sleep(place.share(0.2)).await;
        fs::remove_file(&switch)?;
        steady.until_good(&mut report, Instant::now()).await;
    }
    sleep(place.share(0.2)).await;
    steady.kill_and_restart(&mut report).await?;
    steady.finish(&mut report).await?;
    Ok(report)
}

fn build(place: &Place) -> anyhow::Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?.join(SOURCE);
    let library = place.folder.path().join("fault.so");
    let mut cc = Command::new("cc");
    process::run(cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl"))?;
    Ok(library)
}
