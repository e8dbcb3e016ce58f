//! A request, which anybody may make, and a call, which only the gateway can.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::BoxFuture;
use crate::arguments::Arguments;
use crate::catalog::{Catalog, Entry};
use crate::delivery::{Filled, Place, find};
use crate::names::ToolRef;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::requirements::Grants;
use crate::secret::Secret;
use crate::task::TaskId;
use crate::tool::Passthrough;
use crate::trace_context::{CallSpan, OutgoingTrace};

/// The id a caller gives a call, and by that its idempotency key.
pub type CallId = Arc<str>;

/// Who asks. Made by [`crate::gateway::Gateway::admit`], and for a task that was stored read back by `tasks/`; by nobody
/// else, so that it cannot be read from anything that comes from outside.
///
/// ```compile_fail
/// let forged: toolmux_core::call::Caller = serde_json::from_str(r#"{"name":"root","toolsets":[null,null]}"#).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub(crate) name: Arc<str>,
    pub(crate) user: Option<Arc<str>>,
    /// The toolset of the caller's key, and the one of the address asked.
    pub(crate) toolsets: [Option<Arc<str>>; 2],
    /// For a caller by token: for which other users than its own it may act; `*` stands for all.
    pub(crate) act_as: Option<Arc<[String]>>,
}

impl Caller {
    /// True when the caller may act for a user. A key stands for a program that knows its users; a token stands for
    /// its subject, and names others if it is good for them.
    pub(crate) fn may_act_for(&self, user: &str) -> bool {
        let others = || match &self.act_as {
            Some(named) => named.iter().any(|named| named == "*" || named == user),
            None => self.user.is_none(),
        };
        self.user.as_deref() == Some(user) || others()
    }

    /// The name of the key, or the subject of the token.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same, to be kept.
    pub fn shared_name(&self) -> &Arc<str> {
        &self.name
    }

    /// The subject of the token that the caller showed; absent for a key.
    pub fn subject(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// True when a toolset limits this caller, who may then neither see nor steer the server as a whole.
    pub fn is_limited(&self) -> bool {
        self.toolsets().next().is_some()
    }

    /// The toolsets that limit this caller; no tool outside any of them exists for it.
    pub fn toolsets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.toolsets.iter().flatten()
    }
}

/// Until when the record of a call is kept, at the latest: told to whoever asked for the call, once the record is there.
#[derive(Clone, Debug, Default)]
pub struct KeptUntil(Arc<OnceLock<SystemTime>>);

impl KeptUntil {
    /// Absent for a call of which nothing is kept.
    pub fn get(&self) -> Option<SystemTime> {
        self.0.get().copied()
    }

    pub(crate) fn set(&self, until: SystemTime) {
        // A call has one record; of a call that is begun again the first answer counts.
        self.0.set(until).ok();
    }
}

/// An untrusted wish to call.
#[derive(Clone, Debug)]
pub struct Request {
    /// Given by the caller: the same again is the same call.
    pub id: Option<CallId>,
    /// Told until when the call is kept under this id.
    pub kept_until: Option<KeptUntil>,
    /// The tool that is asked for.
    pub tool: ToolRef,
    /// The arguments, not validated yet.
    pub arguments: Arguments,
    /// Credentials for the tool.
    pub grants: Grants,
    /// The caller's trace.
    pub trace: Option<Box<str>>,
    /// The `tracestate` that came with it.
    pub trace_state: Option<Box<str>>,
    /// The span of the call, once it has one: given by the gateway, kept by tasks.
    pub span: Option<CallSpan>,
    /// How long the caller is willing to wait, when less than the tool's own limit.
    pub patience: Option<Duration>,
    /// The caller answers questions of a tool that runs as a task, where it follows the task.
    pub answers: bool,
    /// The session it came by, for protocols that have sessions. It says nothing about who asks: what a call keeps
    /// open belongs to its caller, and is released when the session ends.
    pub session: Option<Arc<str>>,
    /// The protocol it came by, for the record; empty for what the program asks by itself.
    pub protocol: Cow<'static, str>,
    /// What only the protocol it came by can say.
    pub extra: Passthrough,
}

impl Request {
    /// A request without anything special.
    pub fn new(tool: ToolRef, arguments: Arguments) -> Self {
        Request {
            id: None,
            kept_until: None,
            tool,
            arguments,
            grants: Grants::default(),
            trace: None,
            trace_state: None,
            span: None,
            patience: None,
            answers: false,
            session: None,
            protocol: Cow::Borrowed(""),
            extra: Passthrough::default(),
        }
    }
}

