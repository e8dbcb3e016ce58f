//! `toolmux tasks`: calls that run in the background, at a running server or in a store: listed, shown, cancelled.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Deserialize;
use serde_json::{Value, json};
use toolmux_core::ports::store::{Retention, StoreError, TaskOfCaller};
use toolmux_core::secret::Secret;
use toolmux_core::task::{LAST_EVENT, TaskId, TaskStatus};
use toolmux_protocols::ats::TaskSummary;

use super::console_client::ConsoleClient;
use super::db::{failed, look, outlives};
use super::failure::Failure;
use super::remote::{KeyOptions, Remote};
use super::table::Table;
use super::terminal::{Terminal, note, print_line};
use crate::assembly::store;
use crate::config::Config;

/// List, show or cancel tasks of a running server or a store.
///
/// With --url and the key of an operator, or from a store, the tasks of every caller; with another key, those of its caller.
///
/// Example: toolmux tasks --url http://127.0.0.1:9627 --state running
///
/// Example: toolmux tasks "$TASK" --cancel --store sqlite:toolmux.db
#[derive(clap::Args)]
pub(super) struct Tasks {
    /// The id of the task to show; without it, tasks are listed.
    task: Option<String>,
    /// Cancel this task.
    #[arg(long, requires = "task")]
    cancel: bool,
    /// Only tasks in this state.
    #[arg(long, value_enum, conflicts_with = "task")]
    state: Option<StateFilter>,
    /// The maximum number of tasks, newest first.
    #[arg(long, alias = "most", value_name = "COUNT", default_value = "100")]
    limit: usize,
    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,
    /// The address of a running server.
    #[arg(long, conflicts_with_all = ["config", "store"])]
    url: Option<String>,
    /// The configuration that names the store.
    #[arg(long, default_value = "toolmux.toml")]
    config: PathBuf,
    /// The store; overrides the configuration.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    #[command(flatten)]
    key: KeyOptions,
}

#[derive(Clone, Copy, ValueEnum)]
enum StateFilter {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl StateFilter {
    fn status(self) -> TaskStatus {
        match self {
            StateFilter::Pending => TaskStatus::Pending,
            StateFilter::Running => TaskStatus::Running,
            StateFilter::Completed => TaskStatus::Completed,
            StateFilter::Failed => TaskStatus::Failed,
            StateFilter::Cancelled => TaskStatus::Cancelled,
        }
    }
}

/// A task as it is shown; a server does not say whose it is, as it is the caller's.
struct Shown {
    caller: Option<String>,
    task: TaskSummary,
}

#[derive(Deserialize)]
struct OperatorsTasks {
    tasks: Vec<OperatorsTask>,
}

/// A task as operators see it.
#[derive(Deserialize)]
struct OperatorsTask {
    id: String,
    tool: String,
    caller: String,
    status: String,
    created: String,
    updated: String,
}

impl Tasks {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        match (&self.url, &self.task) {
            (Some(url), None) => {
                let listed = match self.listed_for_operator(url).await {
                    Ok(listed) => listed,
                    // Whoever is no operator sees the tasks of the own key.
                    Err(_) => self.listed_at(&Remote::new(url, &self.key)?).await?,
                };
                self.list(listed, terminal);
            }
            (Some(url), Some(task)) => {
                let server = Remote::new(url, &self.key)?;
                if self.cancel {
                    server.cancel_task(task).await?;
                }
                self.show(&Shown { caller: None, task: server.task(task).await? });
            }
            (None, None) => self.list(self.listed_in_store().await?, terminal),
            (None, Some(task)) => self.show(&self.task_in_store(task).await?),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The tasks of every caller, where the key is that of an operator.
    async fn listed_for_operator(&self, url: &str) -> Result<Vec<Shown>, Failure> {
        let client = ConsoleClient::new(url, &self.key)?;
        let state = self.state.map(|state| ("state", state.status().as_str().to_owned()));
        let query: Vec<_> = state.into_iter().collect();
        let listed: OperatorsTasks = client.get("console/api/tasks", &query).await?;
        let shown = |task: OperatorsTask| Shown {
            caller: Some(task.caller),
            task: TaskSummary {
                task_id: task.id,
                tool: task.tool,
                status: task.status,
                created: task.created,
                updated: task.updated,
                value: None,
                error: None,
            },
        };
        Ok(listed.tasks.into_iter().take(self.limit).map(shown).collect())
    }

