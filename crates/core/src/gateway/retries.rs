//! Whether a call that its source did not answer with an outcome is sent again, and when; and what the circuit
//! breakers learn from it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::{Gateway, require};
use crate::call::Call;
use crate::catalog::Entry;
use crate::delivery::fill;
use crate::limits::Limits;
use crate::message::Message;
use crate::outcome::{Outcome, Retry, ToolError};
use crate::ports::source::{FailureScope, SourceError};
use crate::refusal::Refusal;
use crate::requirements::Authorization;
use crate::sources::{Counted, Since};

/// How often a call is tried when its source was not reached.
const ATTEMPTS: u32 = 3;
/// The pause before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest time that a call waits because its source says that it is busy, or asks to wait; then it is sent once
/// more. A longer one is for the caller to wait.
const LONGEST_BUSY_WAIT: Duration = Duration::from_secs(2);

/// The attempts of one call.
pub(super) struct Retries<'a> {
    gateway: &'a Arc<Gateway>,
    call: &'a Call,
    deadline: Instant,
    breakers: Breakers<'a>,
    attempt: u32,
    was_busy: bool,
    // Both are rare and on the heap, so that they cost a call that needs neither next to nothing.
    with_other_token: Option<Box<Call>>,
    lost: Option<Box<SourceError>>,
}

/// What to do after an attempt without an outcome.
enum Next {
    Again,
    GiveUp,
}

impl<'a> Retries<'a> {
    pub(super) fn begin(gateway: &'a Arc<Gateway>, call: &'a Call, deadline: Instant) -> Self {
        Retries {
            gateway,
            call,
            deadline,
            breakers: Breakers::begin(call),
            attempt: 1,
            was_busy: false,
            with_other_token: None,
            lost: None,
        }
    }

    /// The call as it is sent now; or what to answer while a circuit breaker is open.
    pub(super) fn next_call(&self) -> Result<&Call, Result<Outcome, Refusal>> {
        match self.breakers.check(&self.gateway.settings.load().limits) {
            Ok(()) => Ok(self.with_other_token.as_deref().unwrap_or(self.call)),
            Err(refusal) => Err(self.give_up(SourceError::Refused(refusal))),
        }
    }

    /// The source answered with an outcome.
    pub(super) fn answered(&self) {
        self.breakers.answered();
    }

    /// Waits until the call may be sent again, which `None` says; otherwise gives what to answer.
    pub(super) async fn after(&mut self, error: SourceError) -> Option<Result<Outcome, Refusal>> {
        self.breakers.count(&error, &self.gateway.settings.load().limits);
        match self.prepare(&error).await {
            Ok(Next::Again) => {
                if matches!(error, SourceError::Lost(_) | SourceError::LostWithRetryAfter { .. }) {
                    self.lost = Some(Box::new(error));
                }
                None
            }
            Ok(Next::GiveUp) => Some(self.give_up(error)),
            Err(refusal) => Some(self.give_up(SourceError::Refused(refusal))),
        }
    }

    async fn prepare(&mut self, error: &SourceError) -> Result<Next, Refusal> {
        let pause = match error {
            SourceError::WantsToken(needed) => {
                let other = self.other_token(needed).await?;
                let is_first = self.with_other_token.replace(Box::new(other)).is_none();
                return Ok(if is_first { Next::Again } else { Next::GiveUp });
            }
            SourceError::Refused(Refusal::Busy { retry_after, .. })
                if !self.was_busy && *retry_after <= LONGEST_BUSY_WAIT =>
            {
                self.was_busy = true;
                PAUSE.max(*retry_after)
            }
            SourceError::LostWithRetryAfter { retry_after, .. } => {
                if self.was_busy || *retry_after > LONGEST_BUSY_WAIT || !self.may_repeat(error) {
                    return Ok(Next::GiveUp);
                }
                self.was_busy = true;
                PAUSE.max(*retry_after)
            }
            error if self.attempt < ATTEMPTS && self.may_repeat(error) => {
                self.attempt += 1;
                PAUSE * 2u32.pow(self.attempt - 2)
            }
            _ => return Ok(Next::GiveUp),
        };
        if Instant::now() + pause >= self.deadline {
            return Ok(Next::GiveUp);
        }
        sleep(pause).await;
        Ok(Next::Again)
    }

