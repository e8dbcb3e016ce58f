//! Runs one task to an end that is recorded, or puts it back because its tool did not run.

use std::sync::Arc;
use std::time::Duration;

use super::handle::Tasks;
use super::stored_request::StoredRequest;
use crate::background::StorePauses;
use crate::call::Call;
use crate::gateway::{RecordedCall, dispatch, record, recorded_as};
use crate::outcome::Outcome;
use crate::ports::store::{ClaimedTask, Listener};
use crate::progress::Progress;
use crate::receipt::{ReceiptDraft, ReceiptKind};
use crate::refusal::Refusal;
use crate::requirements::Grants;
use crate::task::{TaskId, refused};

/// How long a task waits before its tool is looked for again.
const TOOL_PAUSE: Duration = Duration::from_secs(2);

/// Where the credentials of a task are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CredentialsIn {
    /// In our memory only.
    Here,
    /// It has none of its own: what the server itself adds from its vault it can add again.
    Anywhere,
}

impl CredentialsIn {
    /// Of a request as it came, before the server added anything.
    pub(super) fn of(grants: &Grants) -> Self {
        let has_none = grants.authorization.is_empty() && grants.secrets.is_empty();
        if has_none { CredentialsIn::Anywhere } else { CredentialsIn::Here }
    }
}

/// A call that runs as a task.
pub(super) struct TaskCall {
    pub(super) id: TaskId,
    pub(super) call: Call,
    pub(super) credentials: CredentialsIn,
    /// How long ago the task was accepted.
    pub(super) waited: Duration,
}

/// What became of a task that ran here.
#[derive(Clone, Copy)]
enum Settled<'a> {
    Ended(&'a Outcome),
    PutBack(Duration),
}

impl Tasks {
    /// Keeps the credentials of a task that only this process has, so that whoever runs it here finds them.
    pub(super) fn hold_credentials(&self, task_call: &TaskCall) {
        match task_call.credentials {
            CredentialsIn::Here => self.local().hold(&task_call.id, task_call.call.clone()),
            CredentialsIn::Anywhere => {}
        }
    }

    /// A tool that is not here now, or not yet, may be soon, or be elsewhere; not for ever.
    pub(super) async fn put_off(&self, task: &ClaimedTask, refusal: &Refusal) {
        match refusal {
            Refusal::UnknownTool { .. } if self.is_patient(task.waited) => {
                self.put_back(&task.id, TOOL_PAUSE).await;
            }
            Refusal::Unavailable { retry_after, .. } if self.is_patient(task.waited) => {
                self.put_back(&task.id, retry_after.unwrap_or(TOOL_PAUSE)).await;
            }
            _ => {
                self.write_refused(task, refusal);
                self.finish(&task.id, &refused(refusal)).await;
            }
        }
    }

    /// The receipt of a task that was refused before it ran.
    fn write_refused(&self, task: &ClaimedTask, refusal: &Refusal) {
        let Ok(stored) = StoredRequest::read(task) else { return };
        let receipt = self.gateway.receipts().begin(ReceiptKind::Task, &stored.caller);
        let mut receipt = receipt.of_request(&stored.request);
        receipt.not_found(&stored.request.tool.to_string());
        receipt.runs_as(task.id.as_str());
        receipt.answered(Err(refusal));
    }

    fn receipt_of(&self, TaskCall { id, call, .. }: &TaskCall) -> ReceiptDraft {
        let receipt = self.gateway.receipts().begin(ReceiptKind::Task, &call.caller);
        let mut receipt = receipt.of_request(&call.request);
        self.gateway.note_tool(&mut receipt, &call.entry, &call.request.arguments);
        receipt.runs_as(id.as_str());
        receipt
    }

    /// When to run a task again whose tool was refused, if that may help: there was no turn, or the source says
    /// when it is there again, as does an open circuit breaker.
    fn pause_after(&self, refusal: &Refusal, waited: Duration) -> Option<Duration> {
        match refusal {
            Refusal::Busy { retry_after, .. } => Some(*retry_after),
            Refusal::Unavailable { retry_after, .. } => retry_after.filter(|_| self.is_patient(waited)),
            _ => None,
        }
    }

    /// Whether a task may wait longer for its tool.
    fn is_patient(&self, waited: Duration) -> bool {
        waited < self.gateway.limits().task_patience
    }

