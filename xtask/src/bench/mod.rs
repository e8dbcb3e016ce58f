//! `cargo xtask bench`: what toolmux costs, measured against a bare handler in the same run.
//!
//! To add a benchmark, write its file and add it to `BENCHMARKS`. Timings are shown beside their targets and never
//! fail the command; a benchmark that cannot run does.

mod ats;
pub(crate) mod bare_axum;
pub(crate) mod bare_mcp;
pub(crate) mod bare_proxy;
mod catalogue;
mod cold_start;
mod compare;
mod exchange;
mod gateway_path;
mod ledger_postgres;
mod load;
mod mcp_add;
mod mcp_proxy;
mod median;
mod openapi;
mod opendyn_add;
mod opentool_add;
mod oxp_add;
mod report;
mod self_check;
pub(crate) mod server;
pub(crate) mod usage;

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

pub(crate) use self::load::percentile;
use self::load::{Generator, Load, Round};
use self::report::Report;
use self::server::Program;
use crate::workspace::Workspace;

const BENCHMARKS: &[Benchmark] = &[
    opentool_add::BENCHMARK,
    opendyn_add::BENCHMARK,
    oxp_add::BENCHMARK,
    mcp_add::BENCHMARK,
    mcp_proxy::BENCHMARK,
    openapi::CALL,
    openapi::CATALOGUE,
    catalogue::BENCHMARK,
    gateway_path::BENCHMARK,
    ats::SUBMIT,
    ats::LEDGER,
    ledger_postgres::BENCHMARK,
    ats::FOLLOWERS,
    cold_start::BENCHMARK,
    self_check::BENCHMARK,
];

pub(crate) struct Benchmark {
    name: &'static str,
    about: &'static str,
    run: fn(&Bench<'_>) -> anyhow::Result<Report>,
}

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Length of one round
    #[arg(long, value_name = "N", default_value = "3")]
    seconds: NonZeroU64,
    /// Rounds of each server, in turn; the table shows their median
    #[arg(long, value_name = "N", default_value = "6")]
    rounds: NonZeroUsize,
    /// Connections that each send one request after another
    #[arg(long, value_name = "N", default_value = "64")]
    connections: NonZeroUsize,
    /// What makes the load: wrk or oha when one is on PATH, else the built-in one
    #[arg(long, value_enum)]
    generator: Option<Generator>,
    /// Write the numbers there as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A program for `ledger-postgres` to measure, several in turn
    #[arg(long, value_name = "LABEL=FILE")]
    binary: Vec<String>,
    /// Print the tables of docs/performance.md at the end
    #[arg(long)]
    markdown: bool,
    /// Benchmarks to run; all of them when none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// What every benchmark is run with.
pub(crate) struct Bench<'a> {
    workspace: &'a Workspace,
    options: &'a Options,
    /// The same for every server, so that all are measured alike.
    generator: Generator,
}

impl Bench<'_> {
    /// Logs and other files of benchmarks.
    fn folder(&self) -> PathBuf {
        self.workspace.cache().join("bench")
    }

    fn generate(&self, load: &Load, address: SocketAddr) -> anyhow::Result<Round> {
        self.generator.generate(load, address, &self.folder())
    }
}

pub(crate) fn list() -> String {
    let lines = BENCHMARKS.iter().map(|benchmark| format!("  {:<16} {}", benchmark.name, benchmark.about));
    ["Benchmarks:".to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let chosen = choose(&options.names)?;
    let generator = load::choose(options.generator, Generator::is_installed)?;
    // A debug build of the load generator would measure itself.
    if cfg!(debug_assertions) {
        return run_optimised(workspace);
    }
    warn_when_busy();
    let bench = Bench { workspace, options, generator };
    let mut reports = Vec::new();
    let mut broken = Vec::new();
    for benchmark in chosen {
        println!("{}: {}", benchmark.name, benchmark.about);
        match (benchmark.run)(&bench) {
            Ok(report) => {
                println!("{report}");
                reports.push((benchmark.name, report));
            }
            Err(error) => {
                println!("  cannot run: {error:#}\n");
                broken.push(benchmark.name);
            }
        }
    }
    if options.markdown {
        println!("{}", report::markdown(&reports));
    }
    if let Some(file) = &options.json {
        fs::write(file, report::json(&reports))
            .with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    if !broken.is_empty() {
        bail!("could not run {}", broken.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

fn choose(names: &[String]) -> anyhow::Result<Vec<&'static Benchmark>> {
    if names.is_empty() {
        return Ok(BENCHMARKS.iter().collect());
    }
    let find = |name: &String| BENCHMARKS.iter().find(|benchmark| benchmark.name == name);
    names
        .iter()
        .map(|name| find(name).with_context(|| format!("there is no benchmark `{name}`\n\n{}", list())))
        .collect()
}

fn warn_when_busy() {
    let load =
        fs::read_to_string("/proc/loadavg").ok().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    if let Some(load) = load.filter(|load| *load > 0.5) {
        println!(
            "the machine is busy (load average {load}): trust the ratios, and see what self-check says of them\n"
        );
    }
}

/// The same command line by an xtask that is built with the profile `dist`.
pub(crate) fn run_optimised(workspace: &Workspace) -> anyhow::Result<ExitCode> {
    println!("building xtask with the profile dist");
    let binary = Program::XTASK.build(workspace)?;
    let status =
        Command::new(binary).args(env::args_os().skip(1)).status().context("cannot start the built xtask")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::choose;

    fn check(names: &[&str], expect: Result<usize, &str>) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let chosen = choose(&names).map(|chosen| chosen.len());
        assert_eq!(
            chosen.map_err(|error| error.to_string().lines().next().unwrap().to_owned()),
            expect.map_err(str::to_owned)
        );
    }

    #[test]
    fn benchmarks_are_chosen_by_name() {
        check(&[], Ok(super::BENCHMARKS.len()));
        check(&["self-check", "cold-start"], Ok(2));
        check(&["faster"], Err("there is no benchmark `faster`"));
    }
}
