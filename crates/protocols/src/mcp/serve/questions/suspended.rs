//! A call that asks its caller something. A client of the handshake era is asked while the call goes on. One of
//! 2026-07-28 is asked by a result, and the call waits here until the client asks again with the answers.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::json_text::{raw_of, to_raw};
use toolmux_core::progress::Question;

use super::ask::{Binding, put};
use super::update_notifier::UpdateNotifier;
use crate::mcp::members::Members;
use crate::mcp::serve::request::{Exchange, RequestParams, RunningCall, SessionKey, Step, SuspendedCall};
use crate::mcp::wire::{Fault, INVALID_PARAMS, Reply, our_meta, text_of};

/// How long a call waits for answers.
const PATIENCE: Duration = Duration::from_mins(10);

/// Follows a call to its end, or to a question that ends the exchange. Dropping the future cancels the call.
pub(in crate::mcp) async fn drive(mut running: RunningCall, exchange: &Exchange) -> Reply {
    let mut notifier = UpdateNotifier::new(exchange);
    loop {
        match running.next().await {
            Step::Update(update) => notifier.notify(update).await,
            Step::Question(question) => {
                let open = put_all(question, &mut running, exchange).await;
                if !open.is_empty() {
                    let bytes = exchange.request.text.as_ref().map_or(0, |params| params.get().len());
                    return Ok(suspend(SuspendedCall { running, questions: open, bytes }, exchange));
                }
            }
            Step::Ended(reply) => {
                // What the tool told last may still be in its queue: it goes out before the answer.
                while let Some(update) = running.try_update() {
                    notifier.notify(update).await;
                }
                return reply;
            }
        }
    }
}

/// Puts a question, and whatever else the tool asks at the same moment, to the client: a client of 2026-07-28 is asked
/// all of it by one result. Gives those that have to wait for its next request, by their keys.
async fn put_all(first: Question, running: &mut RunningCall, exchange: &Exchange) -> Vec<(String, Question)> {
    let mut open = Vec::new();
    let mut next = Some(first);
    while let Some(question) = next {
        if let Some(question) = put(question, exchange, Binding::Call).await {
            open.push((format!("q{}", open.len() + 1), question));
        }
        next = running.try_question();
    }
    open
}

/// Puts a call aside; gives the result that says what is asked.
fn suspend(call: SuspendedCall, exchange: &Exchange) -> Bytes {
    let state = format!("{}{}", exchange.session_state.mark, uuid::Uuid::new_v4().simple());
    let mut requests = serde_json::Map::new();
    for (key, question) in &call.questions {
        requests.insert(key.clone(), serde_json::from_str(question.asked.get()).unwrap_or_default());
    }
    let result = json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state, "_meta": our_meta() });
    let asked: usize = call.questions.iter().map(|(_, question)| question.asked.get().len()).sum();
    let (bytes, key) = (call.bytes + asked, key(&state, exchange));
    // Kept before the client can know the state: an answer that comes at once finds the call.
    exchange.session_state.suspended.put(key.clone(), call, bytes);
    let session_state = exchange.session_state.clone();
    exchange.gateway.background().spawn_until_stop(async move {
        tokio::time::sleep(PATIENCE).await;
        // Every suspension has a state of its own: a call that was resumed and asks again is not found by this one.
        drop(session_state.suspended.take(&key));
    });
    text_of(raw_of(&result))
}

/// The state of ours that a request carries, which stands for a call.
pub(in crate::mcp) fn named<'a>(params: &'a RequestParams, exchange: &Exchange) -> Option<&'a str> {
    params.request_state.as_deref().filter(|state| state.starts_with(&exchange.session_state.mark))
}

/// Goes on with a call. Only the caller it belongs to can, with the same target. Dropping the future cancels the call.
pub(in crate::mcp) async fn resume(state: &str, params: &RequestParams, exchange: &Exchange) -> Reply {
    let unknown = || Fault::new(INVALID_PARAMS, "The `requestState` is not known or has expired");
    let key = key(state, exchange);
    // Taken, so that of two requests with one state only the first goes on with the call; the other is refused.
    let mut suspended = exchange.session_state.suspended.take(&key).ok_or_else(unknown)?;
    if *suspended.running.target != *params.name_or_uri() {
        let bytes = suspended.bytes;
        // Put back under the same state: a request for another tool must not cost the client its call.
        exchange.session_state.suspended.put(key, suspended, bytes);
        return Err(unknown());
    }
    let answers = answers(params)?;
    let mut open = Vec::new();
    for (key, question) in std::mem::take(&mut suspended.questions) {
        match answers.get(&key) {
            Some(answer) => question.answer(answered(answer)),
            None => open.push((key, question)),
        }
    }
    if open.is_empty() {
        drive(suspended.running, exchange).await
    } else {
        Ok(suspend(SuspendedCall { questions: open, ..suspended }, exchange))
    }
}

/// The answers that a request carries; none of them is an empty object.
pub(in crate::mcp) fn answers(params: &RequestParams) -> Result<Members<'_>, Fault> {
    let answers = params.input_responses.as_deref().map_or_else(|| Some(Members::default()), Members::read);
    answers.ok_or_else(|| Fault::new(INVALID_PARAMS, "`inputResponses` must be an object"))
}

/// A state is known to the caller alone whose call it stands for.
fn key(state: &str, exchange: &Exchange) -> SessionKey {
    SessionKey { caller: exchange.peer.caller.name().into(), id: state.into() }
}

/// An answer in the form in which a question takes it.
pub(in crate::mcp) fn answered(result: &RawValue) -> Box<RawValue> {
    #[derive(serde::Serialize)]
    struct Parts<'a> {
        result: &'a RawValue,
    }
    to_raw(&Parts { result }).expect("an answer is writable")
}
