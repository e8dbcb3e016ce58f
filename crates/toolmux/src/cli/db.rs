//! `toolmux db`: the records of calls and tasks.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};
use toolmux_core::audit::AuditRecord;
use toolmux_core::ports::store::{CallCounts, Pruned, Retention, StoreError, StoreStatus, TaskCounts};
use toolmux_core::redact::know_password_in;
use toolmux_core::secret::Secret;
use toolmux_store::{ReadOnlyStore, StoreOpenError};

use super::failure::Failure;
use super::table::Table;
use super::terminal::{Terminal, print_line};
use crate::assembly::store;
use crate::config::Config;

/// Show the records of calls and tasks, or prune them.
///
/// Example: toolmux db status --store sqlite:toolmux.db
#[derive(clap::Args)]
pub(super) struct Db {
    #[command(subcommand)]
    action: Action,
    /// The configuration that names the store.
    #[arg(long, default_value = "toolmux.toml", global = true)]
    config: PathBuf,
    /// The store itself; overrides the configuration.
    #[arg(long, value_name = "URL", global = true)]
    store: Option<String>,
    /// Print it as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Show what is stored; changes nothing.
    ///
    /// Example: toolmux db status --store sqlite:toolmux.db
    Status,
    /// Show who did what, newest first; changes nothing. With --json, one object on each line.
    ///
    /// Example: toolmux db audit --limit 20
    Audit {
        /// The maximum number of audit records.
        #[arg(long, alias = "most", value_name = "COUNT", default_value = "100")]
        limit: usize,
    },
    /// Remove old records: ended calls, and expired tasks and sealed records.
    ///
    /// Example: toolmux db prune --older-than 7d
    Prune {
        /// Remove calls that began longer ago than this.
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        older_than: Option<Duration>,
        /// Keep this many calls at most, the newest of each caller.
        #[arg(long, value_name = "COUNT")]
        keep: Option<u64>,
    },
    /// Bring the tables up to date; a server does so when it starts.
    ///
    /// Example: toolmux db migrate --store postgres://toolmux@localhost/toolmux
    Migrate,
}

impl Db {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let (url, usual) = match &self.store {
            Some(url) => (Secret::new(url), Retention::default()),
            None => {
                let config = Config::load(&self.config)?;
                (config.store, config.retention)
            }
        };
        outlives(&url)?;
        match self.action {
            Action::Status => self.show(&look(&url).await?.status().await.map_err(failed)?),
            Action::Audit { limit } => {
                let records = look(&url).await?.audit_list(limit).await.map_err(failed)?;
                if self.json {
                    records.iter().map(line).for_each(|line| print_line(&line.to_string()));
                } else {
                    table(&records).print(terminal);
                }
            }
            Action::Migrate => {
                let store = store(&url, usual).await?;
                let status = store.status().await;
                store.close().await;
                let version = status.map_err(failed)?.schema;
                self.say(&json!({ "version": version }), &format!("version {version}"));
            }
            Action::Prune { older_than, keep } => {
                let calls_for = older_than.unwrap_or(usual.calls_for);
                let calls = keep.unwrap_or(usual.calls);
                // A number given by hand is meant as it is, however few callers there are.
                let caller_share = if keep.is_some() { 100 } else { usual.caller_share };
                let store = store(&url, usual).await?;
                let gone = store.prune(&Retention { calls_for, calls, caller_share, ..usual }).await;
                store.close().await;
                let Pruned { calls, tasks, sealed, audit } = gone.map_err(failed)?;
                self.say(
                    &json!({ "calls": calls, "tasks": tasks, "sealed": sealed, "audit": audit }),
                    &format!(
                        "{calls} calls, {tasks} tasks, {sealed} sealed records, {audit} audit records removed"
                    ),
                );
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn line(record: &AuditRecord) -> Value {
    let at = humantime::format_rfc3339_millis(record.at).to_string();
    json!({ "at": at, "caller": record.caller, "action": record.action.as_str(), "subject": record.subject })
}

/// Records that only their server sees cannot be shown by another process.
pub(super) fn outlives(store: &Secret) -> Result<(), Failure> {
    if store.expose() != "memory" {
        return Ok(());
    }
    Err(Failure::refused(anyhow::anyhow!("the store is `memory`, which only the running server can read"))
        .hint("--store sqlite:FILE or --store postgres://… names a durable store"))
}

pub(super) async fn look(url: &Secret) -> Result<ReadOnlyStore, Failure> {
    know_password_in(url.expose());
    let looked = ReadOnlyStore::at(url.expose()).await;
    looked.map_err(|error| {
        let hint = match error {
            StoreOpenError::OtherTables { found, wanted } if found > wanted => Some(
                "a newer version of toolmux has migrated this store: use that version, or restore a backup",
            ),
            StoreOpenError::NoTables | StoreOpenError::OtherTables { .. } => {
                Some("`toolmux db migrate` brings the tables up to date")
            }
            StoreOpenError::Connect(_) if url.expose().starts_with("sqlite:") => {
                Some("check that the file exists; `toolmux db migrate` creates it")
            }
            StoreOpenError::Connect(_)
            | StoreOpenError::Hosts(_)
            | StoreOpenError::Migrate(_)
            | StoreOpenError::Unknown(_) => None,
        };
        let failure = Failure::refused(anyhow::Error::from(error));
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}

fn table(records: &[AuditRecord]) -> Table<4> {
    let mut table = Table::new(["WHEN", "CALLER", "ACTION", "SUBJECT"]);
    for record in records {
        let at = humantime::format_rfc3339_millis(record.at).to_string();
        table.row([&at, &record.caller, record.action.as_str(), &record.subject]);
    }
    table
}

impl Db {
    fn say(&self, value: &Value, words: &str) {
        print_line(&if self.json { format!("{value:#}") } else { words.to_owned() });
    }

    fn show(&self, status: &StoreStatus) {
        let CallCounts { all: calls, running: running_calls } = status.calls;
        let TaskCounts { pending, running, ended } = status.tasks;
        let servers = status.servers;
        if self.json {
            let value = json!({
                "kind": status.kind,
                "version": status.schema,
                "servers": servers,
                "calls": { "all": calls, "running": running_calls },
                "tasks": { "pending": pending, "running": running, "ended": ended },
                "sealed": status.sealed,
                "audit": status.audit,
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
        print_line(&format!("audit    {}", status.audit));
        if let Some(bytes) = status.bytes {
            print_line(&format!("bytes    {bytes}"));
        }
    }
}

pub(super) fn failed(error: StoreError) -> Failure {
    let failure = Failure::refused(anyhow::anyhow!(error.message.public));
    match error.message.developer {
        Some(developer) => failure.hint(developer),
        None => failure,
    }
}
