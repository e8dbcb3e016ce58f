//! Tasks for protocols: submit, look, follow, cancel. How they are run is in `runner.rs`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::Gateway;
use super::record::{digest, unavailable};
use super::runner::Kept;
use crate::arguments::Arguments;
use crate::call::{Call, Caller, Request};
use crate::json_text::RawJson;
use crate::message::Message;
use crate::names::ToolRef;
use crate::refusal::Refusal;
use crate::store::{CallKey, FoundTask, Listener, NewTask, Store, Submitted};
use crate::task::{LONGEST_KEPT, Task, TaskEvent, TaskId};

/// How often a follower looks again although no bell rang; well below the heartbeats of those who serve one.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// When a caller with too many waiting tasks should try again.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// The longest list of tasks given at once.
const MOST_LISTED: usize = 100;

impl Gateway {
    /// Takes a request through every check and keeps it as a task. When this ends well, the task is
    /// durable and will come to an end, whatever happens to this process.
    pub async fn submit(
        self: &Arc<Self>,
        caller: &Caller,
        request: Request,
        keep: Duration,
    ) -> Result<TaskId, Refusal> {
        let submitted = self.accept(caller, request, keep).await;
        submitted.inspect_err(|refusal| {
            self.metrics.refused(refusal.name());
            super::log(refusal);
        })
    }

    async fn accept(
        self: &Arc<Self>,
        caller: &Caller,
        request: Request,
        keep: Duration,
    ) -> Result<TaskId, Refusal> {
        // What the server itself adds from its vault it can add again.
        let portable = request.grants.authorization.is_empty() && request.grants.secrets.is_empty();
        let call = self.check(0, caller, request).await?;
        let id = TaskId::random();
        let key = call.request.id.clone().map(|id| {
            let key = CallKey { caller: caller.name().into(), id };
            (key, digest(&call))
        });
        let slot = self.runner.slot();
        if slot.is_none() {
            self.check_backlog(caller).await?;
        }
        let task = NewTask {
            id: id.clone(),
            caller: caller.name().into(),
            tool: call.entry.flat.clone(),
            request: KeptRequest::write(&call).into(),
            repeatable: call.entry.hints.repeatable(),
            portable,
            key,
            keep: keep.min(LONGEST_KEPT),
        };
        // Whoever claims it first, ourselves included, finds its credentials.
        if !portable {
            self.runner.hold(&id, call.clone());
        }
        match self.store.task_submit(&task).await {
            Ok(Submitted::Fresh) => {
                let kept = if portable { Kept::Anywhere } else { Kept::Here };
                match slot {
                    Some(slot) => self.begin_here(id.clone(), call, kept, slot),
                    None => self.runner.set_waiting(true),
                }
                self.run_tasks();
                Ok(id)
            }
            other => {
                self.runner.held(&id);
                match other.map_err(unavailable)? {
                    Submitted::Known(known) => Ok(known),
                    Submitted::Fresh | Submitted::Conflict => {
                        let call_id = call.request.id.unwrap_or_default().into();
                        Err(Refusal::Conflict { call_id })
                    }
                }
            }
        }
    }

    async fn check_backlog(&self, caller: &Caller) -> Result<(), Refusal> {
        let most = self.settings.load().limits.task_backlog;
        if self.store.task_backlog(caller.name()).await.map_err(unavailable)? < most {
            return Ok(());
        }
        Err(Refusal::Busy {
            message: Message::public(format!("{most} tasks of yours wait already")),
            retry_after: RETRY_AFTER,
        })
    }

    /// A task of the caller's as it is now; `None` when there is none of that id, or not any more.
    pub async fn task(&self, caller: &Caller, id: &TaskId) -> Result<Option<Task>, Refusal> {
        Ok(self.found(caller, id, u64::MAX >> 1).await?.map(|found| found.task))
    }

    /// The caller's tasks, newest first, older than `before`.
    pub async fn task_list(&self, caller: &Caller, before: Option<&TaskId>) -> Result<Vec<Task>, Refusal> {
        self.store.task_list(caller.name(), before, MOST_LISTED).await.map_err(unavailable)
    }

