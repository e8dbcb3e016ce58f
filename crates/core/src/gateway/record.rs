//! The ledger around a call: an id that comes again gets the answer of the first time.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use super::Gateway;
use super::dispatch::dispatch;
use crate::BoxFuture;
use crate::call::{Call, CallId};
use crate::message::Message;
use crate::outcome::Outcome;
use crate::ports::store::{Begun, CallDigest, CallKey, StoreError, frees_key};
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::task::{TaskId, may_have_run};

/// The pause before the end of a call is recorded again, when the store was away; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The id by which a call is recorded; none for a tool that only reads, and a task is its own record.
pub(super) fn recorded_as(call: &Call) -> Option<CallId> {
    let unrecorded = call.task.is_some() || call.entry.hints.read_only == Some(true);
    call.request.id.clone().filter(|_| !unrecorded)
}

/// Runs a call at most once per id. Not an `async fn`, whose future would hold the call beside what is shared.
pub(super) fn record<'a>(
    gateway: &'a Arc<Gateway>,
    id: CallId,
    call: Call,
    progress: &'a Progress,
) -> impl Future<Output = Result<Outcome, Refusal>> + Send + 'a {
    let key = CallKey { caller: Arc::clone(&call.caller.name), id };
    let call = Arc::new(call);
    async move {
        loop {
            let begun = begin(Arc::clone(gateway), key.clone(), Arc::clone(&call), progress.clone());
            let begun = Unstoppable { running: Some(Box::pin(begun)), tasks: gateway.tasks.clone() };
            // On the heap: most calls are run by nobody else.
            let elsewhere = match begun.await? {
                Stands::Ended(outcome) => return Ok(outcome),
                elsewhere => Box::pin(wait(gateway, &key, elsewhere)),
            };
            let waited = timeout(call.time_limit(), elsewhere).await.map_err(|_| still_running(&call))?;
            if let Some(outcome) = waited? {
                return Ok(outcome);
            }
        }
    }
}

/// What came of a call that somebody else runs; nothing when it has to be begun again.
async fn wait(gateway: &Gateway, key: &CallKey, stands: Stands) -> Result<Option<Outcome>, Refusal> {
    match stands {
        Stands::Ended(outcome) => Ok(Some(outcome)),
        Stands::Elsewhere => gateway.store.call_wait(key).await.map_err(Refusal::from),
        Stands::Task(id) => gateway.task_ended(&id).await,
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
    call: Arc<Call>,
    progress: Progress,
) -> Result<Stands, Refusal> {
    match gateway.store.call_begin(&key, &digest(&call)).await.map_err(Refusal::from)? {
        Begun::Fresh => run(gateway, key, &call, &progress).await,
        Begun::Abandoned if call.entry.hints.repeatable() => run(gateway, key, &call, &progress).await,
        Begun::Abandoned => note_surely(gateway, key, Ok(may_have_run())).await,
        Begun::Ended(outcome) => Ok(Stands::Ended(outcome)),
        Begun::Conflict => Err(Refusal::Conflict { call_id: key.id.to_string() }),
        Begun::Running => Ok(Stands::Elsewhere),
        Begun::Task(id) => Ok(Stands::Task(id)),
    }
}

async fn run(
    gateway: Arc<Gateway>,
    key: CallKey,
    call: &Call,
    progress: &Progress,
) -> Result<Stands, Refusal> {
    let answer = dispatch(&gateway, call, progress).await;
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
        Ok(false) => return Ok(Stands::Elsewhere),
        Err(error) => {
            let tasks = gateway.tasks.clone();
            tasks.spawn(note_later(gateway, key, answer.clone(), error));
        }
    }
    answer.map(Stands::Ended)
}

/// A future that goes on when it is dropped.
struct Unstoppable<T: Send + 'static> {
    running: Option<BoxFuture<'static, T>>,
    tasks: TaskTracker,
}

impl<T: Send + 'static> Future for Unstoppable<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(running) = &mut self.running else { return Poll::Pending };
        let answer = ready!(running.as_mut().poll(context));
        self.running = None;
        Poll::Ready(answer)
    }
}

impl<T: Send + 'static> Drop for Unstoppable<T> {
    fn drop(&mut self) {
        if let (Some(running), Ok(runtime)) = (self.running.take(), Handle::try_current()) {
            self.tasks.spawn_on(running, &runtime);
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
    let mut pause = FIRST_PAUSE;
    loop {
        tracing::debug!(call = %key.id, developer = error.message.developer, "the end of a call is not recorded yet");
        if gateway.stop.run_until_cancelled(sleep(pause)).await.is_none() {
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
        match note(&gateway, &key, &answer).await {
            Ok(true) => return,
            Ok(false) => {
                return tracing::warn!(call = %key.id, "the call was taken over before its end was recorded");
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

fn still_running(call: &Call) -> Refusal {
    Refusal::Busy {
        message: Message::public("The same call is still running"),
        retry_after: call.time_limit(),
    }
}

/// Tool, arguments and user, the same whatever the order of keys: what one user was answered is never
/// another's answer. Delivered credentials are not part of it: a token that was renewed between two tries
/// does not make another call.
pub(super) fn digest(call: &Call) -> CallDigest {
    let id = &call.entry.id;
    let mut text = Vec::with_capacity(256);
    for name in [&id.toolkit, &id.tool] {
        text.extend_from_slice(name.as_bytes());
        text.push(0);
    }
    for number in [id.version.major, id.version.minor, id.version.patch] {
        text.extend_from_slice(&number.to_le_bytes());
    }
    write_sorted(call.given().value(), &mut text);
    if let Some(user) = &call.request.grants.user_id {
        write_scalar(user, &mut text);
    }
    Sha256::digest(text).into()
}

/// Writes a value with its keys in order. Each part begins with a sign of its own, so that no two values
/// are written alike.
fn write_sorted(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_unstable_by_key(|(key, _)| key.as_str());
            text.push(b'{');
            for (key, value) in members {
                write_scalar(key, text);
                write_sorted(value, text);
            }
            text.push(b'}');
        }
        Value::Array(items) => {
            text.push(b'[');
            for item in items {
                write_sorted(item, text);
            }
            text.push(b']');
        }
        scalar => write_scalar(scalar, text),
    }
}

fn write_scalar(scalar: &impl Serialize, text: &mut Vec<u8>) {
    text.push(b',');
    // Writing to memory cannot fail.
    serde_json::to_writer(text, scalar).unwrap_or_default();
}
