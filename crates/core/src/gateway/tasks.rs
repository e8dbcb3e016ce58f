//! Tasks for protocols: submit, look, follow, cancel. How they are run is in `runner.rs`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::Gateway;
use super::record::digest;
use super::runner::{CredentialsIn, Started, TaskSlot};
use crate::arguments::Arguments;
use crate::audit::{AuditAction, AuditRecord};
use crate::call::{Call, CallId, Caller, Request};
use crate::json_text::RawJson;
use crate::limits::Limits;
use crate::message::Message;
use crate::names::ToolRef;
use crate::outcome::Outcome;
use crate::ports::store::{
    Backlog, CallKey, ClaimedTask, Durable, FoundTask, Listener, NewTask, Store, StoreError, Submitted,
    frees_key,
};
use crate::refusal::Refusal;
use crate::task::{LONGEST_KEPT, Task, TaskEvent, TaskId, TaskStatus, cancelled};
use crate::tool::Passthrough;

/// How often a follower looks again although nothing was notified; well below the heartbeats of those who serve one.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// When a caller with too many waiting tasks should try again.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// A request up to this many bytes is small.
const SMALL_REQUEST: usize = 64 << 10;
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
        submitted.inspect_err(|refusal| self.refused(refusal))
    }

    async fn accept(
        self: &Arc<Self>,
        caller: &Caller,
        mut request: Request,
        keep: Duration,
    ) -> Result<TaskId, Refusal> {
        // A task outlives the session it was submitted in.
        request.session = None;
        // What the server itself adds from its vault it can add again.
        let portable = request.grants.authorization.is_empty() && request.grants.secrets.is_empty();
        let mut call = self.check(0, caller, request).await?;
        let id = TaskId::random();
        call.task = Some(id.clone());
        let key = call.request.id.clone().map(|id| {
            let key = CallKey { caller: caller.name().into(), id };
            (key, digest(&call))
        });
        let place = self.runner.slot().map(|slot| TaskSlot { slot, notifier: self.store.task_notifier(&id) });
        let kept = KeptRequest::write(&call);
        // Small requests that run at once are bounded by `task_concurrency`; the store is not asked about them.
        if place.is_none() || kept.len() > SMALL_REQUEST {
            self.check_backlog(caller).await?;
        }
        let task = NewTask {
            id: id.clone(),
            caller: caller.name().into(),
            tool: call.entry.flat.clone(),
            request: kept.into(),
            repeatable: call.entry.hints.repeatable(),
            portable,
            key,
            keep: keep.min(LONGEST_KEPT),
        };
        match self.keep_task(task, &mut call, place.as_ref()).await {
            Ok((Submitted::Fresh, started)) => {
                let kept = if portable { CredentialsIn::Anywhere } else { CredentialsIn::Here };
                match place {
                    Some(place) => self.begin_here(id.clone(), started, (call, kept), place),
                    None => self.runner.set_waiting(true),
                }
                self.run_tasks();
                Ok(id)
            }
            other => {
                self.runner.held(&id);
                match other.map_err(not_kept)?.0 {
                    Submitted::Known(known) => Ok(known),
                    Submitted::Fresh | Submitted::Called | Submitted::Conflict => {
                        Err(Refusal::Conflict { call_id: call.request.id.unwrap_or_default().to_string() })
                    }
                }
            }
        }
    }

    async fn keep_task(
        &self,
        task: NewTask,
        call: &mut Call,
        place: Option<&TaskSlot>,
    ) -> Result<(Submitted, Started), StoreError> {
        // Whoever claims it first, ourselves included, finds its credentials.
        let hold = |call: &Call| {
            if !task.portable {
                self.runner.hold(&task.id, call.clone());
            }
        };
        hold(call);
        let kept = self.submit_and_start(&task, place).await?;
        if kept.0 != Submitted::Called {
            return Ok(kept);
        }
        // A call answers for the key, and what runs as the task asks the ledger for it.
        call.task = None;
        hold(call);
        let request = KeptRequest::write(call).into();
        self.submit_and_start(&NewTask { request, key: None, ..task }, place).await
    }

    /// Keeps a task, and takes it to run here when there is a place for it. Both are asked for at once, so
    /// that a store which writes what came together makes them durable together.
    async fn submit_and_start(
        &self,
        task: &NewTask,
        place: Option<&TaskSlot>,
    ) -> Result<(Submitted, Started), StoreError> {
        if place.is_none() {
            return Ok((self.store.task_submit(task).await?, Ok(false)));
        }
        match tokio::join!(self.store.task_submit(task), self.store.task_start(&task.id)) {
            // Whatever was heard of keeping it, it is there and ours.
            (_, Ok(true)) => Ok((Submitted::Fresh, Ok(true))),
            (submitted, started) => Ok((submitted?, started)),
        }
    }

    async fn check_backlog(&self, caller: &Caller) -> Result<(), Refusal> {
        let Limits { task_backlog, task_backlog_bytes, .. } = self.settings.load().limits;
        let Backlog { pending, bytes } =
            self.store.task_backlog(caller.name()).await.map_err(Refusal::from)?;
        let why = if pending >= task_backlog {
            format!("{task_backlog} tasks of yours wait already")
        } else if bytes >= task_backlog_bytes {
            format!(
                "your waiting and running tasks hold {bytes} bytes already, and the limit is {task_backlog_bytes}"
            )
        } else {
            return Ok(());
        };
        Err(Refusal::Busy { message: Message::public(why), retry_after: RETRY_AFTER })
    }

    /// A task of the caller's as it is now; `None` when there is none of that id, or not any more.
    pub async fn task(&self, caller: &Caller, id: &TaskId) -> Result<Option<Task>, Refusal> {
        Ok(self.found(caller, id, u64::MAX >> 1).await?.map(|found| found.task))
    }

    /// The caller's tasks, newest first, older than `before`.
    pub async fn task_list(&self, caller: &Caller, before: Option<&TaskId>) -> Result<Vec<Task>, Refusal> {
        self.store.task_list(caller.name(), before, MOST_LISTED).await.map_err(Refusal::from)
    }

    /// What happens to a task of the caller's, from behind event `after` to its end.
    pub async fn task_follow(
        &self,
        caller: &Caller,
        id: &TaskId,
        after: u64,
    ) -> Result<Option<Follow>, Refusal> {
        let mut follow = Follow { after, ..Follow::new(Arc::clone(&self.store), id) };
        Ok(self.found(caller, id, after).await?.map(|found| {
            follow.must_look = false;
            follow.take(found);
            follow
        }))
    }

    /// Cancels a task of the caller's and gives it as it is then; one that has ended stays as it is.
    pub async fn task_cancel(
        self: &Arc<Self>,
        caller: &Caller,
        id: &TaskId,
    ) -> Result<Option<Task>, Refusal> {
        if self.found(caller, id, 0).await?.is_none() {
            return Ok(None);
        }
        if self.store.task_cancel(id).await.map_err(Refusal::from)? {
            self.runner.held(id);
            self.audit(AuditRecord::now(caller.name(), AuditAction::TaskCancelled, id.as_str()));
        }
        self.task(caller, id).await
    }

    /// What came of a task, once it has ended; `None` when it is gone or gave its key back, so that whoever
    /// waits for that key begins anew. For calls under the task's own key, which are its caller's.
    pub(super) async fn task_ended(&self, id: &TaskId) -> Result<Option<Outcome>, Refusal> {
        let mut follow = Follow::new(Arc::clone(&self.store), id);
        while follow.next().await?.is_some() {}
        let found = self.store.task_find(id, u64::MAX >> 1).await.map_err(Refusal::from)?;
        Ok(found.and_then(|found| match found.task.status {
            TaskStatus::Cancelled => Some(cancelled()),
            _ => found.task.outcome.filter(|outcome| !frees_key(outcome)),
        }))
    }

    async fn found(&self, caller: &Caller, id: &TaskId, after: u64) -> Result<Option<FoundTask>, Refusal> {
        let found = self.store.task_find(id, after).await.map_err(Refusal::from)?;
        Ok(found.filter(|found| *found.caller == *caller.name()))
    }
}

