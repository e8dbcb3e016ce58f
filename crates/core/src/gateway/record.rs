//! The ledger around a call: an id that comes again gets the answer of the first time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::Gateway;
use super::dispatch::dispatch;
use crate::call::Call;
use crate::message::Message;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::store::{Begun, CallDigest, CallKey, StoreError};
use crate::task::may_have_run;

/// The pause before the end of a call is recorded again, when the store was away; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Runs a call at most once per id. A call without an id, or of a tool that only reads, needs no record.
pub(super) async fn record(
    gateway: &Arc<Gateway>,
    call: Call,
    progress: &Progress,
) -> Result<Outcome, Refusal> {
    let id = match &call.request.id {
        Some(id) if call.entry.hints.read_only != Some(true) => id.clone(),
        _ => return dispatch(gateway, &call, progress).await,
    };
    let key = CallKey { caller: call.caller.name.as_ref().into(), id };
    let digest = digest(&call);
    loop {
        match gateway.store.call_begin(&key, &digest).await.map_err(unavailable)? {
            Begun::Fresh => return run(gateway, key, call, progress.clone()).await,
            Begun::Abandoned if call.entry.hints.repeatable() => {
                return run(gateway, key, call, progress.clone()).await;
            }
            Begun::Abandoned => {
                let outcome = may_have_run();
                gateway.store.call_finish(&key, &outcome).await.map_err(unavailable)?;
                return Ok(outcome);
            }
            Begun::Ended(outcome) => return Ok(outcome),
            Begun::Conflict => return Err(Refusal::Conflict { call_id: key.id.into() }),
            Begun::Running => {
                let waited = timeout(call.time_limit(), gateway.store.call_wait(&key)).await;
                if let Some(outcome) = waited.map_err(|_| still_running(&call))?.map_err(unavailable)? {
                    return Ok(outcome);
                }
            }
        }
    }
}

/// Runs in a task of the gateway's own: a caller that leaves must not leave a call without an end, and a
/// store that is away must not keep an answer from its caller.
async fn run(
    gateway: &Arc<Gateway>,
    key: CallKey,
    call: Call,
    progress: Progress,
) -> Result<Outcome, Refusal> {
    let (owner, (answered, answer)) = (Arc::clone(gateway), oneshot::channel());
    gateway.tasks.spawn(async move {
        let answer = dispatch(&owner, &call, &progress).await;
        let mut recorded = note(&owner, &key, &answer).await;
        if recorded.is_ok() {
            answered.send(answer).ok();
            return;
        }
        let late = answer.clone();
        answered.send(answer).ok();
        let mut pause = FIRST_PAUSE;
        while let Err(error) = recorded {
            tracing::warn!(call = %key.id, developer = error.0.developer, "the end of a call is not recorded yet");
            if owner.stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            recorded = note(&owner, &key, &late).await;
        }
    });
    answer.await.unwrap_or_else(|error| {
        Err(Refusal::Internal(Message::public("The call was lost").caused_by(&error)))
    })
}

async fn note(gateway: &Gateway, key: &CallKey, answer: &Result<Outcome, Refusal>) -> Result<(), StoreError> {
    match answer {
        Ok(outcome) => gateway.store.call_finish(key, outcome).await,
        Err(_) => gateway.store.call_forget(key).await,
    }
}

fn still_running(call: &Call) -> Refusal {
    Refusal::Busy {
        message: Message::public("The same call is still running"),
        retry_after: call.time_limit(),
    }
}

pub(super) fn unavailable(error: StoreError) -> Refusal {
    Refusal::Unavailable { message: error.0, retry_after: None }
}

/// Tool and arguments, the same whatever the order of keys.
pub(super) fn digest(call: &Call) -> CallDigest {
    let mut hash = Sha256::new();
    hash.update(call.entry.id.to_string());
    hash.update([0]);
    hash.update(sorted(call.arguments().value()).to_string());
    hash.finalize().into()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
