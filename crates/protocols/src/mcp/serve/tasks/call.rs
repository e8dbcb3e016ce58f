//! `tools/call` that becomes a task.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout_at};
use toolmux_core::call::Request;
use toolmux_core::catalog::Entry;
use toolmux_core::refusal::Refusal;
use toolmux_core::task::{LONGEST_KEPT, TaskId};
use toolmux_core::tool::TaskSupport;

use super::early;
use super::shape::{Shown, created, key};
use super::watch::{Seen, Watch};
use crate::mcp::MCP;
use crate::mcp::serve::encode::refusal::refused as refused_call;
use crate::mcp::serve::questions::suspended::{answered, answers};
use crate::mcp::serve::questions::update_notifier::UpdateNotifier;
use crate::mcp::serve::request::{Exchange, RequestParams};
use crate::mcp::wire::{Fault, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Reply, TASKS};

/// How long a client of 2026-07-28 that takes tasks waits for a plain result before it gets a task: what is
/// quick should not cost a second request.
const QUICK: Duration = Duration::from_millis(500);

/// Whether a tool may run as a task. Tools of our own may. Of a tool that came by MCP its server knows best; what
/// it does not say is `forbidden` where 2025-11-25 is spoken.
fn support(entry: &Entry) -> Option<TaskSupport> {
    let own = || entry.tool.extra.of_protocol(MCP).is_none().then_some(TaskSupport::Optional);
    entry.hints.tasks.or_else(own)
}

/// How a call becomes a task.
#[derive(Clone, Copy)]
pub(in crate::mcp) enum Plan {
    /// The client asked for a task, to be kept for so long if it said.
    Asked(Option<Duration>),
    /// The client takes one if the call is not quick.
    IfSlow,
}

impl Plan {
    /// None for a call that is to be answered as a call.
    pub(in crate::mcp) fn of(
        exchange: &Exchange,
        params: &RequestParams,
        entry: Option<&Entry>,
    ) -> Result<Option<Plan>, Fault> {
        let revision = exchange.peer.revision;
        let plan = match &params.task {
            Some(task) if revision.has_tasks() => Some(Plan::Asked(task.ttl.map(Duration::from_millis))),
            _ if revision.is_modern() && exchange.peer.capabilities.takes_tasks() => Some(Plan::IfSlow),
            _ => None,
        };
        // A tool that is not there is refused as such.
        let Some(entry) = entry else { return Ok(None) };
        let refused = |why: &str| Err(Fault::new(METHOD_NOT_FOUND, format!("Tool `{}` {why}", entry.flat)));
        match (plan, support(entry)) {
            (None, Some(TaskSupport::Required)) if revision.is_modern() => {
                Err(Fault::missing(&json!({ "extensions": { TASKS: {} } })))
            }
            (None, Some(TaskSupport::Required)) if revision.has_tasks() => {
                refused("can only be run as a task")
            }
            (None, _) | (Some(Plan::IfSlow), Some(TaskSupport::Forbidden)) => Ok(None),
            (Some(Plan::IfSlow), None) | (_, Some(TaskSupport::Optional | TaskSupport::Required)) => Ok(plan),
            (Some(Plan::Asked(_)), None | Some(TaskSupport::Forbidden)) => refused("cannot be run as a task"),
        }
    }
}

/// Runs a call as a task. Dropping the future before the client knows the task cancels it, unless the call
/// has an id by which it can be asked for again.
pub(in crate::mcp) async fn call(exchange: &Exchange, mut request: Request, plan: Plan) -> Reply {
    let peer = &exchange.peer;
    let reachable = peer.revision.is_modern() || peer.session.is_some();
    request.answers = reachable && peer.capabilities.can_be_asked();
    let findable = request.id.is_some();
    let keep = match plan {
        Plan::Asked(keep) => keep,
        Plan::IfSlow => None,
    };
    let id = match exchange.gateway.tasks().submit(&peer.caller, request, keep).await {
        Ok(id) => id,
        Err(refusal) => return refused(exchange, &refusal, plan),
    };
    let mut unknown = Unknown { exchange, id: Some(id.clone()).filter(|_| !findable) };
    let reply = match plan {
        Plan::Asked(_) => create(exchange, &id).await,
        Plan::IfSlow => quick(exchange, &id).await,
    };
    // An error says nothing of the task, so nobody knows it.
    if reply.is_ok() {
        unknown.id = None;
    }
    reply
}

