//! The receipt of a call that runs. Dropping it writes it, however the call ended: with what was noted of the answer,
//! or as cancelled.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use sha2::{Digest, Sha256};

use super::log::{ReceiptLog, Shard};
use super::parts::{
    ALLOWED, AttemptError, CallStep, ERROR_BITS, Ended, RareParts, ReceiptNames, ReceiptParts, micros_since,
};
use super::record::{ContentDigest, ReceiptId, ReceiptKind, ReceiptOutcome};
use crate::call::{Caller, Request};
use crate::outcome::Outcome;
use crate::ports::source::{Relay, Relayed};
use crate::refusal::Refusal;
use crate::trace_context::CallSpan;

/// The longest text of a caller that is kept: names and traces may be of any length.
const LONGEST: usize = 256;

/// A receipt that is written when it is dropped.
#[derive(Debug)]
pub(crate) struct ReceiptDraft {
    shard: Arc<Shard>,
    /// Taken out when it is written, or not wanted any more.
    parts: Option<ReceiptParts>,
}

impl ReceiptLog {
    /// Begins a receipt; it is written when the draft is dropped.
    pub(crate) fn begin(&self, kind: ReceiptKind, caller: &Caller) -> ReceiptDraft {
        let shard = self.shard();
        shard.begun();
        let parts = ReceiptParts {
            id: ReceiptId::now(),
            kind,
            caller: Arc::clone(&caller.name),
            user: caller.user.clone(),
            protocol: Cow::Borrowed(""),
            names: None,
            call_id: None,
            arguments: None,
            rare: None,
            began: Instant::now(),
            marks: Default::default(),
            attempts: AtomicU32::new(0),
            errors: AtomicU64::new(0),
            repeated: AtomicBool::new(false),
            ended: OnceLock::new(),
            us: AtomicU64::new(0),
            discarded: AtomicBool::new(false),
        };
        ReceiptDraft { shard: Arc::clone(shard), parts: Some(parts) }
    }
}

impl ReceiptDraft {
    /// What the caller asked for.
    pub(crate) fn of_request(mut self, request: &Request) -> Self {
        self.change(|parts| {
            if let Some(user) = &request.grants.user_id {
                parts.user = Some(cut(user).into());
            }
            parts.protocol.clone_from(&request.protocol);
            // Shared as it is, unless the protocol takes ids of any length.
            parts.call_id = request.id.as_ref().map(|id| match id.len() {
                ..=LONGEST => Arc::clone(id),
                _ => cut(id).into(),
            });
            if request.trace.is_some() || request.span.is_some() {
                let trace = request.trace.as_deref().map(|trace| cut(trace).into());
                parts.rare = Some(Box::new(RareParts { trace, span: request.span, ..RareParts::default() }));
            }
            parts.arguments = Some(digest([request.arguments.text().get()]));
        });
        self
    }

    /// The same for what is not a call.
    pub(crate) fn of_relay(mut self, source: &str, relay: &Relay) -> Self {
        self.change(|parts| {
            parts.protocol = Cow::Borrowed(relay.protocol);
            let names = ReceiptNames { tool: cut(&relay.item).into(), source: Some(source.into()) };
            parts.names = Some(Arc::new(names));
            parts.arguments = Some(digest([relay.params.get()]));
        });
        self.rare(|rare| {
            rare.method = Some(cut(&relay.method).into());
            rare.trace = relay.trace.as_deref().map(|trace| cut(trace).into());
        });
        self
    }

    /// The tool, once it is known which one is meant.
    pub(crate) fn found(&mut self, names: &Arc<ReceiptNames>) {
        self.change(|parts| parts.names = Some(Arc::clone(names)));
    }

    /// The tool as the caller wrote it, when there is none for the caller.
    pub(crate) fn not_found(&mut self, tool: &str) {
        let names = ReceiptNames { tool: cut(tool).into(), source: None };
        self.change(|parts| parts.names = Some(Arc::new(names)));
    }

    /// The span of what is not a call.
    pub(crate) fn traced(&mut self, span: Option<CallSpan>) {
        if span.is_some() {
            self.rare(|rare| rare.span = span);
        }
    }

    pub(crate) fn span(&self) -> Option<CallSpan> {
        self.parts.as_ref()?.rare.as_ref()?.span
    }

