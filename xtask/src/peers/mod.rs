//! Real peers: clients and servers that other people wrote, driven against the built `toolmux`.
//!
//! To add a suite, write it in a file of its own and add it to `SUITES`.

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

use anyhow::bail;

use crate::need;
use crate::steps::Tally;
use crate::workspace::Workspace;

use self::environment::Folders;
pub(crate) use self::suite::Suite;

pub(crate) const SUITES: &[Suite] = &[
    opentool::SUITE,
    oxp::SDK,
    oxp::FUZZ,
    oxp::CONSENT,
    mcp::CONFORMANCE,
    mcp::WORLD,
    mcp::RUST_SDK,
    model::SUITE,
    openapi::SUITE,
    rest::SUITE,
    packaging::SUITE,
];

pub(crate) fn run(workspace: &Workspace, suites: &[Suite], tally: &mut Tally) -> anyhow::Result<()> {
    if suites.is_empty() {
        println!("    there is no suite yet");
        return Ok(());
    }
    let binary = workspace.debug_program()?;
    let cache = workspace.cache().join("peers");
    run_all(suites, tally, |suite| suite.run(&binary, &workspace.root, &cache))
}

/// Installs the packages of every suite.
pub(crate) fn prepare(workspace: &Workspace) -> anyhow::Result<()> {
    let cache = workspace.cache().join("peers");
    SUITES.iter().try_for_each(|suite| suite.prepare(&Folders::of(suite.name, &cache)))
}

/// The suite that is only run by hand: real MCP servers in large numbers.
pub(crate) fn world(workspace: &Workspace) -> anyhow::Result<()> {
    need::meet(mcp::SERVERS.needs)?;
    run(workspace, &[mcp::SERVERS], &mut Tally::default())
}

/// Every suite runs, also after one that failed; each counts as one test.
fn run_all(
    suites: &[Suite],
    tally: &mut Tally,
    run: impl Fn(&Suite) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for suite in suites {
        println!("--> {}: {}", suite.name, suite.about);
        match run(suite) {
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
        let run = |suite: &Suite| suite.run(Path::new("toolmux"), Path::new("."), cache.path());
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
