//! A source in its place: its toolkit and naming, what it may be given, its breaker and the limits of its tools. How
//! what it lists becomes entries of the catalogue is in `entries.rs`.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_util::task::TaskTracker;

use super::breaker::Breaker;
use super::gate::Gate;
use super::tool_state::ToolStates;
use crate::limits::Limits;
use crate::message::Message;
use crate::millis::millis;
use crate::ports::source::Source;
use crate::ports::store::DefinitionsKey;
use crate::requirements::GrantAllowlist;

/// How the tools of a source are named where names are flat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// The toolkit and the tool: `Toolkit_tool`.
    #[default]
    Prefixed,
    /// The tool's own name: `tool`.
    Bare,
}

/// Makes a source anew from the same settings.
pub type Reopen = Arc<dyn Fn() -> Result<Arc<dyn Source>, Message> + Send + Sync>;

/// A source in its place.
pub struct Mount {
    /// The name of the source in the configuration.
    pub name: String,
    /// The toolkit its tools belong to.
    pub toolkit: Box<str>,
    /// How its tools are named where names are flat.
    pub naming: Naming,
    /// Texts are converted where the schema wants something else.
    pub(crate) coerces: bool,
    /// What its tools may be given besides what configuration names for each of them.
    pub(crate) allowlist: GrantAllowlist,
    /// Tools that are not served, by the names that the source gives them.
    pub(super) disabled_tools: Vec<String>,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) reopen: Option<Reopen>,
    /// Under what its definitions are kept in the store, if they are.
    pub(crate) definitions: Option<DefinitionsKey>,
    pub(crate) breaker: Breaker,
    /// The source has listed its tools at least once.
    connected: AtomicBool,
    /// When the source last listed its tools or failed to, in milliseconds since 1970; 0 for never.
    heard: AtomicU64,
    /// Calls in flight: a source is closed only after them.
    pub(crate) calls: TaskTracker,
    pub(super) tools: ToolStates,
    /// The turns of what is relayed, made at the first relay.
    relays: Mutex<Option<Arc<Gate>>>,
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount")
            .field("name", &self.name)
            .field("toolkit", &self.toolkit)
            .finish_non_exhaustive()
    }
}

impl Mount {
    /// Puts a source in its place. The toolkit must be `[A-Za-z0-9_]+`.
    pub fn new(name: &str, toolkit: &str, naming: Naming, source: Arc<dyn Source>) -> Self {
        // A source with a token in its own settings is given that one.
        let providers = source.authorization().map(|needed| needed.id).into_iter().collect();
        Mount {
            name: name.to_owned(),
            toolkit: toolkit.into(),
            naming,
            coerces: false,
            allowlist: GrantAllowlist { secrets: Vec::new(), providers },
            disabled_tools: Vec::new(),
            source,
            reopen: None,
            definitions: None,
            breaker: Breaker::default(),
            connected: AtomicBool::new(false),
            heard: AtomicU64::new(0),
            calls: TaskTracker::new(),
            tools: ToolStates::default(),
            relays: Mutex::default(),
        }
    }

    /// Says that texts are converted where the schema wants a number, a boolean, an array or an object.
    pub fn coercing(mut self) -> Self {
        self.coerces = true;
        self
    }

    /// Lets the tools of the source have these secrets and tokens when they require them.
    pub fn allowing(mut self, allowlist: GrantAllowlist) -> Self {
        self.allowlist.secrets.extend(allowlist.secrets);
        self.allowlist.providers.extend(allowlist.providers);
        self
    }

    /// Leaves out these tools, named as the source names them.
    pub fn without_tools(mut self, names: Vec<String>) -> Self {
        self.disabled_tools = names;
        self
    }

    /// Says how the source can be made anew, which is what reconnecting it does.
    pub fn reopened_by(mut self, reopen: Reopen) -> Self {
        self.reopen = Some(reopen);
        self
    }

    /// Has its definitions kept in the store for the next start. `digest` is one of everything in the
    /// configuration that decides which tools the source lists.
    pub fn kept_by(mut self, digest: String) -> Self {
        self.definitions = Some(DefinitionsKey { source: self.name.clone(), digest });
        self
    }

    /// The same place with a source made anew, if it can be.
    pub(crate) fn anew(&self) -> Option<Result<Mount, Message>> {
        let reopen = self.reopen.clone()?;
        Some(reopen().map(|source| {
            let mount = Mount::new(&self.name, &self.toolkit, self.naming, source).reopened_by(reopen);
            Mount {
                coerces: self.coerces,
                allowlist: self.allowlist.clone(),
                disabled_tools: self.disabled_tools.clone(),
                definitions: self.definitions.clone(),
                ..mount
            }
        }))
    }

    /// True once the source has listed its tools: before that they are only known from an earlier run, if at all.
    pub(crate) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    pub(crate) fn set_connected(&self) {
        self.connected.store(true, Ordering::Relaxed);
    }

    /// Notes that the source was heard of now.
    pub(super) fn note_heard(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.heard.store(millis(now), Ordering::Relaxed);
    }

    /// When the source last listed its tools or failed to.
    pub(super) fn heard(&self) -> Option<SystemTime> {
        let at = self.heard.load(Ordering::Relaxed);
        (at > 0).then(|| UNIX_EPOCH + Duration::from_millis(at))
    }

    /// The gate before what is relayed to the source: as many run and wait at a time as calls of one tool.
    pub(crate) fn relay_gate(&self, limits: &Limits) -> Arc<Gate> {
        let mut relays = self.relays.lock().unwrap_or_else(PoisonError::into_inner);
        let current = relays.take().filter(|gate| gate.is_of(limits.concurrency, limits.queue));
        let gate = current.unwrap_or_else(|| Arc::new(Gate::new("source", limits.concurrency, limits.queue)));
        Arc::clone(relays.insert(gate))
    }
}
