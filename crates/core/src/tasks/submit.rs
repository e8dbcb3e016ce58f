//! Submitting: a request passes every check, and is durable before its submitter hears of it.

use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::handle::Tasks;
use super::run::{CredentialsIn, TaskCall};
use super::stored_request::StoredRequest;
use crate::call::{Call, Caller, Request};
use crate::gateway::digest;
use crate::limits::Limits;
use crate::message::Message;
use crate::ports::store::{Backlog, CallDigest, CallKey, Durable, Listener, NewTask, StoreError, Submitted};
use crate::receipt::{ReceiptDraft, ReceiptKind};
use crate::refusal::Refusal;
use crate::task::{LONGEST_KEPT, TaskId};

/// When a caller with too many waiting tasks should try again.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// A request up to this many bytes is small.
const SMALL_REQUEST: usize = 64 << 10;

/// Room for a task that is just being accepted.
pub(super) struct TaskSlot {
    pub(super) slot: OwnedSemaphorePermit,
    /// Notifies for whatever happens to the task. Made before the task is: what happens to it from its first moment on
    /// is notified.
    pub(super) notifier: Listener,
}

/// What the store said of a task.
struct Kept {
    submitted: Submitted,
    started: Started,
}

/// Whether a task that was just accepted is ours to run.
pub(super) type Started = Result<bool, StoreError>;

impl Tasks {
    /// Takes a request through every check and keeps it as a task. When this ends well, the task is
    /// durable and will come to an end, whatever happens to this process. It is kept for `keep` after its end, or for as
    /// long as the configuration says.
    pub async fn submit(
        &self,
        caller: &Caller,
        mut request: Request,
        keep: Option<Duration>,
    ) -> Result<TaskId, Refusal> {
        let keep = keep.unwrap_or_else(|| self.gateway.limits().task_ttl);
        self.gateway.trace(&mut request);
        let mut receipt = self.gateway.receipts().begin(ReceiptKind::Task, caller).of_request(&request);
        let submitted = self.accept(caller, request, keep, &mut receipt).await;
        match &submitted {
            // Its receipt is written when it ends.
            Ok(_) => receipt.discard(),
            Err(refusal) => {
                receipt.answered(Err(refusal));
                self.gateway.refused(refusal);
            }
        }
        submitted
    }

    async fn accept(
        &self,
        caller: &Caller,
        mut request: Request,
        keep: Duration,
        receipt: &mut ReceiptDraft,
    ) -> Result<TaskId, Refusal> {
        // A task outlives the session it was submitted in.
        request.session = None;
        let credentials = CredentialsIn::of(&request.grants);
        let mut call = self.gateway.check(0, caller, request, receipt).await?;
        let id = TaskId::random();
        call.task = Some(id.clone());
        let place =
            self.local().slot().map(|slot| TaskSlot { slot, notifier: self.store().task_notifier(&id) });
        let request = StoredRequest::write(&call);
        // Small requests that run at once are bounded by `task_concurrency`; the store is not asked about them.
        if place.is_none() || request.len() > SMALL_REQUEST {
            self.check_backlog(caller).await?;
        }
        let task = NewTask {
            caller: caller.name().into(),
            tool: call.entry.flat.clone(),
            request: request.into(),
            repeatable: call.entry.hints.repeatable(),
            portable: credentials == CredentialsIn::Anywhere,
            key: key_of(&call),
            keep: keep.min(LONGEST_KEPT),
            id,
        };
        let mut task_call = TaskCall { id: task.id.clone(), call, credentials, waited: Duration::ZERO };
        match self.keep(task, &mut task_call, place.as_ref()).await {
            Ok(Kept { submitted: Submitted::Fresh, started }) => Ok(self.begin(task_call, started, place)),
            other => {
                // Nobody runs it: the credentials that were held before it was written are of no use.
                self.local().take_held(&task_call.id);
                match other.map_err(not_kept)?.submitted {
                    Submitted::Known(known) => Ok(known),
                    Submitted::Fresh | Submitted::Called | Submitted::Conflict => {
                        let call_id = task_call.call.request.id.unwrap_or_default().to_string();
                        Err(Refusal::Conflict { call_id })
                    }
                }
            }
        }
    }

    fn begin(&self, task_call: TaskCall, started: Started, place: Option<TaskSlot>) -> TaskId {
        let id = task_call.id.clone();
        match place {
            Some(place) => self.begin_here(task_call, started, place),
            // It is claimed in its turn.
            None => self.local().tasks_wait(),
        }
        self.run();
        id
    }

    async fn keep(
        &self,
        task: NewTask,
        task_call: &mut TaskCall,
        place: Option<&TaskSlot>,
    ) -> Result<Kept, StoreError> {
        // Before the task is in the store: whoever claims it first, ourselves included, finds its credentials.
        self.hold_credentials(task_call);
        let kept = self.submit_and_start(&task, place).await?;
        if kept.submitted != Submitted::Called {
            return Ok(kept);
        }
        // A call answers for the key, and what runs as the task asks the ledger for it.
        task_call.call.task = None;
        self.hold_credentials(task_call);
        let request = StoredRequest::write(&task_call.call).into();
        self.submit_and_start(&NewTask { request, key: None, ..task }, place).await
    }

    /// Keeps a task, and takes it to run here when there is a place for it. Both are asked for at once, so
    /// that a store which writes what came together makes them durable together.
    async fn submit_and_start(&self, task: &NewTask, place: Option<&TaskSlot>) -> Result<Kept, StoreError> {
        let store = self.store();
        if place.is_none() {
            return Ok(Kept { submitted: store.task_submit(task).await?, started: Ok(false) });
        }
        match tokio::join!(store.task_submit(task), store.task_start(&task.id)) {
            // Whatever was heard of keeping it, it is there and ours.
            (_, Ok(true)) => Ok(Kept { submitted: Submitted::Fresh, started: Ok(true) }),
            (submitted, started) => Ok(Kept { submitted: submitted?, started }),
        }
    }

    async fn check_backlog(&self, caller: &Caller) -> Result<(), Refusal> {
        let Limits { task_backlog, task_backlog_bytes, .. } = self.gateway.limits();
        let Backlog { pending, bytes } =
            self.store().task_backlog(caller.name()).await.map_err(Refusal::from)?;
        let why = if pending >= task_backlog {
            format!("you already have {task_backlog} waiting tasks")
        } else if bytes >= task_backlog_bytes {
            format!(
                "your waiting and running tasks already hold {bytes} bytes; the limit is {task_backlog_bytes}"
            )
        } else {
            return Ok(());
        };
        Err(Refusal::Busy { message: Message::public(why), retry_after: RETRY_AFTER })
    }
}

/// The id that the submitter gave, and what it stands for.
fn key_of(call: &Call) -> Option<(CallKey, CallDigest)> {
    let id = call.request.id.clone()?;
    Some((CallKey { caller: call.caller.name().into(), id }, digest(call)))
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
