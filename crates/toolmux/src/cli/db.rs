//! `toolmux db`: the records of calls and tasks.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;
use toolmux_core::store::{Retention, Store, StoreError, StoreStatus};

use super::failure::Failure;
use crate::assembly::store;
use crate::config::Config;

/// Look at the records of calls and tasks, or make them fewer.
///
/// Example: toolmux db status --store sqlite:toolmux.db
#[derive(clap::Args)]
pub(super) struct Db {
    #[command(subcommand)]
    action: Action,
    /// The configuration that names the store.
    #[arg(long, default_value = "toolmux.toml", global = true)]
    config: PathBuf,
    /// The store itself, over what the configuration says.
    #[arg(long, value_name = "URL", global = true)]
    store: Option<String>,
}

#[derive(Subcommand)]
enum Action {
    /// Say what is kept.
    Status,
    /// Remove what is old: ended calls, and tasks and sealed records past their time.
    Prune {
        /// Calls that began before this long ago.
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        older_than: Option<Duration>,
        /// Keep this many calls at most, the newest.
        #[arg(long, value_name = "COUNT")]
        keep: Option<u64>,
    },
    /// Bring the tables up to date; starting a server does so too.
    Migrate,
}

impl Db {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let url = match &self.store {
            Some(url) => url.clone(),
            None => Config::load(&self.config)?.store,
        };
        let store = store(&url).await?;
        let done = self.act(&store).await;
        store.close().await;
        done.map_err(failed)?;
        Ok(ExitCode::SUCCESS)
    }

    async fn act(&self, store: &Arc<dyn Store>) -> Result<(), StoreError> {
        match &self.action {
            Action::Status => show(&store.status().await?),
            Action::Migrate => println!("version {}", store.status().await?.schema),
            Action::Prune { older_than, keep } => {
                let usual = Retention::default();
                let retention = Retention {
                    calls_for: older_than.unwrap_or(usual.calls_for),
                    calls: keep.unwrap_or(usual.calls),
                    ..usual
                };
                let gone = store.prune(&retention).await?;
                println!(
                    "{} calls, {} tasks, {} sealed records removed",
                    gone.calls, gone.tasks, gone.sealed
                );
            }
        }
        Ok(())
    }
}

fn show(status: &StoreStatus) {
    let [calls, running_calls] = status.calls;
    let [pending, running, ended] = status.tasks;
    println!("kind     {}", status.kind);
    println!("version  {}", status.schema);
    // We ourselves are one of them while we look.
    println!("servers  {}", status.servers.saturating_sub(1));
    println!("calls    {calls}, {running_calls} running");
    println!("tasks    {pending} pending, {running} running, {ended} ended");
    println!("sealed   {}", status.sealed);
    if let Some(bytes) = status.bytes {
        println!("bytes    {bytes}");
    }
}

fn failed(error: StoreError) -> Failure {
    let failure = Failure::refused(anyhow::anyhow!(error.0.public));
    match error.0.developer {
        Some(developer) => failure.hint(developer),
        None => failure,
    }
}