async fn create(exchange: &Exchange, id: &TaskId) -> Reply {
    shown(exchange, id).await?.map(|shown| created(&shown)).ok_or_else(gone)
}

/// Where a task was asked for, words that are no task would be taken for a broken answer.
fn refused(exchange: &Exchange, refusal: &Refusal, plan: Plan) -> Reply {
    let reply = refused_call(refusal, &exchange.peer);
    match plan {
        Plan::Asked(_) if reply.is_ok() => Err(Fault::new(INVALID_PARAMS, refusal.message().public)),
        Plan::Asked(_) | Plan::IfSlow => reply,
    }
}

/// What a task ends with or asks, if it does so quickly; otherwise the task, where the client takes one.
pub(super) async fn quick(exchange: &Exchange, id: &TaskId) -> Reply {
    let patience = if exchange.peer.capabilities.takes_tasks() { QUICK } else { LONGEST_KEPT };
    let deadline = Instant::now() + patience;
    let watch = Watch::open(&exchange.gateway, &exchange.peer.caller, id).await;
    let mut watch = watch.map_err(|refusal| unavailable(&refusal))?.ok_or_else(gone)?;
    let mut notifier = UpdateNotifier::new(exchange);
    while let Ok(seen) = timeout_at(deadline, watch.next()).await {
        match seen.map_err(|refusal| unavailable(&refusal))? {
            Some(Seen::Update(update)) => notifier.notify(update).await,
            Some(Seen::State(task, questions)) => {
                let shown = Shown::new(exchange, task, questions);
                if shown.task.status.is_ended() {
                    return shown.end.unwrap_or_else(|| Err(gone()));
                }
                if !shown.questions.is_empty() {
                    return Ok(early::asked(exchange, &shown));
                }
            }
            None => break,
        }
    }
    create(exchange, id).await
}

/// Goes on with a call. Only the caller it belongs to can, with the same tool. Dropping the future leaves the
/// task as it is.
pub(in crate::mcp) async fn resume(id: &TaskId, params: &RequestParams, exchange: &Exchange) -> Reply {
    let unknown = || Fault::new(INVALID_PARAMS, "The `requestState` is not known or has expired");
    let shown = shown(exchange, id).await?.ok_or_else(unknown)?;
    if params.name.as_deref() != Some(&*shown.task.tool) {
        return Err(unknown());
    }
    let answers = answers(params)?;
    for question in &shown.questions {
        if let Some(answer) = answers.get(&key(question)) {
            exchange.gateway.tasks().answer(&shown.task, question.number, Some(answered(answer)));
        }
    }
    quick(exchange, id).await
}

/// A task of the caller's as it is now.
pub(super) async fn shown(exchange: &Exchange, id: &TaskId) -> Result<Option<Shown>, Fault> {
    let task = exchange.gateway.tasks().find(&exchange.peer.caller, id).await;
    let task = task.map_err(|refusal| unavailable(&refusal))?;
    Ok(task.map(|task| {
        let questions = exchange.gateway.tasks().questions(&task);
        Shown::new(exchange, task, questions)
    }))
}

pub(super) fn unavailable(refusal: &Refusal) -> Fault {
    Fault::new(INTERNAL_ERROR, refusal.message().public)
}

pub(super) fn gone() -> Fault {
    Fault::new(INTERNAL_ERROR, "The task was cancelled")
}

/// A task whose id its client has not been told yet.
struct Unknown<'a> {
    exchange: &'a Exchange,
    id: Option<TaskId>,
}

impl Drop for Unknown<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let (gateway, caller) = (Arc::clone(&self.exchange.gateway), self.exchange.peer.caller.clone());
        self.exchange.gateway.background().spawn_from_drop(async move {
            gateway.tasks().cancel(&caller, &id).await.ok();
        });
    }
}
