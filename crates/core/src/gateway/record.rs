//! The ledger around a call: an id that comes again gets the answer of the first time.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use tokio::time::timeout;

use super::Gateway;
use super::digest::digest;
use super::dispatch::dispatch;
use crate::BoxFuture;
use crate::background::{Background, StorePauses};
use crate::call::{Call, CallId};
use crate::message::Message;
use crate::outcome::{Content, Outcome, ToolError};
use crate::ports::store::{Begun, CallKey, StoreError, frees_key};
use crate::progress::Progress;
use crate::receipt::{CallStep, ReceiptDraft};
use crate::refusal::Refusal;
use crate::task::{TaskId, may_have_run};
use crate::task_follow::task_ended;

/// The id by which a call is recorded; none for a tool that only reads, and a task is its own record.
pub(crate) fn recorded_as(call: &Call) -> Option<CallId> {
    let unrecorded = call.task.is_some() || call.entry.hints.read_only == Some(true);
    call.request.id.clone().filter(|_| !unrecorded)
}

/// A call with its receipt, which is written when nobody runs the call or waits for it any more.
pub(crate) struct RecordedCall {
    pub(crate) call: Call,
    pub(crate) receipt: Arc<ReceiptDraft>,
}

/// Runs a call at most once per id. Not an `async fn`, whose future would hold the call in addition to what is shared.
pub(crate) fn record<'a>(
    gateway: &'a Arc<Gateway>,
    id: CallId,
    recorded: RecordedCall,
    progress: &'a Progress,
) -> impl Future<Output = Result<Outcome, Refusal>> + Send + 'a {
    let key = CallKey { caller: Arc::clone(&recorded.call.caller.name), id };
    let recorded = Arc::new(recorded);
    async move {
        let answer = answer(gateway, &key, &recorded, progress).await;
        recorded.receipt.answered(answer.as_ref());
        answer
    }
}

async fn answer(
    gateway: &Arc<Gateway>,
    key: &CallKey,
    recorded: &Arc<RecordedCall>,
    progress: &Progress,
) -> Result<Outcome, Refusal> {
    // Whoever waited in vain, because the first to run the call forgot it, begins anew: the tool did not run, or
    // failed in a way worth retrying. Of many who begin anew the store lets one run.
    loop {
        let begun = begin(Arc::clone(gateway), key.clone(), Arc::clone(recorded), progress.clone());
        // The claim and the run are one future: dropped between the two, it would leave a claim that nobody runs.
        let begun = Unstoppable { running: Some(Box::pin(begun)), background: gateway.background.clone() };
        // On the heap: most calls are run by nobody else.
        let elsewhere = match begun.await? {
            Stands::Ended(outcome) => return Ok(outcome),
            elsewhere => Box::pin(wait(gateway, key, elsewhere)),
        };
        let limit = recorded.call.time_limit();
        let waited = timeout(limit, elsewhere).await.map_err(|_| still_running(&recorded.call))?;
        if let Some(outcome) = waited? {
            recorded.receipt.repeats();
            return Ok(outcome);
        }
    }
}

/// What came of a call that somebody else runs; nothing when it has to be begun again.
async fn wait(gateway: &Gateway, key: &CallKey, stands: Stands) -> Result<Option<Outcome>, Refusal> {
    match stands {
        Stands::Ended(outcome) => Ok(Some(outcome)),
        Stands::Elsewhere => gateway.store.call_wait(key).await.map_err(Refusal::from),
        Stands::Task(id) => task_ended(&gateway.store, &id).await,
    }
}

/// How a call stands after we tried to begin it.
enum Stands {
    Ended(Outcome),
    /// Somebody else runs it.
    Elsewhere,
    /// It was submitted as a task.
    Task(TaskId),
}

/// Claims the id and runs the tool if the id is ours. A caller that leaves at any moment of this must not
/// leave an id that nobody brings to an end.
async fn begin(
    gateway: Arc<Gateway>,
    key: CallKey,
    recorded: Arc<RecordedCall>,
    progress: Progress,
) -> Result<Stands, Refusal> {
    let begun = gateway.store.call_begin(&key, &digest(&recorded.call)).await.map_err(Refusal::from)?;
    recorded.receipt.mark(CallStep::Record);
    let kept_until = SystemTime::now() + gateway.store.call_kept_for();
    let stands = match begun {
        Begun::Fresh => run(gateway, key, &recorded, &progress).await,
        // The server that ran it is gone, at any moment: before the tool, while it ran, or after it.
        Begun::Abandoned if recorded.call.entry.hints.repeatable() => {
            run(gateway, key, &recorded, &progress).await
        }
        Begun::Abandoned => note_surely(gateway, key, Ok(may_have_run())).await,
        Begun::Ended(outcome, kept_until) => {
            recorded.receipt.repeats();
            recorded.call.tell_kept_until(kept_until);
            return Ok(Stands::Ended(outcome));
        }
        Begun::Conflict => Err(Refusal::Conflict { call_id: key.id.to_string() }),
        Begun::Running => Ok(Stands::Elsewhere),
        Begun::Task(id) => Ok(Stands::Task(id)),
    }?;
    if let Stands::Ended(outcome) = &stands
        && !frees_key(outcome)
    {
        recorded.call.tell_kept_until(kept_until);
    }
    Ok(stands)
}