    /// Pages are asked for until there are enough: a server does not know which state is wanted.
    async fn listed_at(&self, server: &Remote) -> Result<Vec<Shown>, Failure> {
        let wanted = self.state.map(|state| state.status().as_str());
        let (mut shown, mut before) = (Vec::new(), None);
        while shown.len() < self.limit {
            let (tasks, next) = server.tasks(before.as_deref()).await?;
            let fitting = tasks.into_iter().filter(|task| wanted.is_none_or(|wanted| task.status == wanted));
            shown.extend(fitting.map(|task| Shown { caller: None, task }));
            match next {
                Some(next) => before = Some(next),
                None => break,
            }
        }
        shown.truncate(self.limit);
        Ok(shown)
    }

    async fn listed_in_store(&self) -> Result<Vec<Shown>, Failure> {
        let (url, _) = self.stored()?;
        let status = self.state.map(StateFilter::status);
        let tasks = look(&url).await?.task_list(status, self.limit).await.map_err(failed)?;
        let shown = |TaskOfCaller { caller, task }: &TaskOfCaller| Shown {
            caller: Some(caller.clone()),
            task: TaskSummary::from(task),
        };
        Ok(tasks.iter().map(shown).collect())
    }

    async fn task_in_store(&self, id: &str) -> Result<Shown, Failure> {
        let (url, retention) = self.stored()?;
        // A store that is not there must not be made by looking for a task in it.
        drop(look(&url).await?);
        let (store, id) = (store(&url, retention).await?, TaskId::new(id));
        let found = async {
            if self.cancel {
                store.task_cancel(&id).await?;
            }
            store.task_find(&id, LAST_EVENT).await
        };
        let found: Result<_, StoreError> = found.await;
        store.close().await;
        let found = found.map_err(failed)?;
        let found = found.ok_or_else(|| {
            Failure::refused(anyhow::anyhow!("there is no such task"))
                .hint("a finished task is kept for `limits.task_ttl` (5 minutes); `toolmux tasks` lists them")
        })?;
        Ok(Shown { caller: Some(found.caller.to_string()), task: TaskSummary::with_value(&found.task) })
    }

    fn stored(&self) -> Result<(Secret, Retention), Failure> {
        let (url, retention) = match &self.store {
            Some(url) => (Secret::new(url), Retention::default()),
            None => {
                let config = Config::load(&self.config)?;
                (config.store, config.retention)
            }
        };
        outlives(&url)?;
        Ok((url, retention))
    }

    fn list(&self, tasks: Vec<Shown>, terminal: &Terminal) {
        if self.json {
            return tasks.iter().for_each(|task| print_line(&as_json(task).to_string()));
        }
        let mut table = Table::new(["TASK", "TOOL", "STATE", "CREATED", "CALLER"]);
        for Shown { caller, task } in &tasks {
            let caller = caller.as_deref().unwrap_or("you");
            table.row([&task.task_id, &task.tool, &task.status, &task.created, caller]);
        }
        table.print(terminal);
        if tasks.is_empty() {
            note("no tasks; a finished one is kept for `limits.task_ttl` (5 minutes)");
        }
    }

    fn show(&self, shown: &Shown) {
        if self.json {
            return print_line(&as_json(shown).to_string());
        }
        let TaskSummary { task_id, tool, status, created, updated, value, error } = &shown.task;
        let caller = shown.caller.as_deref().unwrap_or("you");
        let lines = [("task", task_id.as_str()), ("tool", tool), ("state", status), ("caller", caller)];
        for (name, text) in lines.into_iter().chain([("created", created.as_str()), ("updated", updated)]) {
            print_line(&format!("{name:<8} {text}"));
        }
        let came = value
            .as_ref()
            .map(|value| ("value", value.get()))
            .or(error.as_deref().map(|error| ("error", error)));
        if let Some((name, text)) = came {
            print_line(&format!("{name:<8} {text}"));
        }
    }
}

fn as_json(shown: &Shown) -> Value {
    let mut object = json!(shown.task);
    if let Some(caller) = &shown.caller {
        object["caller"] = json!(caller);
    }
    object
}