    /// What happens to a task of the caller's, from behind event `after` to its end.
    pub async fn task_follow(
        &self,
        caller: &Caller,
        id: &TaskId,
        after: u64,
    ) -> Result<Option<Follow>, Refusal> {
        let bell = self.store.task_bell(id);
        Ok(self.found(caller, id, after).await?.map(|found| {
            let mut follow = Follow {
                store: Arc::clone(&self.store),
                id: id.clone(),
                bell,
                after,
                waiting: VecDeque::new(),
                ended: false,
                must_look: false,
            };
            follow.take(found);
            follow
        }))
    }

    /// Cancels a task of the caller's and gives it as it is then; one that has ended stays as it is.
    pub async fn task_cancel(&self, caller: &Caller, id: &TaskId) -> Result<Option<Task>, Refusal> {
        if self.found(caller, id, 0).await?.is_none() {
            return Ok(None);
        }
        if self.store.task_cancel(id).await.map_err(unavailable)? {
            self.runner.held(id);
        }
        self.task(caller, id).await
    }

    async fn found(&self, caller: &Caller, id: &TaskId, after: u64) -> Result<Option<FoundTask>, Refusal> {
        let found = self.store.task_find(id, after).await.map_err(unavailable)?;
        Ok(found.filter(|found| *found.caller == *caller.name()))
    }
}

/// What happens to one task, as it happens.
pub struct Follow {
    store: Arc<dyn Store>,
    id: TaskId,
    bell: Listener,
    after: u64,
    waiting: VecDeque<TaskEvent>,
    ended: bool,
    /// The bell rang and nobody has looked since.
    must_look: bool,
}

impl Follow {
    /// The next event; `None` after the last. Dropping the future, or an error of the store, misses nothing:
    /// ask again.
    pub async fn next(&mut self) -> Result<Option<TaskEvent>, Refusal> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.after = event.seq;
                return Ok(Some(event));
            }
            if self.ended {
                return Ok(None);
            }
            if !self.must_look {
                timeout(LOOK_AGAIN, self.bell.heard()).await.ok();
                self.must_look = true;
            }
            let found = self.store.task_find(&self.id, self.after).await.map_err(unavailable)?;
            self.must_look = false;
            match found {
                Some(found) => self.take(found),
                None => self.ended = true,
            }
        }
    }

    fn take(&mut self, found: FoundTask) {
        self.waiting.extend(found.events);
        self.ended = found.task.status.is_ended();
    }
}

/// All that is kept of a request to run it later, here or elsewhere.
#[derive(Serialize, Deserialize)]
pub(super) struct KeptRequest {
    caller: Caller,
    tool: String,
    arguments: RawJson,
    user_id: Option<String>,
    trace: Option<Box<str>>,
    patience: Option<Duration>,
    #[serde(default)]
    answers: bool,
}

impl KeptRequest {
    fn write(call: &Call) -> String {
        let kept = KeptRequest {
            caller: call.caller.clone(),
            tool: call.entry.id.to_string(),
            arguments: call.given().text().to_owned(),
            user_id: call.request.grants.user_id.clone(),
            trace: call.request.trace.clone(),
            patience: call.request.patience,
            answers: call.request.answers,
        };
        serde_json::to_string(&kept).expect("every member can be written")
    }

    /// Who asked, and what.
    pub(super) fn read(text: &str) -> Result<(Caller, Request), Refusal> {
        let unreadable = |error: &dyn std::error::Error| {
            Refusal::Internal(Message::public("The kept request cannot be read").caused_by(error))
        };
        let kept: KeptRequest = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        let tool = ToolRef::id(&kept.tool).map_err(|error| unreadable(&error))?;
        let arguments = Arguments::read(Some(&kept.arguments)).map_err(|error| unreadable(&error))?;
        let mut request = Request::new(tool, arguments);
        request.grants.user_id = kept.user_id;
        request.trace = kept.trace;
        request.patience = kept.patience;
        request.answers = kept.answers;
        Ok((kept.caller, request))
    }
}
