//! The ledger around a call: an id that comes again gets the answer of the first time.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::Gateway;
use super::dispatch::dispatch;
use crate::call::Call;
use crate::message::Message;
use crate::outcome::{Outcome, Retry};
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::store::{Begun, CallDigest, CallKey, StoreError};

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

/// Runs in a task of the gateway's own: a caller that leaves must not leave a call without an end.
async fn run(
    gateway: &Arc<Gateway>,
    key: CallKey,
    call: Call,
    progress: Progress,
) -> Result<Outcome, Refusal> {
    let owner = Arc::clone(gateway);
    let running = gateway.tasks.spawn(async move {
        let answer = dispatch(&owner, &call, &progress).await;
        match &answer {
            Ok(outcome) if is_final(outcome) => owner.store.call_finish(&key, outcome).await,
            Ok(_) | Err(_) => owner.store.call_forget(&key).await,
        }
        .map_err(unavailable)?;
        answer
    });
    running.await.unwrap_or_else(|error| {
        Err(Refusal::Internal(Message::public("The call was lost").caused_by(&error)))
    })
}

/// A failure worth retrying is not kept: clients retry with the same id, and must reach the tool.
fn is_final(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Returned(_) => true,
        Outcome::Failed(error) => error.retry == Retry::Never,
    }
}

fn still_running(call: &Call) -> Refusal {
    Refusal::Busy {
        message: Message::public("The same call is still running"),
        retry_after: call.time_limit(),
    }
}

fn unavailable(error: StoreError) -> Refusal {
    Refusal::Unavailable { message: error.0, retry_after: None }
}

/// Tool and arguments, the same whatever the order of keys. Delivered credentials are not part of it: a
/// token that was renewed between two tries does not make another call.
fn digest(call: &Call) -> CallDigest {
    let mut hash = Sha256::new();
    hash.update(call.entry.id.to_string());
    hash.update([0]);
    hash.update(sorted(call.given().value()).to_string());
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
