//! What callers ask of sources that is not a call of a tool: prompts, resources, completions, subscriptions. Passed on in
//! the words of a protocol that both sides speak, on the same path as calls: permitted by toolset, limited, under the
//! token of the caller's own user, counted and audited.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, timeout_at};

use super::relay_tokens::RelayTokens;
use super::retries::is_open;
use super::{Gateway, Relays};
use crate::answer_memory::{self, NoMemory};
use crate::call::Caller;
use crate::limits::Limits;
use crate::memory_budget::RETRY_AFTER;
use crate::message::Message;
use crate::ports::source::{Relay, Relayed, SourceError};
use crate::progress::Progress;
use crate::receipt::{CallStep, ReceiptDraft};
use crate::refusal::Refusal;
use crate::sources::Mount;
use crate::trace_context::{OutgoingTrace, within};

impl Relays<'_> {
    /// Asks a source for something other than a call, under the token of the caller's own user where the source
    /// needs one. Dropping the future cancels it.
    pub async fn send(
        self,
        caller: &Caller,
        source: &str,
        relay: &Relay,
        progress: &Progress,
    ) -> Result<Relayed, Refusal> {
        self.pass_on(caller, (source, relay), progress, Lasting::No).await
    }

    /// The same for what lasts, such as following a resource. It has no time limit and takes no turn: it would keep the
    /// turn for as long as its caller stays, and leave none to those who read. How much a caller follows is bounded by
    /// its protocol. A source is closed without waiting for it.
    pub async fn listen(
        self,
        caller: &Caller,
        source: &str,
        relay: &Relay,
        progress: &Progress,
    ) -> Result<Relayed, Refusal> {
        self.pass_on(caller, (source, relay), progress, Lasting::Yes).await
    }

    async fn pass_on(
        self,
        caller: &Caller,
        (source, relay): (&str, &Relay),
        progress: &Progress,
        lasting: Lasting,
    ) -> Result<Relayed, Refusal> {
        let gateway = self.0;
        let receipt = gateway.relay_receipt(caller, source, relay);
        let answer = async {
            // Read before the caller is permitted: a change of the rules that comes while the request waits is noticed,
            // and whoever is no longer admitted is refused before the source is asked.
            let admissions = gateway.admission().generation();
            let mount = gateway.permitted_source(caller, source, &relay.item)?;
            gateway.wait_for_mount(&mount).await?;
            receipt.mark(CallStep::Resolve);
            let relaying = Relaying { gateway, caller, mount: &mount, relay, admissions, receipt: &receipt };
            match lasting {
                Lasting::No => {
                    // A source is closed only after this token is dropped.
                    let _in_flight = mount.calls.token();
                    relaying.limited(progress).await
                }
                Lasting::Yes => relaying.unlimited(progress).await,
            }
        };
        gateway.relayed(&receipt, answer.await)
    }

    /// Whether the caller could ask a source about `item`: a challenge when its user must allow a token first.
    pub async fn check(self, caller: &Caller, source: &str, item: &str) -> Result<(), Refusal> {
        let gateway = self.0;
        let checked = async {
            let mount = gateway.permitted_source(caller, source, item)?;
            let tokens = RelayTokens::get(gateway, caller, &mount).await.map(drop);
            tokens.inspect_err(|refusal| gateway.audit_item(caller, &mount, item, refusal))
        };
        checked.await.inspect_err(|refusal| gateway.refused(refusal))
    }
}

impl Gateway {
    /// The source of this name, if the caller's toolsets hold `item` of it. Asked before anything waits: how long an answer
    /// takes must not tell that something exists.
    fn permitted_source(
        self: &Arc<Self>,
        caller: &Caller,
        source: &str,
        item: &str,
    ) -> Result<Arc<Mount>, Refusal> {
        let mount = self.sources.find(source).ok_or_else(|| Refusal::Unavailable {
            message: Message::public(format!("There is no source `{source}`")),
            retry_after: None,
        })?;
        if self.sources.rules().permits(caller, &mount.toolkit, item) {
            return Ok(mount);
        }
        let refusal = Refusal::NotPermitted { tool: item.to_owned(), nearest: None };
        self.audit_item(caller, &mount, item, &refusal);
        Err(refusal)
    }

    fn audit_item(self: &Arc<Self>, caller: &Caller, mount: &Mount, item: &str, refusal: &Refusal) {
        self.audit_refusal(caller, &format!("{}.{item}", mount.toolkit), refusal);
    }
}

/// Whether a request lasts until its caller leaves.
#[derive(Clone, Copy)]
enum Lasting {
    No,
    Yes,
}

