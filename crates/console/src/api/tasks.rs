//! Tasks of every caller: listed, shown, cancelled, and their questions answered.

use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use toolmux_core::json_text::RawJson;
use toolmux_core::refusal::Refusal;
use toolmux_core::task::{Task, TaskId, TaskStatus};
use toolmux_core::tasks::Tasks;
use toolmux_http::serve::PathPart;

use crate::answer::{message, refused, value};
use crate::api::call_tool::outcome_json;
use crate::change::Change;
use crate::conversation::as_result;
use crate::operator::Operator;
use crate::series::time;

/// How many tasks are listed.
const MOST: usize = 500;

/// A task as a list of every caller's tasks shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TaskRow {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) caller: String,
    pub(crate) status: &'static str,
    pub(crate) created: String,
    pub(crate) updated: String,
    pub(crate) is_ended: bool,
    /// How many questions of it are open here.
    pub(crate) questions: usize,
}

pub(crate) fn row(tasks: &Tasks, caller: &str, task: &Task) -> TaskRow {
    TaskRow {
        id: task.id.to_string(),
        tool: task.tool.to_string(),
        caller: caller.to_owned(),
        status: task.status.as_str(),
        created: time(task.created),
        updated: time(task.updated),
        is_ended: task.status.is_ended(),
        questions: tasks.questions(task).len(),
    }
}

impl Operator {
    /// The tasks of every caller.
    pub(crate) fn tasks(&self) -> Tasks {
        let own = self.web.gateway.tasks();
        own.clone().of_everybody(&self.caller).unwrap_or(own)
    }

    /// The newest tasks, of one state or all.
    pub(crate) async fn task_rows(&self, status: Option<&str>) -> Result<Vec<TaskRow>, Refusal> {
        let tasks = self.tasks();
        let listed = tasks.list_all(status.and_then(TaskStatus::read), MOST).await?;
        Ok(listed.iter().map(|found| row(&tasks, &found.caller, &found.task)).collect())
    }
}

pub(crate) async fn list(operator: Operator) -> Response {
    let status = operator.parameter("state");
    match operator.task_rows(status.as_deref()).await {
        Ok(rows) => value(StatusCode::OK, &json!({ "tasks": rows })),
        Err(refusal) => refused(&operator.uri, &refusal),
    }
}

pub(crate) async fn one(operator: Operator, PathPart(id): PathPart) -> Response {
    shown(&operator, &TaskId::new(&id)).await
}

async fn shown(operator: &Operator, id: &TaskId) -> Response {
    let tasks = operator.tasks();
    let found = async {
        let owner = tasks.owner(&operator.caller, id).await?;
        Ok::<_, Refusal>(owner.zip(tasks.find(&operator.caller, id).await?))
    };
    match found.await {
        Ok(Some((owner, task))) => {
            let mut body = json!(row(&tasks, &owner, &task));
            body["outcome"] = task.outcome.as_ref().map_or(Value::Null, outcome_json);
            body["open_questions"] = tasks.questions(&task).iter().map(|question| {
                json!({ "number": question.number.to_string(), "protocol": question.protocol, "asked": question.asked })
            }).collect();
            value(StatusCode::OK, &body)
        }
        Ok(None) => message(StatusCode::NOT_FOUND, "there is no such task"),
        Err(refusal) => refused(&operator.uri, &refusal),
    }
}

pub(crate) async fn cancel(PathPart(id): PathPart, change: Change) -> Response {
    let Change { operator, .. } = change;
    let id = TaskId::new(&id);
    match operator.tasks().cancel(&operator.caller, &id).await {
        Ok(Some(_)) => shown(&operator, &id).await,
        Ok(None) => message(StatusCode::NOT_FOUND, "there is no such task"),
        Err(refusal) => refused(&operator.uri, &refusal),
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    number: String,
    answer: Option<RawJson>,
}

pub(crate) async fn answer(PathPart(id): PathPart, change: Change) -> Response {
    let Change { operator, body } = change;
    let id = TaskId::new(&id);
    let Ok(Answered { number, answer }) = serde_json::from_slice(&body) else {
        return message(StatusCode::BAD_REQUEST, "the body must be {\"number\", \"answer\"}");
    };
    answer_question_of(&operator, &id, &number, answer).await;
    shown(&operator, &id).await
}

/// Answers a question of a task, or refuses to with `None`.
pub(crate) async fn answer_question_of(
    operator: &Operator,
    id: &TaskId,
    number: &str,
    answer: Option<RawJson>,
) {
    let tasks = operator.tasks();
    if let (Ok(Some(task)), Ok(number)) = (tasks.find(&operator.caller, id).await, number.parse()) {
        tasks.answer(&task, number, answer.map(|answer| as_result(&answer)));
    }
}