async fn run(
    gateway: Arc<Gateway>,
    key: CallKey,
    recorded: &RecordedCall,
    progress: &Progress,
) -> Result<Stands, Refusal> {
    let answer = dispatch(&gateway, &recorded.call, progress, &recorded.receipt).await;
    note_surely(gateway, key, answer).await
}

/// The tool ran or did not, and its caller hears which, even while the store is away. When somebody took the
/// call over because we seemed dead, their record is the answer.
async fn note_surely(
    gateway: Arc<Gateway>,
    key: CallKey,
    answer: Result<Outcome, Refusal>,
) -> Result<Stands, Refusal> {
    match note(&gateway, &key, &answer).await {
        Ok(true) => {}
        // Our answer is dropped: the other server's is in the ledger, and two callers of one id must not get two answers.
        Ok(false) => return Ok(Stands::Elsewhere),
        Err(error) => {
            // The caller has its answer meanwhile. Until it is written, the id is ours and running: whoever asks again
            // waits, and a server that takes the call over after a crash records that it may have run.
            let background = gateway.background.clone();
            background.spawn(note_later(gateway, key, answer.clone(), error));
        }
    }
    answer.map(Stands::Ended)
}

/// A future that goes on when it is dropped. Between the claim of an id and the record of its end a caller that leaves
/// would otherwise cancel the tool half way and leave an id that nobody brings to an end.
struct Unstoppable<T: Send + 'static> {
    running: Option<BoxFuture<'static, T>>,
    background: Background,
}

impl<T: Send + 'static> Future for Unstoppable<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Nobody polls again after the answer; `Pending` instead of a panic costs nothing.
        let Some(running) = &mut self.running else { return Poll::Pending };
        let answer = ready!(running.as_mut().poll(context));
        self.running = None;
        Poll::Ready(answer)
    }
}

impl<T: Send + 'static> Drop for Unstoppable<T> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.background.spawn_from_drop(running);
        }
    }
}

/// Until the store took it. When the server stops first, whoever asks again hears that it may have run.
async fn note_later(
    gateway: Arc<Gateway>,
    key: CallKey,
    answer: Result<Outcome, Refusal>,
    mut error: StoreError,
) {
    let mut pauses = StorePauses::new();
    loop {
        tracing::debug!(call = %key.id, developer = error.message.developer, "the result of a call cannot be recorded yet");
        if !pauses.wait(&gateway.background).await {
            return;
        }
        match note(&gateway, &key, &answer).await {
            Ok(true) => return,
            Ok(false) => {
                return tracing::warn!(call = %key.id, "another server took over the call before its result was recorded");
            }
            Err(next) => error = next,
        }
    }
}

/// A result over `task_result_bytes` goes to its caller whole, but is not kept: who asks again hears that the
/// tool ran and how large its result was. False when the call is not ours any more.
async fn note(
    gateway: &Gateway,
    key: &CallKey,
    answer: &Result<Outcome, Refusal>,
) -> Result<bool, StoreError> {
    match answer {
        Ok(outcome) if !frees_key(outcome) => gateway.store.call_finish(key, &gateway.bounded(outcome)).await,
        Ok(_) | Err(_) => gateway.store.call_forget(key).await.map(|()| true),
    }
}

impl Gateway {
    /// What is kept of an outcome: all, or how much too large it was. What only one protocol can say repeats
    /// most of the rest, and is bounded by itself.
    pub(crate) fn bounded<'a>(&self, outcome: &'a Outcome) -> Cow<'a, Outcome> {
        let most = self.limits().task_result_bytes;
        let blocks = |content: &[Content]| content.iter().map(|c| c.json().get().len()).sum::<usize>();
        let (size, extra) = match outcome {
            Outcome::Returned(output) => (output.value.get().len() + blocks(&output.content), &output.extra),
            Outcome::Failed(error) => (error.message.public.len() + blocks(&error.content), &error.extra),
        };
        let size = size.max(extra.size());
        if size <= most {
            return Cow::Borrowed(outcome);
        }
        let text = format!("The tool ran, but its result of {size} bytes is over the limit of {most} bytes");
        Cow::Owned(Outcome::Failed(ToolError::new(text)))
    }
}

fn still_running(call: &Call) -> Refusal {
    Refusal::Busy {
        message: Message::public("The same call is still running"),
        retry_after: call.time_limit(),
    }
}
