//! `cargo xtask test`: the steps in their order, the first failure ends the run.

mod built_dependencies;
mod cargo_tests;
mod extending;
mod memory;
mod setup;
mod tally;

use std::process::ExitCode;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::workspace::Workspace;
use crate::{chaos, deny, docs, peers, process, sbom, tidy};

pub(crate) use self::tally::Tally;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// Install what is missing on this machine
    Setup,
    /// Formatting, without changing anything
    Fmt,
    /// Lints, warnings are errors
    Clippy,
    /// The rules about the source tree
    Tidy,
    /// Licences, sources and advisories of the dependencies
    Deny,
    /// What the program is made of, as CycloneDX
    Sbom,
    /// Every unit, integration and doc test
    Tests,
    /// The changes that docs/extending.md shows, built and tested in a copy of the tree
    Extending,
    /// Calls of C functions in this process, watched by valgrind
    Memory,
    /// A short run of every scenario of `cargo xtask chaos` that it can judge
    Chaos,
    /// Every command of README.md, docs/ and examples/
    Docs,
    /// Real clients and servers of other makers
    Peers,
}

/// What is known at the end of a step: its counts and, if it failed, why.
struct Ended {
    step: Step,
    took: Duration,
    tally: Tally,
    failure: Option<anyhow::Error>,
}

pub(crate) fn run(workspace: &Workspace, chosen: &[Step]) -> ExitCode {
    let is_chosen = |step: &Step| chosen.is_empty() || chosen.contains(step);
    let steps = Step::value_variants().iter().copied().filter(is_chosen);
    let mut ended: Vec<Ended> = Vec::new();
    thread::scope(|scope| {
        let mut downloads = None;
        for step in steps {
            if step == Step::Peers {
                downloads.take().map(ScopedJoinHandle::join);
            }
            ended.push(take(workspace, step));
            if ended.last().is_some_and(|last| last.failure.is_some()) {
                break;
            }
            // Packages of the peers come over the network while the processors compile. What fails is tried again, and
            // told, by the step itself.
            if step == Step::Setup && is_chosen(&Step::Peers) {
                downloads = Some(scope.spawn(|| peers::prepare(workspace).ok()));
            }
        }
    });
    summarise(&ended)
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::Tidy => "tidy",
            Self::Deny => "deny",
            Self::Sbom => "sbom",
            Self::Tests => "tests",
            Self::Extending => "extending",
            Self::Memory => "memory",
            Self::Chaos => "chaos",
            Self::Docs => "docs",
            Self::Peers => "peers",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Setup => "what this machine lacks",
            Self::Fmt => "cargo fmt --all --check",
            Self::Clippy => "cargo clippy --workspace --all-targets -- -D warnings",
            Self::Tidy => "the rules of the source tree",
            Self::Deny => "licences, sources and advisories of the dependencies",
            Self::Sbom => "what the program is made of",
            Self::Tests => "cargo test --workspace --no-fail-fast",
            Self::Extending => "the changes of docs/extending.md, built and tested",
            Self::Memory => "C functions in this process, under valgrind",
            Self::Chaos => "faults under load: nothing lost, nothing run twice, no untrue refusal",
            Self::Docs => "every command of README.md, docs/ and examples/ does what its page says",
            Self::Peers => "clients and servers of other makers",
        }
    }
}

fn take(workspace: &Workspace, step: Step) -> Ended {
    println!("==> {}: {}", step.name(), step.what());
    let start = Instant::now();
    let mut tally = Tally::default();
    let failure = carry_out(workspace, step, &mut tally).err();
    let took = start.elapsed();
    let verdict = if failure.is_some() { "FAILED after" } else { "ok in" };
    println!("<== {}: {verdict} {:.1} s", step.name(), took.as_secs_f64());
    Ended { step, took, tally, failure }
}

fn carry_out(workspace: &Workspace, step: Step, tally: &mut Tally) -> anyhow::Result<()> {
    match step {
        Step::Setup => setup::run(workspace),
        Step::Fmt => process::run(workspace.cargo().args(["fmt", "--all", "--check"])),
        Step::Clippy => {
            let lint = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
            process::run(workspace.cargo().args(lint))
        }
        Step::Tidy => tidy::run(workspace),
        Step::Deny => deny::run(workspace),
        Step::Sbom => sbom::run(workspace).map(drop),
        Step::Tests => cargo_tests::run(workspace, tally),
        Step::Extending => extending::run(workspace, tally),
        Step::Memory => memory::run(workspace, tally),
        Step::Chaos => chaos::step(workspace, tally),
        Step::Docs => docs::run(workspace, None, tally),
        Step::Peers => peers::run(workspace, peers::SUITES, tally),
    }
}

/// The last line is the plain count that continuous integration reads.
fn summarise(ended: &[Ended]) -> ExitCode {
    println!();
    let mut total = Tally::default();
    for step in ended {
        total += step.tally;
        let verdict = if step.failure.is_some() { "FAILED" } else { "ok" };
        println!("{:>9}  {verdict:<6} {:>7.1} s", step.step.name(), step.took.as_secs_f64());
    }
    let failed = ended.iter().find_map(|step| step.failure.as_ref().map(|error| (step.step.name(), error)));
    if let Some((name, error)) = failed {
        println!(
            "\nstep `{name}` failed: {error:#}\nhint: cargo xtask test {name} runs only this step again"
        );
    }
    println!("\n{total}");
    if failed.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
