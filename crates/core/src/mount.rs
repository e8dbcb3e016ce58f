//! A source in its place: its toolkit and naming, its breaker, the gates of its tools, and how what it
//! lists becomes entries of the catalogue.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio_util::task::TaskTracker;

use crate::catalog::{Entry, Unserved};
use crate::delivery::{Delivery, hide};
use crate::gateway::Settings;
pub use crate::gateway::{Breaker, Gate};
use crate::message::Message;
use crate::names::ToolId;
use crate::requirements::Requirements;
use crate::schema::SchemaError;
use crate::source::{Listing, Source};
use crate::source_names::{GivenNames, SourceNames};
use crate::tool::{Hints, Tool};

/// How the tools of a source are named where names are flat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// `Toolkit_tool`.
    #[default]
    Prefixed,
    /// `tool`.
    Bare,
}

/// What configuration says of one tool, over what its source says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSettings {
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// How many calls run at a time.
    pub concurrency: Option<usize>,
    /// What a call must bring.
    pub requires: Option<Requirements>,
    /// How what it needs reaches it.
    pub deliver: Vec<Delivery>,
    /// How the tool behaves.
    pub hints: Hints,
}

impl ToolSettings {
    /// These settings, with `others` where these say nothing.
    pub(crate) fn or(self, others: &ToolSettings) -> ToolSettings {
        ToolSettings {
            timeout: self.timeout.or(others.timeout),
            concurrency: self.concurrency.or(others.concurrency),
            requires: self.requires.or_else(|| others.requires.clone()),
            deliver: if self.deliver.is_empty() { others.deliver.clone() } else { self.deliver },
            hints: others.hints.overridden_by(self.hints),
        }
    }
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
    pub(crate) source: Arc<dyn Source>,
    pub(crate) reopen: Option<Reopen>,
    pub(crate) breaker: Breaker,
    /// Calls in flight: a source is closed only after them.
    pub(crate) calls: TaskTracker,
    kept: Mutex<HashMap<ToolId, Kept>>,
}

/// What is kept of a tool while snapshots change, so that its limits hold across a swap.
#[derive(Clone)]
struct Kept {
    gate: Arc<Gate>,
    breaker: Arc<Breaker>,
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
        Mount {
            name: name.to_owned(),
            toolkit: toolkit.into(),
            naming,
            source,
            reopen: None,
            breaker: Breaker::default(),
            calls: TaskTracker::new(),
            kept: Mutex::default(),
        }
    }

    /// Says how the source can be made anew, which is what reconnecting it does.
    pub fn reopened_by(mut self, reopen: Reopen) -> Self {
        self.reopen = Some(reopen);
        self
    }

    /// The same place with a source made anew, if it can be.
    pub(crate) fn anew(&self) -> Option<Result<Mount, Message>> {
        let reopen = self.reopen.clone()?;
        Some(
            reopen()
                .map(|source| Mount::new(&self.name, &self.toolkit, self.naming, source).reopened_by(reopen)),
        )
    }

    /// What the source lists, as entries. A tool that cannot be served costs only itself.
    pub(crate) fn shelve(
        self: &Arc<Self>,
        listing: &Listing,
        settings: &Settings,
    ) -> (Vec<Arc<Entry>>, Vec<Unserved>) {
        let mut entries = Vec::with_capacity(listing.tools.len());
        let mut unserved: Vec<Unserved> =
            listing.unusable.iter().map(|(tool, reason)| self.unserved(tool, reason)).collect();
        let most = settings.limits.tools_per_source;
        let prefix = (self.naming == Naming::Prefixed).then_some(&*self.toolkit);
        let (mut names, mut listed) = (SourceNames::new(prefix), HashSet::new());
        for tool in &listing.tools[..listing.tools.len().min(most)] {
            if !listed.insert((&tool.name, tool.version)) {
                unserved
                    .push(self.unserved(&tool.name, "the source lists it twice; the first one is served"));
                continue;
            }
            let Some(given) = names.give(&tool.name) else {
                let reason = "other tools of the source have every name it could get";
                unserved.push(self.unserved(&tool.name, reason));
                continue;
            };
            match self.entry(tool, given, settings) {
                Ok(entry) => entries.push(Arc::new(entry)),
                Err(error) => unserved.push(self.unserved(&tool.name, &error.to_string())),
            }
        }
        for tool in listing.tools.iter().skip(most) {
            unserved.push(self.unserved(&tool.name, &format!("the source has more than {most} tools")));
        }
        (entries, unserved)
    }

    /// Logs what an operator should know of a list: tools that are not served, and tools with a suffix.
    pub(crate) fn log_listed(&self, entries: &[Arc<Entry>], unserved: &[Unserved]) {
        for tool in unserved {
            tracing::warn!(source = self.name, tool = tool.tool, "tool is not served: {}", tool.reason);
        }
        for collision in entries.iter().filter_map(|entry| entry.collision()) {
            tracing::warn!(source = self.name, "{collision}");
        }
    }

    fn unserved(&self, tool: &str, reason: &str) -> Unserved {
        Unserved {
            source: self.name.clone(),
            tool: tool.to_owned(),
            reason: reason.to_owned(),
            collision: false,
        }
    }

    fn entry(
        self: &Arc<Self>,
        tool: &Tool,
        given: GivenNames,
        settings: &Settings,
    ) -> Result<Entry, SchemaError> {
        let id = ToolId { toolkit: self.toolkit.clone(), tool: given.plain.into(), version: tool.version };
        let own = settings.of_tool(&id, &tool.name);
        let tool = Tool { input: hide(&own.deliver, &tool.input), ..tool.clone() };
        let concurrency = own.concurrency.unwrap_or(settings.limits.concurrency);
        let Kept { gate, breaker } = self.kept(&id, concurrency, settings.limits.queue);
        Ok(Entry {
            flat: given.flat.into(),
            collides_with: given.collides_with,
            validator: tool.input.compile()?,
            requires: own.requires.unwrap_or_else(|| tool.requires.clone()),
            hints: tool.hints.overridden_by(own.hints),
            timeout: own.timeout.unwrap_or(settings.limits.call_timeout),
            gate,
            breaker,
            mount: Arc::clone(self),
            metrics: OnceLock::new(),
            deliver: own.deliver,
            tool,
            id,
        })
    }

    fn kept(&self, id: &ToolId, concurrency: usize, queue: usize) -> Kept {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = || Arc::new(Gate::new(concurrency, queue));
        let new = || Kept { gate: gate(), breaker: Arc::default() };
        let of_tool = kept.entry(id.clone()).or_insert_with(new);
        if !of_tool.gate.is_of(concurrency, queue) {
            of_tool.gate = gate();
        }
        of_tool.clone()
    }
}
