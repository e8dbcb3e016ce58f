//! `cargo xtask`: the checks, tests and benchmarks of this workspace, each one command.

mod bench;
mod chaos;
mod cli;
mod cost;
mod deny;
mod docs;
mod fuzz;
mod headers;
mod need;
mod peers;
mod process;
mod sbom;
mod selection;
mod steps;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Task};
use crate::workspace::Workspace;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    // Not found beforehand: the servers of benchmarks start without asking cargo.
    let workspace = Workspace::find;
    match cli.task {
        Task::Test { steps } => return Ok(steps::run(&workspace()?, &steps)),
        Task::Bench(options) => return bench::run(&workspace()?, &options),
        Task::Cost(selection) => return cost::run(&workspace()?, &selection),
        Task::Chaos(options) => return chaos::run(&workspace()?, &options),
        Task::Tidy { counts: true } => tidy::count(&workspace()?)?,
        Task::Tidy { counts: false } => tidy::run(&workspace()?)?,
        Task::Deny => deny::run(&workspace()?)?,
        Task::Docs { page } => docs::run(&workspace()?, Some(&page), &mut steps::Tally::default())?,
        Task::Picture => {
            docs::picture::draw(&workspace()?)?;
            peers::picture(&workspace()?)?;
        }
        Task::Bare(options) => docs::bare::run(&workspace()?, &options)?,
        Task::Reference => docs::reference::write(&workspace()?)?,
        Task::Headers { libraries } => headers::run(&workspace()?, &libraries)?,
        Task::Sbom => drop(sbom::run(&workspace()?)?),
        Task::World => peers::world(&workspace()?)?,
        Task::Fuzz(options) => fuzz::run(&workspace()?, &options)?,
        Task::ChaosChild { runs } => chaos::child::serve(&runs)?,
        Task::BareAxum { listen } => bench::bare_axum::serve(listen)?,
        Task::BareMcp { listen } => bench::bare_mcp::serve(listen)?,
        Task::BareProxy { listen, upstream } => bench::bare_proxy::serve(listen, upstream)?,
    }
    Ok(ExitCode::SUCCESS)
}