    pub(crate) fn runs_as(&mut self, task: &str) {
        self.rare(|rare| rare.task = Some(task.into()));
    }

    pub(crate) fn keep_arguments(&mut self, values: Box<str>) {
        self.rare(|rare| rare.argument_values = Some(values));
    }

    fn rare(&mut self, change: impl FnOnce(&mut RareParts)) {
        self.change(|parts| change(parts.rare.get_or_insert_default()));
    }

    fn change(&mut self, change: impl FnOnce(&mut ReceiptParts)) {
        if let Some(parts) = &mut self.parts {
            change(parts);
        }
    }

    /// Notes that a step has ended now.
    pub(crate) fn mark(&self, step: CallStep) {
        if let Some(parts) = &self.parts {
            // At least 1: 0 is for steps that were not taken.
            parts.marks[step as usize].store(micros_since(parts.began).max(1), Ordering::Relaxed);
        }
    }

    pub(crate) fn attempt(&self) {
        if let Some(parts) = &self.parts {
            parts.attempts.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Attempts of one call come one after the other, so that none is lost between the two operations.
    pub(crate) fn attempt_failed(&self, error: AttemptError) {
        if let Some(parts) = &self.parts {
            let before = parts.errors.load(Ordering::Relaxed);
            parts.errors.store(before << ERROR_BITS | error as u64, Ordering::Relaxed);
        }
    }

    /// The ledger has the answer of an earlier call.
    pub(crate) fn repeats(&self) {
        if let Some(parts) = &self.parts {
            parts.repeated.store(true, Ordering::Relaxed);
        }
    }

    /// Notes what came of it. The first answer counts: it is the one of the tool.
    pub(crate) fn answered(&self, answer: Result<&Outcome, &Refusal>) {
        self.end(|| match answer {
            Ok(outcome) => {
                let ended = match outcome {
                    Outcome::Returned(_) => ReceiptOutcome::Returned,
                    Outcome::Failed(_) => ReceiptOutcome::Failed,
                };
                Ended { verdict: ALLOWED, outcome: ended, result: Some(outcome_digest(outcome)) }
            }
            Err(refusal) => Ended { verdict: refusal.name(), outcome: ReceiptOutcome::Refused, result: None },
        });
    }

    /// The same for what a source answered to something else than a call: a result or an error.
    pub(crate) fn relayed(&self, answer: &Relayed) {
        self.end(|| {
            let (outcome, text) = match answer {
                Ok(text) => (ReceiptOutcome::Returned, text),
                Err(text) => (ReceiptOutcome::Failed, text),
            };
            Ended { verdict: ALLOWED, outcome, result: Some(digest([text.get()])) }
        });
    }

    /// The end of the last step that was taken is the time of the last answer, so that a plain call takes the clock once.
    fn end(&self, ended: impl FnOnce() -> Ended) {
        let Some(parts) = &self.parts else { return };
        let now = micros_since(parts.began).max(1);
        parts.ended.get_or_init(|| {
            if parts.attempts.load(Ordering::Relaxed) > 0 {
                parts.marks[CallStep::Run as usize].store(now, Ordering::Relaxed);
            }
            ended()
        });
        parts.us.store(now, Ordering::Relaxed);
    }

    /// Writes nothing: another receipt is about the same call.
    pub(crate) fn discard(&self) {
        if let Some(parts) = &self.parts {
            parts.discarded.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for ReceiptDraft {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take() else { return };
        if parts.discarded.load(Ordering::Relaxed) {
            return self.shard.not_begun();
        }
        if parts.ended.get().is_none() {
            parts.us.store(micros_since(parts.began).max(1), Ordering::Relaxed);
        }
        self.shard.push(parts);
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> ContentDigest {
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    for text in texts {
        hash.update(text.as_bytes());
        bytes += text.len() as u64;
    }
    ContentDigest { sha256: hash.finalize().into(), bytes }
}

/// Of the value and the content blocks, or of the words and content blocks of a failure.
fn outcome_digest(outcome: &Outcome) -> ContentDigest {
    let (text, content) = match outcome {
        Outcome::Returned(output) => (output.value.get(), &output.content),
        Outcome::Failed(error) => (error.message.public.as_str(), &error.content),
    };
    digest(std::iter::once(text).chain(content.iter().map(|block| block.json().get())))
}