    /// The same call with the token that its source wants, or where the user can allow it.
    async fn other_token(&self, needed: &Authorization) -> Result<Call, Refusal> {
        let call = self.with_other_token.as_deref().unwrap_or(self.call);
        if !call.entry.may_have_token(&needed.id) {
            return Err(require::not_given(needed));
        }
        let settings = self.gateway.settings.load_full();
        let tool = require::needed_by(&call.entry);
        let asking = require::other_token(&settings, &call.caller, &call.request.grants, needed, &tool);
        let grants = timeout_at(self.deadline, asking).await.map_err(|_| Refusal::Unavailable {
            message: Message::public("The user's token was not renewed in time"),
            retry_after: None,
        })??;
        let mut call = call.clone();
        call.request.grants = grants;
        // Where the token is delivered as an argument, the arguments hold the one that was turned down.
        let Entry { fixed, deliver, .. } = &*call.entry;
        call.filled = fill(fixed, deliver, &call.request.arguments, &call.request.grants);
        Ok(call)
    }

    fn may_repeat(&self, error: &SourceError) -> bool {
        match error {
            SourceError::NotReached(_) => true,
            SourceError::Lost(_) | SourceError::LostWithRetryAfter { .. } => {
                self.call.entry.hints.repeatable()
            }
            SourceError::Refused(_) | SourceError::WantsToken(_) => false,
        }
    }

    /// The last answer. A refusal promises that the tool did not run, so an earlier attempt that may have run
    /// is what counts.
    fn give_up(&self, error: SourceError) -> Result<Outcome, Refusal> {
        let error = self.lost.as_deref().cloned().unwrap_or(error);
        let message = error.message();
        match error {
            SourceError::NotReached(_) | SourceError::WantsToken(_) => {
                Err(Refusal::Unavailable { message, retry_after: None })
            }
            SourceError::Refused(refusal) => Err(refusal),
            SourceError::Lost(message) => Ok(Outcome::Failed(may_have_run(message))),
            SourceError::LostWithRetryAfter { message, retry_after } => {
                // Whoever is told when to try again does so, which only some tools allow.
                let is_repeatable = self.call.entry.hints.repeatable();
                let retry = if is_repeatable { Retry::After(retry_after) } else { Retry::Never };
                Ok(Outcome::Failed(may_have_run(message).retry(retry)))
            }
        }
    }
}

fn may_have_run(Message { public, developer }: Message) -> ToolError {
    Message { public: format!("{public}; the tool may have run"), developer }.into()
}

/// The circuit breakers of a call: that of its source, and that of its tool. Which one counts a failure is the
/// source's to say.
struct Breakers<'a> {
    call: &'a Call,
    /// As of the beginning of the call, so that its retries count once.
    source: Since,
    tool: Since,
}

impl<'a> Breakers<'a> {
    fn begin(call: &'a Call) -> Self {
        Breakers { call, source: call.entry.mount.breaker.begin(), tool: call.entry.breaker.begin() }
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        let Call { entry, .. } = self.call;
        entry.mount.breaker.check(limits).map_err(|wait| is_open("source", &entry.mount.name, wait))?;
        entry.breaker.check(limits).map_err(|wait| is_open("tool", &entry.flat, wait))
    }

    fn answered(&self) {
        self.call.entry.mount.breaker.answered();
        self.call.entry.breaker.answered();
    }

    /// Counts what may be a failure. A source that refuses has answered.
    fn count(&self, error: &SourceError, limits: &Limits) {
        let Call { entry, .. } = self.call;
        let (what, name, counted) = match (error, entry.mount.source.failure_scope()) {
            // Our own fault says nothing of the source.
            (SourceError::Refused(Refusal::Internal(_)), _) => return,
            (SourceError::Refused(_) | SourceError::WantsToken(_), _) => return self.answered(),
            (_, FailureScope::Source) => {
                ("source", &*entry.mount.name, entry.mount.breaker.failed(self.source, limits))
            }
            (_, FailureScope::Tool) => ("tool", &*entry.flat, entry.breaker.failed(self.tool, limits)),
        };
        if counted == Counted::Opened {
            let failures = limits.breaker_failures;
            tracing::warn!(failures, "the circuit breaker of {what} `{name}` opens");
        }
    }
}

/// The refusal while a circuit breaker is open.
pub(super) fn is_open(what: &str, name: &str, wait: Duration) -> Refusal {
    let message = format!("The circuit breaker of {what} `{name}` is open because its last calls failed");
    Refusal::Unavailable { message: Message::public(message), retry_after: Some(wait) }
}
