//! A call that asks its client something before the client knows that it is a task: the client is asked by a
//! result, as by any call, and asks again with the answers. What takes long after that is a task to it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use toolmux_core::task::TaskId;

use super::shape::{Shown, modern};
use crate::mcp::members::Members;
use crate::mcp::serve::request::Exchange;

/// How long a question waits for its answer; nobody could cancel the task later.
const PATIENCE: Duration = Duration::from_mins(10);

/// What stands behind our mark in the state of such a call, before the id of its task.
const KIND: &str = "task:";

/// The task that a state of ours stands for, if it is one of these.
pub(in crate::mcp) fn named(state: &str, exchange: &Exchange) -> Option<TaskId> {
    state.strip_prefix(&exchange.session_state.mark)?.strip_prefix(KIND).map(TaskId::new)
}

/// Tells the client what is asked.
pub(super) fn asked(exchange: &Exchange, shown: &Shown) -> Bytes {
    let id = shown.task.id.clone();
    let mut result = Members::default();
    result.put("inputRequests", &shown.requests());
    result.put("requestState", &format!("{}{KIND}{}", exchange.session_state.mark, id.as_str()));
    forget(exchange, id, shown.questions.iter().map(|question| question.number).collect());
    modern(result, "input_required")
}

/// Cancels a task whose client does not come back.
fn forget(exchange: &Exchange, id: TaskId, asked: Vec<u64>) {
    let (gateway, caller) = (Arc::clone(&exchange.gateway), exchange.peer.caller.clone());
    exchange.gateway.background().spawn_until_stop(async move {
        tokio::time::sleep(PATIENCE).await;
        // The client may have answered and have been asked something else since: that question has a time of its own.
        let Ok(Some(task)) = gateway.tasks().find(&caller, &id).await else { return };
        if gateway.tasks().questions(&task).iter().any(|question| asked.contains(&question.number)) {
            gateway.tasks().cancel(&caller, &id).await.ok();
        }
    });
}
