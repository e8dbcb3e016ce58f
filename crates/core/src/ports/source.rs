//! The port that tools come in by.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::call::Call;
use crate::json_text::RawJson;
use crate::message::Message;
use crate::outcome::Outcome;
use crate::ports::figures::SourceFigures;
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::requirements::{Authorization, Grants};
use crate::tool::{Passthrough, Tool};

/// Where tools come from. A source only lists and calls: deadlines, limits, retries and records are the
/// gateway's, and only the gateway can make the [`Call`] that `call` takes.
pub trait Source: Send + Sync {
    /// What there is now. Called at start, after `changed`, and from time to time.
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>>;

    /// Runs a call. Dropping the future cancels it.
    fn call<'a>(
        &'a self,
        call: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>>;

    /// The user's token that every request to the source needs by its own settings, whatever the other side says.
    fn authorization(&self) -> Option<Authorization> {
        None
    }

    /// What the source offers besides tools, in its own protocol's words, as of the last `tools()`. Where each user
    /// has a token of its own, this is only what is the same for all.
    fn offered(&self) -> Passthrough {
        Passthrough::default()
    }

    /// The same for the user whose token is in these grants.
    fn offered_to<'a>(&'a self, _grants: &'a Grants) -> BoxFuture<'a, Result<Passthrough, SourceError>> {
        Box::pin(std::future::ready(Ok(self.offered())))
    }

    /// What [`Source::offered`] gave in an earlier run under the same settings, kept in the store. Told at most once, at any
    /// time: a source that can list by it needs no network for that.
    fn recall(&self, _offered: &Passthrough) {}

    /// Passes on something other than a call, in the words of a protocol that both sides speak, under the token in
    /// these grants where [`Source::authorization`] asks for one. Dropping the future cancels it.
    fn relay<'a>(
        &'a self,
        relay: &'a Relay,
        _grants: &'a Grants,
        _progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Relayed, SourceError>> {
        let message = Message::public(format!("The source does not answer `{}`", relay.method));
        Box::pin(std::future::ready(Err(SourceError::NotReached(message))))
    }

    /// Ends when the list may have changed. The default never does.
    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Which tools a failure says something about, and so whose circuit breaker counts it. The default suits a
    /// source whose tools share one connection or process.
    fn failure_scope(&self) -> FailureScope {
        FailureScope::Source
    }

    /// The rules of admission have changed. `has_left` says of a caller, by its name, whether it is let in no more or
    /// by another key than before: what the source keeps for it is to be released. Must not block.
    fn callers_left(&self, _has_left: &dyn Fn(&str) -> bool) {}

    /// A session of a caller, by its name, has ended: what the source keeps for calls of that session is to be
    /// released. May be said more than once of the same session. Must not block.
    fn session_ended(&self, _caller: &str, _session: &str) {}

    /// What the source uses on this machine. Must not block.
    fn figures(&self) -> SourceFigures {
        SourceFigures::default()
    }

    /// Ends what the source runs: connections, child processes. Calls in flight are over by then.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What a failed call says something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureScope {
    /// Every tool of the source.
    Source,
    /// The called tool alone, which shares nothing with the others.
    Tool,
}

/// Something other than a call that a source is asked.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Whose words these are.
    pub protocol: &'static str,
    /// The name of the caller that asks.
    pub caller: Arc<str>,
    /// What is asked.
    pub method: String,
    /// What it is about, by the source's own name: a prompt, or the address of a resource. The caller's toolsets must hold
    /// it.
    pub item: String,
    /// The caller's trace.
    pub trace: Option<Box<str>>,
    /// Its parameters, as the caller's protocol wrote them.
    pub params: RawJson,
}

/// What a source answers to a relay, as it came: a result, or an error.
pub type Relayed = Result<RawJson, RawJson>;

/// What a source has to offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// Tools that can be called.
    pub tools: Vec<Tool>,
    /// Tools that cannot, each with the reason.
    pub unusable: Vec<(String, String)>,
}

impl Listing {
    /// Forgets the tools beyond a number, so that they take no memory; the first of them is told of.
    pub(crate) fn keep_at_most(&mut self, most: usize) {
        let beyond = self.tools.len().saturating_sub(most);
        let Some(first) = self.tools.get(most) else { return };
        let reason = match beyond {
            1 => format!("the source has more than {most} tools"),
            _ => {
                format!("the source has more than {most} tools; this and {} more are not served", beyond - 1)
            }
        };
        self.unusable.push((first.name.to_string(), reason));
        self.tools.truncate(most);
        self.tools.shrink_to_fit();
    }
}

impl From<Vec<Tool>> for Listing {
    fn from(tools: Vec<Tool>) -> Self {
        Listing { tools, unusable: Vec::new() }
    }
}

/// Why a source gave no outcome. The difference decides whether anybody may try again.
#[derive(Clone, Debug)]
pub enum SourceError {
    /// The tool cannot have run.
    NotReached(Message),
    /// The tool may have run.
    Lost(Message),
    /// The tool may have run, and the other side asks to wait this long before it is asked again.
    LostWithRetryAfter { message: Message, retry_after: Duration },
    /// The other side answered that it did not run the tool.
    Refused(Refusal),
    /// The other side did not run the tool: it wants another token of the user, such as this.
    WantsToken(Authorization),
}

impl SourceError {
    /// The words for it.
    pub fn message(&self) -> Message {
        match self {
            SourceError::NotReached(message)
            | SourceError::Lost(message)
            | SourceError::LostWithRetryAfter { message, .. } => message.clone(),
            SourceError::Refused(refusal) => refusal.message(),
            SourceError::WantsToken(_) => Message::public("The server does not accept the user's token"),
        }
    }
}