/// A request that passed every check.
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) entry: Arc<Entry>,
    pub(crate) request: Request,
    pub(crate) caller: Caller,
    pub(crate) nested: NestedCalls,
    /// As long as there is one, the source is not closed.
    #[expect(dead_code, reason = "held for its drop")]
    pub(crate) in_flight: TaskTrackerToken,
    /// The task that is the record of this call, so that the ledger needs no other.
    pub(crate) task: Option<TaskId>,
    /// The arguments with credentials among them, when some are delivered that way.
    pub(crate) filled: Option<Filled>,
}

impl Call {
    /// Tells whoever asked until when the record of the call is kept.
    pub(crate) fn tell_kept_until(&self, until: SystemTime) {
        if let Some(kept_until) = &self.request.kept_until {
            kept_until.set(until);
        }
    }

    /// The id the caller gave.
    pub fn id(&self) -> Option<&str> {
        self.request.id.as_deref()
    }

    /// The tool, as the catalogue serves it.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// The name the source knows the tool by.
    pub fn tool_name(&self) -> &str {
        &self.entry.tool.name
    }

    /// Arguments that fit the tool's schema, with the credentials that are delivered as arguments.
    pub fn arguments(&self) -> &Arguments {
        self.filled.as_ref().map_or(&self.request.arguments, |filled| &filled.0)
    }

    /// Arguments as the caller gave them.
    pub fn given(&self) -> &Arguments {
        &self.request.arguments
    }

    /// Credentials that go into headers of a request to the source: names and values.
    pub fn headers(&self) -> impl Iterator<Item = (&str, Secret)> {
        self.entry.deliver.iter().filter_map(|delivery| match &delivery.place {
            Place::Header { name, prefix } => {
                let secret = find(self.grants(), &delivery.grant)?;
                Some((name.as_str(), Secret::new(format!("{prefix}{}", secret.expose()))))
            }
            Place::Environment(_) | Place::Argument(_) => None,
        })
    }

    /// Credentials that go into the environment of a command: names and values.
    pub fn environment(&self) -> impl Iterator<Item = (&str, Secret)> {
        self.entry.deliver.iter().filter_map(|delivery| match &delivery.place {
            Place::Environment(name) => Some((name.as_str(), find(self.grants(), &delivery.grant)?)),
            Place::Header { .. } | Place::Argument(_) => None,
        })
    }

    /// Credentials that meet the tool's requirements.
    pub fn grants(&self) -> &Grants {
        &self.request.grants
    }

    /// Who asked for the call.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// For whom the call acts: the user that the request names, or the caller's own.
    pub fn user(&self) -> Option<&str> {
        self.request.grants.user_id.as_deref().or(self.caller.user.as_deref())
    }

    /// The session it came by. The calls of a workflow have that of the call that runs it; a task has none.
    pub fn session(&self) -> Option<&Arc<str>> {
        self.request.session.as_ref()
    }

    /// The trace that this call belongs to, for what its source sends; none when calls are not traced.
    pub fn outgoing_trace(&self) -> Option<OutgoingTrace> {
        let span = self.request.span.as_ref()?;
        Some(OutgoingTrace::of(span, self.request.trace_state.as_deref()))
    }

    /// The caller's trace.
    pub fn trace(&self) -> Option<&str> {
        self.request.trace.as_deref()
    }

    /// What only the protocol it came by can say.
    pub fn extra(&self) -> &Passthrough {
        &self.request.extra
    }

    /// How long it may take.
    pub fn time_limit(&self) -> Duration {
        self.request.patience.map_or(self.entry.timeout, |patience| patience.min(self.entry.timeout))
    }
}

/// The way back into the path that every call has, for tools that call tools.
#[derive(Clone)]
pub(crate) struct NestedCalls {
    pub(crate) path: Arc<dyn NestedPath>,
    pub(crate) depth: u8,
}

/// The path, as far as a call needs it. The gateway implements it; a call knows no more of the gateway.
pub(crate) trait NestedPath: Send + Sync {
    /// Takes a request all the way, for a tool that is called `depth` deep.
    fn call_nested<'a>(
        self: Arc<Self>,
        depth: u8,
        caller: &'a Caller,
        request: Request,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, Refusal>>;

    /// Waits until a tool can be called, or no source that is starting could still bring it.
    fn wait_for_tool<'a>(&'a self, caller: &'a Caller, wanted: &'a ToolRef) -> BoxFuture<'a, ()>;

    /// What there is to call.
    fn catalog(&self) -> Arc<Catalog>;
}

impl fmt::Debug for NestedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NestedCalls").field("depth", &self.depth).finish_non_exhaustive()
    }
}
