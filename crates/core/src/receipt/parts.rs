//! What a receipt is made of while it waits to be read. Everything in it is shared, moved or of fixed size, so that a
//! plain call costs no allocation; the text form is made when somebody reads it. It is small, because the newest of all
//! calls are in no cache: each receipt is written to memory once and read from it when it gives way.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::record::{ContentDigest, Receipt, ReceiptId, ReceiptKind, ReceiptOutcome, StepTime};
use super::timestamp::rfc3339;
use crate::metrics::{CallResult, MeasuredCall, TracedValue};
use crate::ports::source::SourceError;
use crate::trace_context::CallSpan;

/// A step of the path, at whose end the time is noted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallStep {
    /// Which tool, whether the caller may have it, and what it requires.
    Resolve,
    /// Arguments against the schema.
    Validate,
    /// The claim of an idempotency key.
    Record,
    /// The wait for a turn.
    Queue,
    /// The source, with retries.
    Run,
}

/// How many steps end with a mark.
const MARKS: usize = 5;
/// The names of the steps: those of [`CallStep`], and what is left after the last of them.
pub(crate) const STEP_NAMES: [&str; MARKS + 1] = ["resolve", "validate", "record", "queue", "run", "finish"];

/// Why an attempt gave no outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AttemptError {
    NotReached = 1,
    Lost = 2,
    Refused = 3,
    WantsToken = 4,
    TimedOut = 5,
    Panicked = 6,
}

impl From<&SourceError> for AttemptError {
    fn from(error: &SourceError) -> Self {
        match error {
            SourceError::NotReached(_) => AttemptError::NotReached,
            SourceError::Lost(_) | SourceError::LostWithRetryAfter { .. } => AttemptError::Lost,
            SourceError::Refused(_) => AttemptError::Refused,
            SourceError::WantsToken(_) => AttemptError::WantsToken,
        }
    }
}

/// The names of [`AttemptError`]s, the first being that of number 1.
pub(crate) const ERROR_NAMES: [&str; 6] =
    ["not_reached", "lost", "refused", "wants_token", "timed_out", "panicked"];
/// How many bits an error takes among those of a call.
pub(super) const ERROR_BITS: u32 = 4;

/// What came of a call.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) verdict: &'static str,
    pub(super) outcome: ReceiptOutcome,
    pub(super) result: Option<ContentDigest>,
}

/// What a receipt is made of.
#[derive(Debug)]
pub(super) struct ReceiptParts {
    pub(super) id: ReceiptId,
    pub(super) kind: ReceiptKind,
    pub(super) caller: Arc<str>,
    pub(super) user: Option<Arc<str>>,
    pub(super) protocol: Cow<'static, str>,
    pub(super) names: Option<Arc<ReceiptNames>>,
    pub(super) call_id: Option<Arc<str>>,
    pub(super) arguments: Option<ContentDigest>,
    /// Absent for most calls.
    pub(super) rare: Option<Box<RareParts>>,
    pub(super) began: Instant,
    /// Microseconds from the beginning to the end of each step; 0 for one that was not taken.
    pub(super) marks: [AtomicU64; MARKS],
    pub(super) attempts: AtomicU32,
    /// [`AttemptError`]s, the last in the lowest bits.
    pub(super) errors: AtomicU64,
    pub(super) repeated: AtomicBool,
    pub(super) ended: OnceLock<Ended>,
    /// Microseconds from the beginning to the last answer.
    pub(super) us: AtomicU64,
    /// It is not to be written.
    pub(super) discarded: AtomicBool,
}

/// What few receipts have.
#[derive(Clone, Debug, Default)]
pub(super) struct RareParts {
    pub(super) method: Option<Box<str>>,
    pub(super) task: Option<Arc<str>>,
    pub(super) trace: Option<Box<str>>,
    pub(super) span: Option<CallSpan>,
    pub(super) argument_values: Option<Box<str>>,
}

/// What receipts call a tool and its source. Those of a tool that is served are made at its first call, and shared by all
/// its receipts.
#[derive(Debug)]
pub(crate) struct ReceiptNames {
    pub(crate) tool: Arc<str>,
    /// Absent for a tool that is not served.
    pub(crate) source: Option<Arc<str>>,
}

/// The verdict on a call that no step refused.
pub(super) const ALLOWED: &str = "allowed";

