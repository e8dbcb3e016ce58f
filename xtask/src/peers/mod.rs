//! Real peers: clients and servers that other people wrote, driven against the built `toolmux`.
//!
//! To add a suite, write it in a file of its own and add it to `SUITES`.

mod console;
mod environment;
mod mcp;
mod model;
mod node;
mod openapi;
mod opentool;
mod oxp;
mod packaging;
mod python;
mod rest;
mod stamp;
mod suite;
mod telemetry;

use std::fs::File;
use std::io::{Read, Seek};
use std::slice;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::bail;

use crate::need;
use crate::steps::Tally;
use crate::workspace::Workspace;

use self::environment::Folders;
pub(crate) use self::suite::Suite;

/// Suites that run at the same time: much of theirs is waiting for servers and clients to start.
const AT_ONCE: usize = 2;

pub(crate) const SUITES: &[Suite] = &[
    // The longest first.
    mcp::CONFORMANCE,
    openapi::SUITE,
    console::SUITE,
    opentool::SUITE,
    oxp::SDK,
    oxp::FUZZ,
    oxp::CONSENT,
    mcp::WORLD,
    mcp::RUST_SDK,
    model::SUITE,
    rest::SUITE,
    packaging::SUITE,
    telemetry::SUITE,
];

pub(crate) fn run(workspace: &Workspace, suites: &[Suite], tally: &mut Tally) -> anyhow::Result<()> {
    if suites.is_empty() {
        println!("    there is no suite yet");
        return Ok(());
    }
    let binary = workspace.debug_program()?;
    let cache = workspace.cache().join("peers");
    run_all(suites, tally, |suite, output| suite.run(output, &binary, &workspace.root, &cache))
}

/// Installs the packages of every suite.
pub(crate) fn prepare(workspace: &Workspace) -> anyhow::Result<()> {
    let cache = workspace.cache().join("peers");
    SUITES.iter().try_for_each(|suite| suite.prepare(&Folders::of(suite.name, &cache)))
}

/// Draws the picture of the console.
pub(crate) fn picture(workspace: &Workspace) -> anyhow::Result<()> {
    need::meet(console::PICTURE.needs)?;
    run(workspace, &[console::PICTURE], &mut Tally::default())
}

/// The suite that is only run by hand: real MCP servers in large numbers.
pub(crate) fn world(workspace: &Workspace) -> anyhow::Result<()> {
    need::meet(mcp::SERVERS.needs)?;
    run(workspace, &[mcp::SERVERS], &mut Tally::default())
}

/// Every suite runs, also after one that failed; each counts as one test. What a suite prints is shown when it has ended.
fn run_all(
    suites: &[Suite],
    tally: &mut Tally,
    run: impl Fn(&Suite, File) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let (waiting, ended) = (Mutex::new(suites.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(suite) = next(&waiting) {
                    let passed = run_one(suite, &run);
                    ended.lock().expect("no suite panics").push((suite.name, passed));
                }
            });
        }
    });
    let ended = ended.into_inner().expect("no suite panics");
    let mut failed: Vec<&str> = ended.iter().filter(|(_, passed)| !passed).map(|(name, _)| *name).collect();
    failed.sort_unstable();
    tally.failed += failed.len() as u64;
    tally.passed += (ended.len() - failed.len()) as u64;
    if !failed.is_empty() {
        bail!("failed with {}", failed.join(", "));
    }
    Ok(())
}

fn next<'a>(waiting: &Mutex<slice::Iter<'a, Suite>>) -> Option<&'a Suite> {
    waiting.lock().expect("no suite panics").next()
}

/// Whether the suite passed.
fn run_one(suite: &Suite, run: &impl Fn(&Suite, File) -> anyhow::Result<()>) -> bool {
    let start = Instant::now();
    let ran = tempfile::tempfile().map_err(anyhow::Error::from).and_then(|mut output| {
        let ran = run(suite, output.try_clone()?);
        let mut text = Vec::new();
        output.rewind()?;
        output.read_to_end(&mut text)?;
        Ok((ran, String::from_utf8_lossy(&text).into_owned()))
    });
    let (ran, text) = ran.unwrap_or_else(|error| (Err(error), String::new()));
    let verdict = match &ran {
        Ok(()) => format!("    {} passed in {:.1} s", suite.name, start.elapsed().as_secs_f64()),
        Err(error) => format!("    {} failed: {error:#}", suite.name),
    };
    // In one piece: two suites may end together.
    println!("--> {}: {}\n{text}{verdict}", suite.name, suite.about);
    ran.is_ok()
}

#[cfg(test)]
mod tests {
    use super::{Suite, run_all};
    use crate::steps::Tally;
    use std::path::Path;
    use std::time::Duration;

    fn check(commands: &[(&'static str, &'static [&'static str])], expect: (&str, &str)) {
        let limit = Duration::from_mins(1);
        let suite = |(name, command): &(&'static str, &'static [&'static str])| Suite {
            name,
            about: "a peer",
            needs: &[],
            python: &[],
            node: &[],
            command,
            limit,
        };
        let suites: Vec<Suite> = commands.iter().map(suite).collect();
        let cache = tempfile::tempdir().unwrap();
        let mut tally = Tally::default();
        let run =
            |suite: &Suite, output| suite.run(output, Path::new("toolmux"), Path::new("."), cache.path());
        let outcome =
            run_all(&suites, &mut tally, run).map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        assert_eq!((tally.to_string().as_str(), outcome.as_str()), expect);
    }

    #[test]
    fn every_suite_runs_and_counts() {
        check(&[("a", &["true"]), ("b", &["true"])], ("2 passed, 0 failed", "ok"));
        check(
            &[("a", &["false"]), ("b", &["true"]), ("c", &["no-such"])],
            ("1 passed, 2 failed", "failed with a, c"),
        );
    }
}