/// What happens to one task, as it happens.
pub struct Follow {
    store: Arc<dyn Store>,
    id: TaskId,
    notifier: Listener,
    after: u64,
    waiting: VecDeque<TaskEvent>,
    ended: bool,
    /// There was a notification and nobody has looked since.
    must_look: bool,
}

impl Follow {
    /// From the beginning, nothing looked at yet; notifications are received from here on.
    fn new(store: Arc<dyn Store>, id: &TaskId) -> Self {
        let notifier = store.task_notifier(id);
        let waiting = VecDeque::new();
        Follow { store, id: id.clone(), notifier, after: 0, waiting, ended: false, must_look: true }
    }

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
                timeout(LOOK_AGAIN, self.notifier.changed()).await.ok();
                self.must_look = true;
            }
            let found = self.store.task_find(&self.id, self.after).await.map_err(Refusal::from)?;
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
    id: Option<CallId>,
    /// The task is the record of its id; otherwise a call is.
    is_record: bool,
    tool: String,
    arguments: RawJson,
    user_id: Option<String>,
    trace: Option<Box<str>>,
    patience: Option<Duration>,
    #[serde(default)]
    answers: bool,
    /// What only the caller's protocol can say, such as what the caller can be asked.
    #[serde(default, skip_serializing_if = "Passthrough::is_empty")]
    extra: Passthrough,
}

impl KeptRequest {
    fn write(call: &Call) -> String {
        let kept = KeptRequest {
            caller: call.caller.clone(),
            id: call.request.id.clone(),
            is_record: call.task.is_some(),
            tool: call.entry.id.to_string(),
            arguments: call.given().text().to_owned(),
            user_id: call.request.grants.user_id.clone(),
            trace: call.request.trace.clone(),
            patience: call.request.patience,
            answers: call.request.answers,
            extra: call.request.extra.clone(),
        };
        serde_json::to_string(&kept).expect("every member can be written")
    }

    /// Who asked, what, and the task if it is the record of that.
    pub(super) fn read(task: &ClaimedTask) -> Result<(Caller, Request, Option<TaskId>), Refusal> {
        let unreadable = |error: &dyn std::error::Error| {
            Refusal::Internal(Message::public("The kept request cannot be read").caused_by(error))
        };
        let kept: KeptRequest = serde_json::from_str(&task.request).map_err(|error| unreadable(&error))?;
        let tool = ToolRef::id(&kept.tool).map_err(|error| unreadable(&error))?;
        let arguments = Arguments::read(Some(&kept.arguments)).map_err(|error| unreadable(&error))?;
        let mut request = Request::new(tool, arguments);
        request.id = kept.id;
        request.grants.user_id = kept.user_id;
        request.trace = kept.trace;
        request.patience = kept.patience;
        request.answers = kept.answers;
        request.extra = kept.extra;
        Ok((kept.caller, request, kept.is_record.then(|| task.id.clone())))
    }
}

/// What the submitter of a task is told when the store failed.
fn not_kept(error: StoreError) -> Refusal {
    match error.durable {
        Durable::No => error.into(),
        Durable::Unknown => Refusal::Unavailable {
            message: Message::public(
                "The record store failed before it confirmed the task: it may be stored, and then it may run",
            ),
            retry_after: None,
        },
    }
}
