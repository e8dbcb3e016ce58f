//! `toolmux man`: the manual page.

use std::process::ExitCode;

use clap::CommandFactory;

use super::Cli;
use super::failure::Failure;

/// Print the manual page.
///
/// Example: toolmux man | man -l -
#[derive(clap::Args)]
pub(super) struct Man {}

impl Man {
    pub(super) fn run() -> Result<ExitCode, Failure> {
        let page = clap_mangen::Man::new(Cli::command());
        page.render(&mut std::io::stdout()).map_err(Failure::refused)?;
        Ok(ExitCode::SUCCESS)
    }
}
