//! Runs a call: deadline, turns, breaker, retries, span and metrics, here and nowhere else.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::Instrument;

use super::{Gateway, require};
use crate::call::Call;
use crate::message::Message;
use crate::metrics::ToolMetrics;
use crate::outcome::{Outcome, ToolError};
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::requirements::Authorization;
use crate::source::SourceError;

/// How often a call is tried when its source was not reached.
const ATTEMPTS: u32 = 3;
/// The pause before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs a call. Dropping the future cancels the tool.
pub(super) async fn dispatch(
    gateway: &Arc<Gateway>,
    call: &Call,
    progress: &Progress,
) -> Result<Outcome, Refusal> {
    let entry = &call.entry;
    let metrics = entry.metrics.get_or_init(|| gateway.metrics.of_tool(&entry.flat));
    let started = Instant::now();
    let deadline = started + call.time_limit();
    let running = Running::begin(metrics);
    let run = pin!(async {
        let _turn = entry.gate.enter(deadline).await?;
        attempts(gateway, call, progress, deadline).await
    });
    let span =
        tracing::debug_span!("call", tool = %entry.flat, caller = call.caller.name(), trace = call.trace());
    let answer = if span.is_disabled() { run.await } else { run.instrument(span).await };
    drop(running);
    count(metrics, &answer, started.elapsed());
    if let Ok(Outcome::Failed(ToolError {
        message: Message { public, developer: Some(developer) }, ..
    })) = &answer
    {
        tracing::info!(tool = %entry.flat, developer, "tool failed: {public}");
    }
    answer
}

async fn attempts(
    gateway: &Arc<Gateway>,
    call: &Call,
    progress: &Progress,
    deadline: Instant,
) -> Result<Outcome, Refusal> {
    let mut attempt = 1;
    // Rare, so it is kept out of the way of every call.
    let mut with_other_token: Option<Box<Call>> = None;
    loop {
        let breaker = &call.entry.mount.breaker;
        breaker.check(&gateway.settings.load().limits).map_err(|rest| resting(call, rest))?;
        let now = with_other_token.as_deref().unwrap_or(call);
        let running = AssertUnwindSafe(call.entry.mount.source.call(now, progress)).catch_unwind();
        let error = match timeout_at(deadline, running).await {
            Ok(Ok(Ok(outcome))) => {
                breaker.succeeded();
                return Ok(outcome);
            }
            Ok(Ok(Err(SourceError::Refused(refusal)))) => return Err(refusal),
            Ok(Ok(Err(SourceError::WantsToken(needed)))) => {
                let other = Box::pin(other_token(gateway, now, &needed, deadline)).await?;
                if with_other_token.is_some() {
                    return give_up(SourceError::WantsToken(needed));
                }
                with_other_token = Some(Box::new(other));
                continue;
            }
            Ok(Ok(Err(error))) => error,
            Ok(Err(_panic)) => return Ok(Outcome::Failed(ToolError::new("The tool failed unexpectedly"))),
            Err(_elapsed) => {
                breaker.failed(&gateway.settings.load().limits);
                return Ok(Outcome::Failed(timed_out(call)));
            }
        };
        breaker.failed(&gateway.settings.load().limits);
        let pause = PAUSE * 2u32.pow(attempt - 1);
        if attempt == ATTEMPTS || !may_repeat(call, &error) || Instant::now() + pause >= deadline {
            return give_up(error);
        }
        sleep(pause).await;
        attempt += 1;
    }
}

/// The same call with the token that its source wants, or where the user can allow it.
async fn other_token(
    gateway: &Arc<Gateway>,
    call: &Call,
    needed: &Authorization,
    deadline: Instant,
) -> Result<Call, Refusal> {
    let settings = gateway.settings.load_full();
    let asking = require::other_token(&settings, &call.caller, &call.request.grants, needed);
    let grants = timeout_at(deadline, asking).await.map_err(|_| Refusal::Unavailable {
        message: Message::public("The user's token was not renewed in time"),
        retry_after: None,
    })??;
    let mut call = call.clone();
    call.request.grants = grants;
    Ok(call)
}

fn may_repeat(call: &Call, error: &SourceError) -> bool {
    match error {
        SourceError::NotReached(_) => true,
        SourceError::Lost(_) => call.entry.hints.repeatable(),
        SourceError::Refused(_) | SourceError::WantsToken(_) => false,
    }
}

fn give_up(error: SourceError) -> Result<Outcome, Refusal> {
    let message = error.message();
    match error {
        SourceError::NotReached(_) | SourceError::WantsToken(_) => {
            Err(Refusal::Unavailable { message, retry_after: None })
        }
        SourceError::Refused(refusal) => Err(refusal),
        SourceError::Lost(Message { public, developer }) => {
            let public = format!("{public}; the tool may have run");
            Ok(Outcome::Failed(Message { public, developer }.into()))
        }
    }
}

fn timed_out(call: &Call) -> ToolError {
    ToolError::new(format!("The tool did not answer within {:?}; it may have run", call.time_limit()))
}

fn resting(call: &Call, rest: Duration) -> Refusal {
    let name = &call.entry.mount.name;
    Refusal::Unavailable {
        message: Message::public(format!(
            "Source `{name}` failed several times in a row and is given a rest"
        )),
        retry_after: Some(rest),
    }
}

fn count(metrics: &ToolMetrics, answer: &Result<Outcome, Refusal>, took: Duration) {
    match answer {
        Ok(Outcome::Returned(_)) => metrics.returned.inc(),
        Ok(Outcome::Failed(_)) => metrics.failed.inc(),
        Err(_) => metrics.refused.inc(),
    }
    metrics.seconds.observe(took.as_secs_f64());
}

/// Counts a running call until it is dropped, however that comes.
struct Running<'a>(&'a ToolMetrics);

impl<'a> Running<'a> {
    fn begin(metrics: &'a ToolMetrics) -> Self {
        metrics.running.inc();
        Running(metrics)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.dec();
    }
}
