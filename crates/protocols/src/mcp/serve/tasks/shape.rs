//! A task as clients of either era see it.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde_json::{Map, Value, json};
use toolmux_core::json_text::RawJson;
use toolmux_core::millis::millis;
use toolmux_core::names::ToolRef;
use toolmux_core::task::{Task, TaskStatus};
use toolmux_core::tasks::TaskQuestion;

use crate::mcp::members::Members;
use crate::mcp::revision::Revision;
use crate::mcp::serve::encode::answer::answer;
use crate::mcp::serve::encode::result::Structure;
use crate::mcp::serve::questions::ask::RequestedInput;
use crate::mcp::serve::request::Exchange;
use crate::mcp::wire::{Reply, our_meta, text_of};

/// How often clients are asked to look.
const POLL: Duration = Duration::from_secs(1);

/// A task, what it asks, and what it ended with.
pub(super) struct Shown {
    pub(super) task: Task,
    /// As far as this client can answer them.
    pub(super) questions: Vec<TaskQuestion>,
    /// What the call would have been answered with; none for a task that goes on or was cancelled.
    pub(super) end: Option<Reply>,
    revision: Revision,
}

impl Shown {
    pub(super) fn new(exchange: &Exchange, task: Task, questions: Vec<TaskQuestion>) -> Self {
        let peer = &exchange.peer;
        let end = task.outcome.clone().map(|outcome| {
            let catalog = exchange.gateway.catalog();
            let entry = catalog.find(&ToolRef::flat(&task.tool)).map(|place| &**catalog.entry(place));
            let structure = Structure::of(entry, peer.revision);
            answer(Ok(outcome), structure, peer)
        });
        let answerable = |question: &TaskQuestion| {
            RequestedInput::read(question.protocol, &question.asked)
                .is_some_and(|asked| peer.capabilities.answers(&asked.method))
        };
        let questions = questions.into_iter().filter(answerable).collect();
        Shown { task, questions, end, revision: peer.revision }
    }

    pub(super) fn status(&self) -> &'static str {
        match (self.task.status, &self.end) {
            (TaskStatus::Pending | TaskStatus::Running, _) if self.questions.is_empty() => "working",
            (TaskStatus::Pending | TaskStatus::Running, _) => "input_required",
            (TaskStatus::Completed, _) => "completed",
            // Since 2026-07-28 only what is an error of the protocol is a failure of the task.
            (TaskStatus::Failed, Some(Ok(_))) if self.revision.is_modern() => "completed",
            (TaskStatus::Failed, _) => "failed",
            (TaskStatus::Cancelled, _) => "cancelled",
        }
    }

    /// What every message about a task says of it.
    pub(super) fn members(&self) -> Members<'static> {
        let task = &self.task;
        let mut members = Members::default();
        members.put("taskId", task.id.as_str());
        members.put("status", self.status());
        if let Some(message) = self.message() {
            members.put("statusMessage", &message);
        }
        members.put("createdAt", &written(task.created));
        members.put("lastUpdatedAt", &written(task.updated));
        let (ttl, poll) =
            if self.revision.is_modern() { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
        members.put(ttl, &json!(millis(self.lifetime())));
        members.put(poll, &json!(millis(POLL)));
        members
    }

    /// The same with what has become of it, as 2026-07-28 tells it in one message.
    pub(super) fn detailed(&self) -> Members<'static> {
        let mut members = self.members();
        match &self.end {
            Some(Ok(result)) => members.put_raw("result", raw(result)),
            Some(Err(fault)) => members.put_raw("error", fault.object.clone()),
            None => {}
        }
        if self.status() == "input_required" {
            members.put("inputRequests", &self.requests());
        }
        members
    }

    /// What it asks, by the keys given to the client.
    pub(super) fn requests(&self) -> Map<String, Value> {
        let asked = |question: &TaskQuestion| {
            (key(question), serde_json::from_str(question.asked.get()).unwrap_or_default())
        };
        self.questions.iter().map(asked).collect()
    }

    /// A task is kept for a time after its end; until then the end is as far away as it can be.
    fn lifetime(&self) -> Duration {
        let until = if self.task.status.is_ended() { self.task.updated } else { SystemTime::now() };
        until.duration_since(self.task.created).unwrap_or_default() + self.task.keep
    }

    fn message(&self) -> Option<String> {
        match (&self.end, self.status()) {
            (Some(Err(fault)), _) => {
                let error: Value = serde_json::from_str(fault.object.get()).unwrap_or_default();
                error["message"].as_str().map(str::to_owned)
            }
            (_, "failed") => Some("The tool failed".to_owned()),
            (_, "input_required") => Some("The tool waits for an answer".to_owned()),
            _ => None,
        }
    }
}

/// The key of a question in `inputRequests`.
pub(super) fn key(question: &TaskQuestion) -> String {
    format!("q{:x}", question.number)
}

/// A result that is ours, in the form of 2026-07-28.
pub(super) fn modern(mut members: Members<'_>, kind: &str) -> Bytes {
    members.put("resultType", kind);
    members.put("_meta", &our_meta());
    text_of(members.write())
}

/// A result that is ours, in the form of 2025-11-25.
pub(super) fn legacy(members: &Members<'_>) -> Bytes {
    text_of(members.write())
}

/// A new task, to who asked for the call.
pub(super) fn created(shown: &Shown) -> Bytes {
    if shown.revision.is_modern() {
        return modern(shown.members(), "task");
    }
    let mut result = Members::default();
    result.put_raw("task", shown.members().write());
    legacy(&result)
}

/// The text of a result, to stand inside another.
pub(super) fn raw(result: &Bytes) -> RawJson {
    serde_json::from_slice(result).expect("a result is JSON")
}

fn written(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}