/// One request on its way to a source.
struct Relaying<'a> {
    gateway: &'a Arc<Gateway>,
    caller: &'a Caller,
    mount: &'a Arc<Mount>,
    relay: &'a Relay,
    /// [`AdmissionView::generation`](super::AdmissionView::generation) when the caller was permitted.
    admissions: u64,
    receipt: &'a ReceiptDraft,
}

impl Relaying<'_> {
    /// Under the limits of a call: memory, a turn, the circuit breaker of the source and the time limit.
    async fn limited(&self, progress: &Progress) -> Result<Relayed, Refusal> {
        let (gateway, limits) = (self.gateway, self.gateway.limits());
        let deadline = Instant::now() + limits.call_timeout;
        let run = async {
            gateway.memory.check(0)?;
            let gate = self.mount.relay_gate(&limits);
            let _turn = gate.enter(&self.caller.name, deadline).await?;
            self.check_admission()?;
            self.receipt.mark(CallStep::Queue);
            self.attempt(progress, &limits, deadline).await
        };
        answer_memory::counted(&gateway.memory, run).await
    }

    /// A token that is missing is not audited here: whoever follows asks again and again by itself, and was told so by
    /// [`Relays::check`] before.
    async fn unlimited(&self, progress: &Progress) -> Result<Relayed, Refusal> {
        self.check_admission()?;
        let answer = self.ask(progress).await?;
        answer.map_err(|error| unavailable(error.message()))
    }

    /// The key of the caller may have been removed, or given another toolset, while the request waited.
    fn check_admission(&self) -> Result<(), Refusal> {
        if self.gateway.admission().generation() == self.admissions {
            return Ok(());
        }
        let caller = self.gateway.readmit(self.caller)?;
        self.gateway.permitted_source(&caller, &self.mount.name, &self.relay.item).map(drop)
    }

    async fn attempt(
        &self,
        progress: &Progress,
        limits: &Limits,
        deadline: Instant,
    ) -> Result<Relayed, Refusal> {
        let Mount { breaker, name, .. } = &**self.mount;
        breaker.check(limits).map_err(|wait| is_open("source", name, wait))?;
        let since = breaker.begin();
        let asking = AssertUnwindSafe(self.ask(progress)).catch_unwind();
        let error = match timeout_at(deadline, asking).await {
            Ok(Ok(Ok(Ok(answer)))) => {
                breaker.answered();
                return Ok(answer);
            }
            // For want of a token: before the source was asked, or because it turned one down.
            Ok(Ok(Err(refusal))) => {
                self.gateway.audit_item(self.caller, self.mount, &self.relay.item, &refusal);
                return Err(refusal);
            }
            Ok(Ok(Ok(Err(error)))) => error,
            Ok(Err(_panic)) => return Err(panicked()),
            // As for calls, a time limit that passed is no failure of the source.
            Err(_elapsed) => return Err(timed_out(limits.call_timeout)),
        };
        match error {
            // The source answered, and there was no room for what it said.
            _ if answer_memory::was_dropped() => {
                breaker.answered();
                Err(no_memory())
            }
            SourceError::Refused(refusal) => {
                breaker.answered();
                Err(refusal)
            }
            SourceError::WantsToken(_) => {
                breaker.answered();
                Err(unavailable(error.message()))
            }
            SourceError::NotReached(_) | SourceError::Lost(_) => {
                breaker.failed(since, limits);
                Err(unavailable(error.message()))
            }
            SourceError::LostWithRetryAfter { message, retry_after } => {
                breaker.failed(since, limits);
                Err(Refusal::Unavailable { message, retry_after: Some(retry_after) })
            }
        }
    }

    async fn ask(&self, progress: &Progress) -> Result<Result<Relayed, SourceError>, Refusal> {
        let mut tokens = RelayTokens::get(self.gateway, self.caller, self.mount).await?;
        loop {
            self.receipt.attempt();
            let trace = self.receipt.span().map(|span| OutgoingTrace::of(&span, None));
            let answer = within(trace, self.mount.source.relay(self.relay, &tokens.grants, progress)).await;
            match answer.inspect_err(|error| self.receipt.attempt_failed(error.into())) {
                Err(error) if tokens.renewed_after(&error).await? => {}
                answer => return Ok(answer),
            }
        }
    }
}

fn unavailable(message: Message) -> Refusal {
    Refusal::Unavailable { message, retry_after: None }
}

fn timed_out(limit: Duration) -> Refusal {
    unavailable(Message::public(format!("The source did not answer within {limit:?}")))
}

fn no_memory() -> Refusal {
    let text = "The server is busy: the answer of the source did not fit into `limits.memory`";
    Refusal::Busy { message: Message::public(text).caused_by(&NoMemory), retry_after: RETRY_AFTER }
}

fn panicked() -> Refusal {
    Refusal::Internal(Message::public("The source failed unexpectedly"))
}
