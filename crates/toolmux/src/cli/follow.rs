//! `toolmux follow`: a task that runs in the background of a server, to its end.

use std::process::ExitCode;

use super::call::print;
use super::failure::Failure;
use super::remote::{KeyOptions, Remote};
use super::terminal::Terminal;

/// Follow a task of a running server and print its value.
///
/// Ctrl-C does not cancel the task. The exit codes are those of `toolmux call`.
///
/// Example: toolmux follow "$TASK" --url http://127.0.0.1:9627
#[derive(clap::Args)]
pub(super) struct FollowTask {
    /// The id of the task, as returned by `toolmux call --background` or by any protocol.
    task: String,
    /// The server that has it.
    #[arg(long)]
    url: String,
    #[command(flatten)]
    key: KeyOptions,
}

impl FollowTask {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        print(Remote::new(&self.url, &self.key)?.follow(&self.task, terminal).await?)
    }
}
