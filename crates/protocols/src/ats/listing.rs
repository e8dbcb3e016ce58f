//! The tasks of a caller as a list, and one as it is now. The page has neither: its clients know the ids they were given.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolmux_core::call::Caller;
use toolmux_core::json_text::RawJson;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::task::{Task, TaskId};
use toolmux_http::serve::{PathPart, Web, json};

use super::wire::{self, written};

/// A task in a list.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TaskSummary {
    /// The id of the task.
    pub task_id: String,
    /// The flat name of its tool.
    pub tool: String,
    /// `pending`, `running`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// When it was accepted, as RFC 3339 writes it.
    pub created: String,
    /// When anything last happened to it.
    pub updated: String,
    /// What the tool returned; only of a task that was asked for by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<RawJson>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl From<&Task> for TaskSummary {
    fn from(task: &Task) -> Self {
        let time = |time| humantime::format_rfc3339_millis(time).to_string();
        let error = match &task.outcome {
            Some(Outcome::Failed(error)) => Some(error.message.public.clone()),
            Some(Outcome::Returned(_)) | None => None,
        };
        TaskSummary {
            task_id: task.id.to_string(),
            tool: task.tool.to_string(),
            status: task.status.as_str().to_owned(),
            created: time(task.created),
            updated: time(task.updated),
            value: None,
            error,
        }
    }
}

impl TaskSummary {
    /// The same with what its tool returned.
    pub fn with_value(task: &Task) -> Self {
        let value = match &task.outcome {
            Some(Outcome::Returned(output)) => Some(output.value.clone()),
            Some(Outcome::Failed(_)) | None => None,
        };
        TaskSummary { value, ..TaskSummary::from(task) }
    }
}

/// A page of tasks, as `/tasks` gives it.
#[derive(Deserialize, Serialize)]
pub(super) struct TaskPage {
    pub(super) tasks: Vec<TaskSummary>,
    /// What to name as `before` for the tasks that are older; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

/// The tasks of the caller, newest first; `?before=TASK` those that are older than that one.
pub(super) async fn tasks(State(web): State<Arc<Web>>, request: Request) -> Response {
    let parts = request.into_parts().0;
    let caller = match web.admit(&parts) {
        Ok(caller) => caller,
        Err(refusal) => return wire::refuse(&refusal),
    };
    let query = parts.uri.query().unwrap_or_default();
    let before = query.split('&').find_map(|pair| pair.strip_prefix("before=")).map(TaskId::new);
    match web.gateway.tasks().list(&caller, before.as_ref()).await {
        Ok(found) => {
            let shown = found.iter().filter(|task| may_see(&web, &caller, task));
            let tasks = shown.map(TaskSummary::from).collect();
            let page = TaskPage { tasks, next: found.last().map(|task| task.id.to_string()) };
            json(StatusCode::OK, written(&page))
        }
        Err(refusal) => wire::refuse(&refusal),
    }
}

/// A task as it is now, without waiting for its end.
pub(super) async fn task(State(web): State<Arc<Web>>, PathPart(id): PathPart, request: Request) -> Response {
    let caller = match web.admit(&request.into_parts().0) {
        Ok(caller) => caller,
        Err(refusal) => return wire::refuse(&refusal),
    };
    match web.gateway.tasks().find(&caller, &TaskId::new(&id)).await {
        Ok(Some(task)) if may_see(&web, &caller, &task) => {
            json(StatusCode::OK, written(&TaskSummary::with_value(&task)))
        }
        Ok(_) => wire::no_such_task(),
        Err(refusal) => wire::refuse(&refusal),
    }
}

/// Names of tools outside the toolset that is asked for are not shown, not even to who called them.
fn may_see(web: &Web, caller: &Caller, task: &Task) -> bool {
    let catalog = web.gateway.catalog();
    catalog.find(&ToolRef::flat(&task.tool)).is_none_or(|place| catalog.permits(caller, place))
}
