//! `toolmux completions`: what a shell needs to complete our command line.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;

/// Print the completions of a shell.
///
/// Example: toolmux completions bash > ~/.local/share/bash-completion/completions/toolmux
#[derive(clap::Args)]
pub(super) struct Completions {
    /// The shell to complete in.
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> ExitCode {
        clap_complete::generate(self.shell, &mut Cli::command(), "toolmux", &mut std::io::stdout());
        ExitCode::SUCCESS
    }
}
