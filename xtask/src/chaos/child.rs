//! The scripted MCP server on standard streams, a hidden command of xtask: it appends the id of every run to a file,
//! which tells the truth whatever kills it. It ends when its input does.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, Write, stdin, stdout};
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::ledger::Runs;
use super::scripted::{self, Reaction, TOOLS};

pub(crate) fn serve(runs: &Path) -> anyhow::Result<()> {
    let mut runs = File::options()
        .create(true)
        .append(true)
        .open(runs)
        .with_context(|| format!("cannot append to `{}`", runs.display()))?;
    for line in stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?).context("a line that is not JSON")?;
        let result = match scripted::reaction(&request, TOOLS.len()) {
            Reaction::Nothing => continue,
            Reaction::Known(result) => result,
            Reaction::Run { id, result } => {
                // One write, so that lines of several servers never mix.
                runs.write_all(format!("{id}\n").as_bytes())?;
                result
            }
        };
        let mut output = stdout().lock();
        writeln!(output, "{}", scripted::answer(&request, &result))?;
        output.flush()?;
    }
    Ok(())
}

/// What such servers have written so far.
pub(crate) fn runs(file: &Path) -> anyhow::Result<Runs> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let mut runs: Runs = HashMap::new();
    for id in text.lines() {
        *runs.entry(id.to_owned()).or_default() += 1;
    }
    Ok(runs)
}
