//! Tasks of every caller: what they came to, what they ask, and cancelling them.

use axum::response::Response;
use http::StatusCode;
use maud::{Markup, html};
use serde_json::Value;
use toolmux_core::refusal::Refusal;
use toolmux_core::task::{Task, TaskId};
use toolmux_core::tasks::TaskQuestion;
use toolmux_http::serve::PathPart;

use crate::answer::{refused, see_other, told};
use crate::api::{TaskRow, answer_question_of, task_row};
use crate::change::Change;
use crate::operator::Operator;
use crate::pages::layout::{Page, csrf_field, root_of};
use crate::pages::parts::{age, command_line, json_text, state, text};
use crate::pages::result::outcome_markup;
use crate::pages::sources::here;

const STATES: [&str; 5] = ["pending", "running", "completed", "failed", "cancelled"];

pub(crate) async fn list(operator: Operator) -> Response {
    let wanted = operator.parameter("state");
    let rows = match operator.task_rows(wanted.as_deref()).await {
        Ok(rows) => rows,
        Err(refusal) => return refused(&operator.uri, &refusal),
    };
    let body = html! {
        div.head { h1 { "Tasks" } p.small { (rows.len()) } }
        form.filters method="get" data-live {
            select name="state" aria-label="State" {
                option value="" { "all states" }
                @for state in STATES { option value=(state) selected[wanted.as_deref() == Some(state)] { (state) } }
            }
            button { "Filter" }
        }
        div #tasks data-watch="tasks" { (table(&operator, &rows)) }
        p.small { "Ended tasks are kept for some minutes." }
        (command_line("toolmux tasks"))
    };
    Page { operator: &operator, title: "Tasks", at: "console/tasks", modules: &["events.js"] }.show(&body)
}

fn table(operator: &Operator, rows: &[TaskRow]) -> Markup {
    let root = root_of(&operator.uri);
    html! {
        @if rows.is_empty() { p.empty { "No task is kept." } } @else { div.scroll { table.list {
            thead { tr { th { "Task" } th { "Tool" } th { "Caller" } th { "State" } th { "Created" } th { "Updated" } } }
            tbody { @for task in rows { tr {
                th scope="row" { a.mono href={ (root) "console/tasks/" (task.id) } { (task.id.get(..8).unwrap_or(&task.id)) } }
                td.mono { (text(&task.tool)) }
                td { (text(&task.caller)) }
                td { (state(task.status)) @if task.questions > 0 { " " span.tag.warn { "asks" } } }
                td { (age(&task.created)) }
                td { (age(&task.updated)) }
            } } }
        } } }
    }
}

pub(crate) async fn one(operator: Operator, PathPart(id): PathPart) -> Response {
    let (id, tasks) = (TaskId::new(&id), operator.tasks());
    let found = async {
        let owner = tasks.owner(&operator.caller, &id).await?;
        Ok::<_, Refusal>(owner.zip(tasks.find(&operator.caller, &id).await?))
    };
    match found.await {
        Ok(Some((owner, task))) => {
            let body =
                task_markup(&operator, &task_row(&tasks, &owner, &task), &task, &tasks.questions(&task));
            let modules: &[&str] = if task.status.is_ended() { &[] } else { &["events.js"] };
            Page { operator: &operator, title: "Task", at: "console/tasks", modules }.show(&body)
        }
        Ok(None) => told(
            &operator.uri,
            StatusCode::NOT_FOUND,
            "There is no such task; ended tasks are kept for some minutes.",
        ),
        Err(refusal) => refused(&operator.uri, &refusal),
    }
}

fn task_markup(operator: &Operator, row: &TaskRow, task: &Task, questions: &[TaskQuestion]) -> Markup {
    let root = root_of(&operator.uri);
    html! {
        p.crumbs { a href={ (root) "console/tasks" } { "Tasks" } }
        div.head #task data-watch=[(!row.is_ended).then_some("tasks")] data-task=(row.id) data-status=(row.status) data-questions=(row.questions) {
            h1.mono { (text(&row.tool)) } (state(row.status)) }
        dl.facts {
            div { dt { "Task" } dd.mono { (row.id) } }
            div { dt { "Caller" } dd { (text(&row.caller)) } }
            div { dt { "Created" } dd { (age(&row.created)) } }
            div { dt { "Updated" } dd { (age(&row.updated)) } }
        }
        @for question in questions { (question_form(operator, question)) }
        @if let Some(outcome) = &task.outcome { section { h2 { "Outcome" } (outcome_markup(outcome)) } }
        @if !row.is_ended {
            form method="post" action=(row.id) {
                (csrf_field(operator))
                input type="hidden" name="action" value="cancel";
                label.confirm { input type="checkbox" name="confirm" required; " Cancel this task; its tool may have run" }
                button.danger { "Cancel task" }
            }
            (command_line(&format!("toolmux tasks {} --cancel", row.id)))
        }
    }
}

/// A question in the words of its protocol, and a field for its answer in the same.
fn question_form(operator: &Operator, question: &TaskQuestion) -> Markup {
    let asked: Value = serde_json::from_str(question.asked.get()).unwrap_or_default();
    let words = asked.pointer("/params/message").or_else(|| asked.get("message")).and_then(Value::as_str);
    html! {
        section.question {
            h2 { "The tool asks" }
            @if let Some(words) = words { p { (text(words)) } }
            details open[words.is_none()] { summary { "The question as " (question.protocol) " has it" } (json_text(&asked)) }
            form method="post" {
                (csrf_field(operator))
                input type="hidden" name="action" value="answer";
                input type="hidden" name="number" value=(question.number);
                label for="answer" { "Answer (JSON)" }
                textarea #answer name="answer" rows="4" spellcheck="false" { "{\"action\": \"accept\", \"content\": {}}" }
                button.primary { "Answer" } " "
                button.quiet name="refuse" value="yes" { "Refuse to answer" }
            }
        }
    }
}

pub(crate) async fn change(PathPart(id): PathPart, change: Change) -> Response {
    let (id, operator) = (TaskId::new(&id), &change.operator);
    if change.field("action").as_deref() == Some("answer") {
        let answer = change.field("answer").filter(|_| change.field("refuse").is_none());
        let answer = answer.and_then(|text| serde_json::from_str(&text).ok());
        let number = change.field("number").unwrap_or_default();
        answer_question_of(operator, &id, &number, answer).await;
        return see_other(&here(&operator.uri));
    }
    if change.field("confirm").is_none() {
        return see_other(&here(&operator.uri));
    }
    match operator.tasks().cancel(&operator.caller, &id).await {
        Ok(Some(_)) => see_other(&here(&operator.uri)),
        Ok(None) => told(&operator.uri, StatusCode::NOT_FOUND, "There is no such task."),
        Err(refusal) => refused(&operator.uri, &refusal),
    }
}
