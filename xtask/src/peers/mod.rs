//! Real peers: clients and servers that other people wrote, driven against the built `toolmux`.
//!
//! To add a suite, write it in a file of its own and add it to `SUITES`.

mod environment;
mod node;
mod python;
mod stamp;
mod suite;

use std::path::PathBuf;

use anyhow::bail;

use crate::process;
use crate::steps::Tally;
use crate::workspace::Workspace;

pub(crate) use self::suite::Suite;

pub(crate) const SUITES: &[Suite] = &[];

/// Every suite runs, also after one that failed; each counts as one test.
pub(crate) fn run(workspace: &Workspace, suites: &[Suite], tally: &mut Tally) -> anyhow::Result<()> {
    if suites.is_empty() {
        println!("    there is no suite yet");
        return Ok(());
    }
    let binary = build(workspace)?;
    let mut failed = Vec::new();
    for suite in suites {
        println!("--> {}: {}", suite.name, suite.about);
        match suite.run(&binary, &workspace.root, &workspace.cache().join("peers")) {
            Ok(()) => tally.passed += 1,
            Err(error) => {
                println!("    {} failed: {error:#}", suite.name);
                tally.failed += 1;
                failed.push(suite.name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("failed with {}", failed.join(", "));
    }
    Ok(())
}

fn build(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    process::run(workspace.cargo().args(["build", "--quiet", "--package", "toolmux", "--bin", "toolmux"]))?;
    Ok(workspace.target.join("debug").join("toolmux"))
}
