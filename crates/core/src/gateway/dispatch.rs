//! Runs a call: deadline, turns and span, here and nowhere else; retries and circuit breakers are in
//! `retries.rs`.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::time::Instant;
use tracing::Instrument;

use super::Gateway;
use super::retries::Retries;
use crate::answer_memory::{self, NoMemory};
use crate::call::Call;
use crate::memory_budget::RETRY_AFTER;
use crate::message::Message;
use crate::outcome::{Outcome, Retry, ToolError};
use crate::progress::Progress;
use crate::receipt::{AttemptError, CallStep, ReceiptDraft};
use crate::refusal::Refusal;
use crate::time_limit;
use crate::trace_context::within;

/// How many bytes of what a tool said when it failed are logged.
const MOST_LOGGED: usize = 200;

/// Runs a call. Dropping the future cancels the tool.
pub(crate) async fn dispatch(
    gateway: &Arc<Gateway>,
    call: &Call,
    progress: &Progress,
    receipt: &ReceiptDraft,
) -> Result<Outcome, Refusal> {
    let entry = &call.entry;
    let deadline = Instant::now() + call.time_limit();
    let run = pin!(answer_memory::counted(&gateway.memory, async {
        // Answers that have not left yet may already take too much; this one would be added to them.
        gateway.memory.check(0)?;
        let admissions = gateway.admission().generation();
        let _turn = entry.gate.enter(&call.caller.name, deadline).await?;
        // The key may have been removed while the call waited for its turn.
        if gateway.admission().generation() != admissions {
            gateway.readmit(&call.caller)?;
        }
        receipt.mark(CallStep::Queue);
        attempts(gateway, call, progress, deadline, receipt).await
    }));
    let span =
        tracing::debug_span!("call", tool = %entry.flat, caller = call.caller.name(), trace = call.trace());
    let answer = if span.is_disabled() { run.await } else { run.instrument(span).await };
    receipt.answered(answer.as_ref());
    if let Ok(Outcome::Failed(error)) = &answer {
        log_failure(call, &error.message);
    }
    answer
}

/// One line for each call whose tool ran and failed: of what it said, only the beginning.
fn log_failure(call: &Call, Message { public, developer }: &Message) {
    let line = public.lines().next().unwrap_or_default();
    let line = &line[..line.floor_char_boundary(MOST_LOGGED)];
    let (tool, caller, developer) = (&*call.entry.flat, call.caller.name(), developer.as_deref());
    let traceparent = call.outgoing_trace().map(|trace| trace.context.traceparent());
    tracing::info!(tool, caller, developer, traceparent, "tool failed: {line}");
}

async fn attempts(
    gateway: &Arc<Gateway>,
    call: &Call,
    progress: &Progress,
    deadline: Instant,
    receipt: &ReceiptDraft,
) -> Result<Outcome, Refusal> {
    let mut retries = Retries::begin(gateway, call, deadline);
    loop {
        let now = match retries.next_call() {
            Ok(now) => now,
            Err(answer) => return answer,
        };
        receipt.attempt();
        let running = within(now.outgoing_trace(), call.entry.mount.source.call(now, progress));
        let running = AssertUnwindSafe(running).catch_unwind();
        let error = match time_limit::until(deadline, running).await {
            Some(Ok(Err(_) | Ok(Outcome::Failed(_)))) if answer_memory::was_dropped() => {
                retries.answered();
                return Ok(Outcome::Failed(dropped(call)));
            }
            Some(Ok(Ok(outcome))) => {
                retries.answered();
                return Ok(outcome);
            }
            Some(Ok(Err(error))) => error,
            Some(Err(_panic)) => {
                receipt.attempt_failed(AttemptError::Panicked);
                return Ok(Outcome::Failed(ToolError::new("The tool failed unexpectedly")));
            }
            // A time limit that passed is not counted by a circuit breaker: callers choose their own limit, and
            // a tool may be slow. If it counted, one caller could have a source refused for everybody.
            None => {
                receipt.attempt_failed(AttemptError::TimedOut);
                return Ok(Outcome::Failed(timed_out(call)));
            }
        };
        receipt.attempt_failed((&error).into());
        // Rare, so it is kept out of the future of every call.
        if let Some(answer) = Box::pin(retries.after(error)).await {
            return answer;
        }
    }
}

/// The tool has been called, so that only one which may be called twice is worth another try.
fn dropped(call: &Call) -> ToolError {
    let text =
        "The server is busy: the answer of the tool did not fit into `limits.memory`; the tool may have run";
    let retry = if call.entry.hints.repeatable() { Retry::After(RETRY_AFTER) } else { Retry::Never };
    ToolError::from(Message::public(text).caused_by(&NoMemory)).retry(retry)
}

fn timed_out(call: &Call) -> ToolError {
    ToolError::new(format!("The tool did not answer within {:?}; it may have run", call.time_limit()))
}