    /// Runs a task that was claimed. Between the claim and here somebody may have cancelled it, or have taken it over
    /// because we seemed dead, and nobody was listening: so the notifier comes first and the look after it. Whatever
    /// happens later notifies.
    pub(super) async fn run_claimed(&self, task_call: &TaskCall) {
        let mut notifier = self.store().task_notifier(&task_call.id);
        if self.is_ours(&task_call.id).await {
            self.run_task(task_call, &mut notifier).await;
        }
    }

    /// Runs a task that is ours; notifications are received since it is.
    pub(super) async fn run_task(&self, task_call: &TaskCall, notifier: &mut Listener) {
        let (id, receipt) = (&task_call.id, Arc::new(self.receipt_of(task_call)));
        let answer = tokio::select! {
            // What we ourselves wrote is notified too: a tool that ends at once needs no look.
            biased;
            answer = self.dispatch(task_call, &receipt) => answer,
            // Somebody cancelled it, or took it over because we seemed dead: dropping the call ends it.
            () = self.taken_away(id, notifier) => return,
        };
        match answer {
            Ok(outcome) => self.finish(id, &self.gateway.bounded(&outcome)).await,
            Err(refusal) => match self.pause_after(&refusal, task_call.waited) {
                Some(pause) => {
                    receipt.discard();
                    // Before the task is pending again: whoever claims it next must find its credentials.
                    self.hold_credentials(task_call);
                    self.put_back(id, pause).await;
                }
                None => self.finish(id, &refused(&refusal)).await,
            },
        }
    }

    /// Whether a task is still ours to run. While the store cannot say, the tool must not run: another server may run it.
    async fn is_ours(&self, id: &TaskId) -> bool {
        let mut pauses = StorePauses::new();
        loop {
            match self.store().task_is_ours(id).await {
                Ok(ours) => return ours,
                Err(error) => {
                    tracing::debug!(developer = error.message.developer, "a task waits for the record store");
                }
            }
            if !pauses.wait(self.gateway.background()).await {
                return false;
            }
        }
    }

    /// Runs the call, keeps what its tool tells and offers what it asks. The three end together: `progress` is dropped with
    /// the run, which ends both receivers.
    async fn dispatch(
        &self,
        TaskCall { id, call, .. }: &TaskCall,
        receipt: &Arc<ReceiptDraft>,
    ) -> Result<Outcome, Refusal> {
        let (progress, updates, questions) = if call.request.answers {
            let (progress, updates, questions) = Progress::dialogue();
            (progress, updates, Some(questions))
        } else {
            let (progress, updates) = Progress::channel();
            (progress, updates, None)
        };
        let run = async {
            let answer = match recorded_as(call) {
                None => dispatch(&self.gateway, call, &progress, receipt).await,
                Some(id) => {
                    let recorded = RecordedCall { call: call.clone(), receipt: Arc::clone(receipt) };
                    record(&self.gateway, id, recorded, &progress).await
                }
            };
            drop(progress);
            answer
        };
        tokio::join!(run, self.keep_updates(id, updates), self.local().questions.keep(id, questions)).0
    }

    async fn taken_away(&self, id: &TaskId, notifier: &mut Listener) {
        loop {
            notifier.changed().await;
            // A store that cannot say is no reason to end a tool that runs.
            if let Ok(false) = self.store().task_is_ours(id).await {
                return;
            }
        }
    }

    async fn finish(&self, id: &TaskId, outcome: &Outcome) {
        self.settle(id, Settled::Ended(outcome)).await;
    }

    async fn put_back(&self, id: &TaskId, pause: Duration) {
        self.settle(id, Settled::PutBack(pause)).await;
    }

    /// Until the store took it. When the server stops first, the rules for dead servers end the task.
    async fn settle(&self, id: &TaskId, settled: Settled<'_>) {
        let mut pauses = StorePauses::new();
        loop {
            let written = match settled {
                // False is as good: somebody took the task over, and what they record is its end.
                Settled::Ended(outcome) => self.store().task_finish(id, outcome).await.map(drop),
                Settled::PutBack(pause) => self.store().task_return(id, pause).await,
            };
            let Err(error) = written else { return };
            tracing::debug!(
                developer = error.message.developer,
                "the result of a task cannot be recorded yet"
            );
            if !pauses.wait(self.gateway.background()).await {
                return;
            }
        }
    }
}