impl ReceiptParts {
    /// The receipt that people read.
    pub(super) fn receipt(&self) -> Receipt {
        let cancelled = Ended { verdict: ALLOWED, outcome: ReceiptOutcome::Cancelled, result: None };
        let Ended { verdict, outcome, result } = self.ended.get().cloned().unwrap_or(cancelled);
        let us = self.us.load(Ordering::Relaxed);
        let rare = self.rare.as_deref().cloned().unwrap_or_default();
        Receipt {
            id: self.id,
            time: rfc3339(self.id.at()),
            kind: self.kind,
            caller: Arc::clone(&self.caller),
            user: self.user.clone(),
            protocol: self.protocol.clone(),
            tool: self.names.as_ref().map(|names| Arc::clone(&names.tool)).unwrap_or_default(),
            source: self.names.as_ref().and_then(|names| names.source.clone()),
            method: rare.method,
            call_id: self.call_id.clone(),
            task: rare.task,
            verdict: verdict.into(),
            outcome,
            repeated: self.repeated.load(Ordering::Relaxed),
            attempts: self.attempts.load(Ordering::Relaxed),
            errors: self.errors(),
            us,
            steps: self.steps(us),
            arguments: self.arguments,
            result,
            trace: rare.trace,
            span: rare.span,
            argument_values: rare.argument_values,
        }
    }

    fn errors(&self) -> Vec<Cow<'static, str>> {
        self.failed_attempts().map(|error| Cow::Borrowed(ERROR_NAMES[error])).collect()
    }

    /// Why attempts failed, in their order, by the places in [`ERROR_NAMES`].
    fn failed_attempts(&self) -> impl Iterator<Item = usize> + use<> {
        let packed = self.errors.load(Ordering::Relaxed);
        let numbers =
            (0..u64::BITS / ERROR_BITS).rev().map(move |place| packed >> (place * ERROR_BITS) & 0xf);
        // 0 is for places that no error has.
        numbers.filter_map(|number| usize::try_from(number).ok()?.checked_sub(1))
    }

    fn steps(&self, us: u64) -> Vec<StepTime> {
        let taken = STEP_NAMES.iter().zip(self.step_times(us));
        taken.filter_map(|(name, us)| Some(StepTime { step: (*name).into(), us: us? })).collect()
    }

    /// Each step that was taken from the end of the one before it, and what was left after the last.
    fn step_times(&self, us: u64) -> [Option<u64>; MARKS + 1] {
        let (mut before, mut times) = (0, [None; MARKS + 1]);
        for (time, mark) in times.iter_mut().zip(&self.marks) {
            let mark = mark.load(Ordering::Relaxed);
            if mark > 0 {
                *time = Some(mark.saturating_sub(before));
                before = mark;
            }
        }
        times[MARKS] = Some(us.saturating_sub(before));
        times
    }

    /// What metrics count of the call.
    pub(super) fn measured(&self) -> MeasuredCall<'_> {
        let us = self.us.load(Ordering::Relaxed);
        let outcome = self.ended.get().map_or(ReceiptOutcome::Cancelled, |ended| ended.outcome);
        let mut errors = [0; ERROR_NAMES.len()];
        self.failed_attempts().for_each(|error| errors[error] += 1);
        // Only a trace that is exported can be looked at.
        let rare = self.rare.as_deref();
        let traced = rare.and_then(|rare| rare.span);
        let span = traced.filter(|span| span.context.sampled || outcome != ReceiptOutcome::Returned);
        MeasuredCall {
            tool: self.names.as_deref().map(|names| &*names.tool).unwrap_or_default(),
            source: self.names.as_deref().and_then(|names| names.source.as_deref()),
            method: rare.and_then(|rare| rare.method.as_deref()),
            caller: &self.caller,
            protocol: &self.protocol,
            result: match outcome {
                _ if self.repeated.load(Ordering::Relaxed) => CallResult::Repeated,
                ReceiptOutcome::Returned => CallResult::Returned,
                ReceiptOutcome::Failed => CallResult::Failed,
                ReceiptOutcome::Refused => CallResult::Refused,
                ReceiptOutcome::Cancelled => CallResult::Cancelled,
            },
            us,
            steps: self.step_times(us),
            attempts: self.attempts.load(Ordering::Relaxed).into(),
            errors,
            traced: span.map(|span| TracedValue { span: span.context, at: self.id.at() }),
        }
    }
}

pub(super) fn micros_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)
}
