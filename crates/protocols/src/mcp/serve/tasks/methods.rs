//! `tasks/…`: looking at tasks, waiting for them, answering and cancelling them. Dropping what answers any of these
//! requests leaves the task as it is.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::progress::Progress;
use toolmux_core::task::{Task, TaskId};
use toolmux_core::tasks::TaskQuestion;

use super::call::{gone, shown, unavailable};
use super::shape::{Shown, key, legacy, modern, raw};
use super::watch::{Seen, Watch};
use crate::mcp::MCP;
use crate::mcp::members::Members;
use crate::mcp::notifications::TASK;
use crate::mcp::serve::questions::ask::{Binding, put};
use crate::mcp::serve::questions::suspended::answered;
use crate::mcp::serve::request::Exchange;
use crate::mcp::wire::{Fault, INVALID_PARAMS, RELATED_TASK, Reply, TASKS, text_of};

/// Since 2026-07-28 tasks are only for who says that it knows them.
pub(in crate::mcp) fn declared(exchange: &Exchange) -> Result<(), Fault> {
    let peer = &exchange.peer;
    if !peer.revision.is_modern() || peer.capabilities.takes_tasks() {
        return Ok(());
    }
    Err(Fault::missing(&json!({ "extensions": { TASKS: {} } })))
}

/// Tells who listens of a task, how it is now and whenever that changes, until it ends.
pub(in crate::mcp) async fn tell(exchange: &Exchange, id: &TaskId, tag: &RawValue) {
    let watch = Watch::open(&exchange.gateway, &exchange.peer.caller, id).await;
    let Ok(Some(mut watch)) = watch else { return };
    while let Ok(Some(seen)) = watch.next().await {
        if let Seen::State(task, questions) = seen {
            let mut params = Shown::new(exchange, task, questions).detailed();
            params.put_raw("_meta", tag.to_owned());
            exchange.out.notify(TASK, &params.write()).await;
        }
    }
}

