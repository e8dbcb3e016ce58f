//! `cargo xtask`: the checks, tests and benchmarks of this workspace, each one command.

mod bench;
mod chaos;
mod cli;
mod cost;
mod deny;
mod docs;
mod fuzz;
mod need;
mod peers;
mod process;
mod sbom;
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
    match cli.task {
        Task::Test { steps } => Ok(steps::run(&Workspace::find()?, &steps)),
        Task::Tidy => {
            tidy::run(&Workspace::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Deny => {
            deny::run(&Workspace::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Docs { page } => {
            docs::run(&Workspace::find()?, Some(&page), &mut steps::Tally::default())?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Picture => {
            docs::picture::draw(&Workspace::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Reference => {
            docs::reference::write(&Workspace::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Sbom => {
            sbom::run(&Workspace::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::World => {
            peers::world(&Workspace::find()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Fuzz(options) => {
            fuzz::run(&Workspace::find()?, &options)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Bench(options) => bench::run(&Workspace::find()?, &options),
        Task::Cost(options) => cost::run(&Workspace::find()?, &options),
        Task::Chaos(options) => chaos::run(&Workspace::find()?, &options),
        Task::ChaosChild { runs } => {
            chaos::child::serve(&runs)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::BareAxum { listen } => {
            bench::bare_axum::serve(listen)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::BareMcp { listen } => {
            bench::bare_mcp::serve(listen)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::BareProxy { listen, upstream } => {
            bench::bare_proxy::serve(listen, upstream)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
