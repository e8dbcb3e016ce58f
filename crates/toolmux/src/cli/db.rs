//! `toolmux db`: the records of calls and tasks.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};
use toolmux_core::store::{Retention, Store, StoreError, StoreStatus};

use super::failure::Failure;
use super::terminal::print_line;
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
    /// Say it as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Say what is kept.
    ///
    /// Example: toolmux db status --store sqlite:toolmux.db
    Status,
    /// Remove what is old: ended calls, and tasks and sealed records past their time.
    ///
    /// Example: toolmux db prune --older-than 7d
    Prune {
        /// Calls that began before this long ago.
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        older_than: Option<Duration>,
        /// Keep this many calls at most, the newest.
        #[arg(long, value_name = "COUNT")]
        keep: Option<u64>,
    },
    /// Bring the tables up to date; starting a server does so too.
    ///
    /// Example: toolmux db migrate --store postgres://toolmux@localhost/toolmux
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
            Action::Status => self.show(&store.status().await?),
            Action::Migrate => {
                let version = store.status().await?.schema;
                self.say(&json!({ "version": version }), &format!("version {version}"));
            }
            Action::Prune { older_than, keep } => {
                let usual = Retention::default();
                let retention = Retention {
                    calls_for: older_than.unwrap_or(usual.calls_for),
                    calls: keep.unwrap_or(usual.calls),
                    ..usual
                };
                let gone = store.prune(&retention).await?;
                let (calls, tasks, sealed) = (gone.calls, gone.tasks, gone.sealed);
                self.say(
                    &json!({ "calls": calls, "tasks": tasks, "sealed": sealed }),
                    &format!("{calls} calls, {tasks} tasks, {sealed} sealed records removed"),
                );
            }
        }
        Ok(())
    }
}

impl Db {
    fn say(&self, value: &Value, words: &str) {
        print_line(&if self.json { format!("{value:#}") } else { words.to_owned() });
    }

    fn show(&self, status: &StoreStatus) {
        let [calls, running_calls] = status.calls;
        let [pending, running, ended] = status.tasks;
        // We ourselves are one of them while we look.
        let servers = status.servers.saturating_sub(1);
        if self.json {
            let value = json!({
                "kind": status.kind,
                "version": status.schema,
                "servers": servers,
                "calls": { "all": calls, "running": running_calls },
                "tasks": { "pending": pending, "running": running, "ended": ended },
                "sealed": status.sealed,
                "bytes": status.bytes,
            });
            return print_line(&format!("{value:#}"));
        }
        print_line(&format!("kind     {}", status.kind));
        print_line(&format!("version  {}", status.schema));
        print_line(&format!("servers  {servers}"));
        print_line(&format!("calls    {calls}, {running_calls} running"));
        print_line(&format!("tasks    {pending} pending, {running} running, {ended} ended"));
        print_line(&format!("sealed   {}", status.sealed));
        if let Some(bytes) = status.bytes {
            print_line(&format!("bytes    {bytes}"));
        }
    }
}

fn failed(error: StoreError) -> Failure {
    let failure = Failure::refused(anyhow::anyhow!(error.0.public));
    match error.0.developer {
        Some(developer) => failure.hint(developer),
        None => failure,
    }
}
