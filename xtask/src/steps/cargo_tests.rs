//! The `tests` step: plain `cargo test`, so that doc tests run and nothing has to be installed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::steps::Tally;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace, tally: &mut Tally) -> anyhow::Result<()> {
    let mut command = workspace.cargo();
    command.args(["test", "--workspace", "--no-fail-fast", "--", "--quiet"]);
    count(&mut command, tally)
}

/// Every line of `cargo test` goes through to our own output; the closing lines are counted on the way.
pub(super) fn count(command: &mut Command, tally: &mut Tally) -> anyhow::Result<()> {
    command.stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start `cargo test`")?;
    let output = child.stdout.take().context("`cargo test` has no output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read what `cargo test` says")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        if let Some(counts) = Tally::read(&line) {
            *tally += counts;
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`cargo test` ended with {status}, {tally}");
    }
    if tally.passed == 0 {
        bail!("no test ran");
    }
    Ok(())
}