/// The task that a request names.
async fn named(exchange: &Exchange) -> Result<Shown, Fault> {
    declared(exchange)?;
    let params = exchange.params()?;
    let id = params.task_id.as_deref().ok_or_else(|| Fault::new(INVALID_PARAMS, "`taskId` is missing"))?;
    shown(exchange, &TaskId::new(id)).await?.ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Fault {
    Fault::new(INVALID_PARAMS, format!("Task `{id}` does not exist or has expired"))
}

pub(in crate::mcp) async fn get(exchange: Exchange) -> Reply {
    let shown = named(&exchange).await?;
    if exchange.peer.revision.is_modern() {
        return Ok(modern(shown.detailed(), "complete"));
    }
    Ok(legacy(&shown.members()))
}

pub(in crate::mcp) async fn cancel(exchange: Exchange) -> Reply {
    let Shown { task, .. } = named(&exchange).await?;
    let legacy_peer = !exchange.peer.revision.is_modern();
    if legacy_peer && task.status.is_ended() {
        return Err(Fault::new(INVALID_PARAMS, "The task has ended already"));
    }
    let cancelled = exchange.gateway.tasks().cancel(&exchange.peer.caller, &task.id).await;
    let cancelled = cancelled.map_err(|refusal| unavailable(&refusal))?;
    let cancelled = cancelled.ok_or_else(|| unknown(task.id.as_str()))?;
    if legacy_peer {
        return Ok(legacy(&Shown::new(&exchange, cancelled, Vec::new()).members()));
    }
    Ok(modern(Members::default(), "complete"))
}

/// Answers to questions that are not open are left aside.
pub(in crate::mcp) async fn update(exchange: Exchange) -> Reply {
    let shown = named(&exchange).await?;
    let answers = exchange.params()?.input_responses.as_deref().and_then(Members::read);
    let answers = answers.ok_or_else(|| Fault::new(INVALID_PARAMS, "`inputResponses` must be an object"))?;
    for question in &shown.questions {
        if let Some(answer) = answers.get(&key(question)) {
            exchange.gateway.tasks().answer(&shown.task, question.number, Some(answered(answer)));
        }
    }
    Ok(modern(Members::default(), "complete"))
}

/// Waits for the end; meanwhile the client is asked what the tool asks.
pub(in crate::mcp) async fn result(exchange: Exchange) -> Reply {
    let exchange = &exchange;
    let id = named(exchange).await?.task.id;
    let watch = Watch::open(&exchange.gateway, &exchange.peer.caller, &id).await;
    let watch = watch.map_err(|refusal| unavailable(&refusal))?;
    let mut watch = watch.ok_or_else(|| unknown(id.as_str()))?;
    let (mut asked, mut asking) = (HashSet::new(), FuturesUnordered::new());
    loop {
        tokio::select! {
            seen = watch.next() => match seen.map_err(|refusal| unavailable(&refusal))? {
                Some(Seen::State(task, questions)) => {
                    let shown = Shown::new(exchange, task, questions);
                    if shown.task.status.is_ended() {
                        return ended(shown);
                    }
                    let fresh = shown.questions.into_iter().filter(|one| asked.insert(one.number));
                    asking.extend(fresh.map(|question| ask(exchange, shown.task.clone(), question)));
                }
                Some(Seen::Update(_)) => {}
                None => return Err(unknown(id.as_str())),
            },
            Some(()) = asking.next() => {}
        }
    }
}

/// What the call would have been answered with, and whose it is.
fn ended(shown: Shown) -> Reply {
    let result = raw(&shown.end.unwrap_or_else(|| Err(gone()))?);
    let mut members = Members::read_or_empty(Some(&result));
    let meta = members.get("_meta").map(ToOwned::to_owned);
    let mut meta = Members::read_or_empty(meta.as_deref());
    meta.put(RELATED_TASK, &json!({ "taskId": shown.task.id.as_str() }));
    members.put_raw("_meta", meta.write());
    Ok(text_of(members.write()))
}

/// Puts a question of a task to a client. One that nobody answers here stays open for others.
async fn ask(exchange: &Exchange, task: Task, question: TaskQuestion) {
    let (progress, _updates, mut questions) = Progress::dialogue();
    let putting = async {
        if let Some(question) = questions.recv().await {
            put(question, exchange, Binding::Task(&task.id)).await;
        }
    };
    let (answer, ()) = tokio::join!(progress.ask(MCP, question.asked), putting);
    if answer.is_some() {
        exchange.gateway.tasks().answer(&task, question.number, answer);
    }
}

/// The caller's tasks, newest first. A cursor is the last task of the page before.
pub(in crate::mcp) async fn list(exchange: Exchange) -> Reply {
    let exchange = &exchange;
    let (gateway, caller) = (&exchange.gateway, &exchange.peer.caller);
    let before = match exchange.params()?.cursor.as_deref() {
        None => None,
        Some(cursor) => Some(behind(exchange, cursor).await?),
    };
    let tasks =
        gateway.tasks().list(caller, before.as_ref()).await.map_err(|refusal| unavailable(&refusal))?;
    let mut result = Members::default();
    let last = tasks.last().map(|task| task.id.clone());
    let shown = tasks.into_iter().map(|task| {
        let questions = gateway.tasks().questions(&task);
        Shown::new(exchange, task, questions).members().write()
    });
    result.put("tasks", &shown.collect::<Vec<_>>());
    if let Some(last) = last {
        let more =
            gateway.tasks().list(caller, Some(&last)).await.map_err(|refusal| unavailable(&refusal))?;
        if !more.is_empty() {
            result.put("nextCursor", &URL_SAFE_NO_PAD.encode(last.as_str()));
        }
    }
    Ok(legacy(&result))
}

async fn behind(exchange: &Exchange, cursor: &str) -> Result<TaskId, Fault> {
    let bad = || Fault::new(INVALID_PARAMS, "The cursor is not valid, or its task no longer exists");
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let id = TaskId::new(&text.ok_or_else(bad)?);
    shown(exchange, &id).await?.map(|_| id).ok_or_else(bad)
}
