//! `cargo xtask chaos`: faults under load, with every call counted by its id.
//!
//! To add a scenario, write its file and add it to `SCENARIOS`. In each of them nothing may be lost, run twice, or be
//! refused although it ran; what else a scenario demands stands in its file. A broken promise fails the command.

mod answer;
pub(crate) mod child;
mod client;
mod ledger;
mod load;
mod misbehaviour;
mod owned;
mod place;
pub(crate) mod postgres;
mod protocol;
mod proxy;
mod report;
mod resend;
mod sample;
mod scenarios;
mod scripted;
mod server;
mod slope;
mod steady;
mod tmpfs;
mod upstream;

use std::num::NonZeroU64;
use std::path::Path;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures_util::{StreamExt, stream};
use rustix::process::{Resource, getrlimit, setrlimit};

use self::place::{Place, Size, Skip};
use self::report::{Ended, Report, Verdict, markdown, paragraph};
use self::scenarios::SCENARIOS;
pub(crate) use self::slope::slope;
use crate::bench::run_optimised;
use crate::bench::server::Program;
use crate::selection::Selection;
use crate::steps::Tally;
use crate::workspace::Workspace;

pub(crate) struct Scenario {
    name: &'static str,
    about: &'static str,
    seconds: u64,
    /// In `cargo xtask test`; absent where so short a run could not judge the promise.
    short: Option<u64>,
    run: Run,
}

/// Short runs at the same time: most of their time they wait for servers that start or recover.
const SHORT_AT_ONCE: usize = 2;

type Run = for<'a> fn(&'a Place) -> Pin<Box<dyn Future<Output = anyhow::Result<Report>> + 'a>>;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Length of each scenario's load, over its own
    #[arg(long, value_name = "N")]
    seconds: Option<NonZeroU64>,
    /// Small figures, as in `cargo xtask test`
    #[arg(long)]
    short: bool,
    #[command(flatten)]
    selection: Selection,
}

pub(crate) fn list() -> String {
    let line = |scenario: &Scenario| {
        let short = scenario.short.map_or("by hand only".to_owned(), |short| format!("short {short} s"));
        format!("  {:<18} {} ({} s, {short})", scenario.name, scenario.about, scenario.seconds)
    };
    ["Scenarios:".to_owned()].into_iter().chain(SCENARIOS.iter().map(line)).collect::<Vec<_>>().join("\n")
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    if options.selection.list {
        println!("{}", list());
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = choose(&options.selection.names)?;
    let binary = options.selection.binary()?;
    // A debug build of the clients and the upstream would be what limits the load.
    if cfg!(debug_assertions) && binary.is_none() {
        return run_optimised(workspace);
    }
    let toolmux = match binary {
        Some(binary) => binary,
        None => Program::Binary { package: "toolmux", name: "toolmux" }.build(workspace)?,
    };
    let size = if options.short { Size::Short } else { Size::Full };
    let seconds = |scenario: &Scenario| match (options.seconds, size, scenario.short) {
        (Some(seconds), ..) => seconds.get(),
        (None, Size::Short, Some(short)) => short,
        (None, ..) => scenario.seconds,
    };
    let chosen: Vec<_> = chosen.into_iter().map(|scenario| (scenario, seconds(scenario))).collect();
    let rows = campaign(&chosen, &toolmux, size, 1)?;
    if options.selection.markdown {
        println!("\n{}", markdown(&rows, size));
    }
    let tally = tally(&rows);
    println!("\n{tally}");
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The step of `cargo xtask test`: a short run of each, with the program that the tests build.
pub(crate) fn step(workspace: &Workspace, total: &mut Tally) -> anyhow::Result<()> {
    let short = SCENARIOS.iter().filter_map(|scenario| Some((scenario, scenario.short?)));
    let toolmux = workspace.debug_program()?;
    let rows = campaign(&short.collect::<Vec<_>>(), &toolmux, Size::Short, SHORT_AT_ONCE)?;
    *total += tally(&rows);
    let failed = rows.iter().filter(|(_, ended)| ended.verdict() == Verdict::Failed);
    let failed: Vec<&str> = failed.map(|(scenario, _)| scenario.name).collect();
    if !failed.is_empty() {
        bail!("promises broken or scenarios stopped: {} ({total})", failed.join(", "));
    }
    Ok(())
}

fn choose(names: &[String]) -> anyhow::Result<Vec<&'static Scenario>> {
    if names.is_empty() {
        return Ok(SCENARIOS.iter().collect());
    }
    let find = |name: &String| SCENARIOS.iter().find(|scenario| scenario.name == name);
    names
        .iter()
        .map(|name| find(name).with_context(|| format!("there is no scenario `{name}`\n\n{}", list())))
        .collect()
}

fn tally(rows: &[(&Scenario, Ended)]) -> Tally {
    let count = |wanted| rows.iter().filter(|(_, ended)| ended.verdict() == wanted).count() as u64;
    Tally { passed: count(Verdict::Passed), failed: count(Verdict::Failed), skipped: count(Verdict::Skipped) }
}

/// `at_once` scenarios at the same time. An interruption drops those that run, which ends what they started.
fn campaign(
    chosen: &[(&'static Scenario, u64)],
    toolmux: &Path,
    size: Size,
    at_once: usize,
) -> anyhow::Result<Vec<(&'static Scenario, Ended)>> {
    allow_descriptors()?;
    // Scenarios themselves run on this thread, which outlives every process that they start.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let each = |&(scenario, seconds)| async move {
            let start = Instant::now();
            let ended = ended(scenario, Place::new(toolmux, Duration::from_secs(seconds), size)).await;
            println!("{}", paragraph(scenario, &ended, start.elapsed()));
            (scenario, ended)
        };
        let rows = stream::iter(chosen.iter().map(each)).buffered(at_once);
        tokio::select! {
            rows = rows.collect() => Ok(rows),
            () = interrupted() => bail!("interrupted"),
        }
    })
}

async fn ended(scenario: &Scenario, place: anyhow::Result<Place>) -> Ended {
    let reported = match &place {
        Ok(place) => (scenario.run)(place).await,
        Err(error) => return Ended::Stopped(format!("{error:#}")),
    };
    match reported {
        Ok(report) => Ended::Reported(report),
        Err(error) => match error.downcast_ref::<Skip>() {
            Some(skip) => Ended::Skipped(skip.to_string()),
            None => Ended::Stopped(format!("{error:#}")),
        },
    }
}

async fn interrupted() {
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .expect("SIGTERM can be listened to");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

/// As many as the system lets us have, for scenarios with thousands of connections. Servers inherit it.
fn allow_descriptors() -> anyhow::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}

#[cfg(test)]
mod tests {
    use super::{SCENARIOS, choose};
    use std::collections::HashSet;

    #[test]
    fn scenarios_are_chosen_by_name() {
        assert_eq!(choose(&[]).unwrap().len(), SCENARIOS.len());
        assert_eq!(choose(&["overload".to_owned()]).unwrap()[0].name, "overload");
        assert!(choose(&["calm".to_owned()]).is_err());
        let names: HashSet<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), SCENARIOS.len(), "names are unique");
    }

    #[test]
    fn the_short_runs_fit_into_the_test_command() {
        let total: u64 = SCENARIOS.iter().filter_map(|scenario| scenario.short).sum();
        assert!(SCENARIOS.iter().all(|scenario| scenario.short.is_some()), "each scenario has a short run");
        assert!(total <= 150, "with starts and ends, {total} s of load take too long");
    }
}
