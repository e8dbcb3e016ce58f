//! A source in its place: its toolkit and naming, its breaker, the gates of its tools, and how what it
//! lists becomes entries of the catalogue.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio_util::task::TaskTracker;

use crate::catalog::{Entry, Unserved};
use crate::delivery::{Delivery, GrantName, hide};
use crate::duty_cycle::DutyCycle;
use crate::gateway::Settings;
pub use crate::gateway::{Breaker, Gate};
use crate::message::Message;
use crate::names::ToolId;
use crate::ports::source::{Listing, Source};
use crate::ports::store::DefinitionsKey;
use crate::requirements::{GrantAllowlist, Requirements};
use crate::schema::{Schema, SchemaError};
use crate::schema_repair::{Repaired, compile};
use crate::source_names::SourceNames;
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

    /// The secrets and providers that these settings name.
    fn names(&self) -> GrantAllowlist {
        let mut names = GrantAllowlist::default();
        if let Some(requires) = &self.requires {
            names.secrets.clone_from(&requires.secrets);
            names.providers = requires.authorization.iter().map(|needed| needed.id.clone()).collect();
        }
        for delivery in &self.deliver {
            match &delivery.grant {
                GrantName::Secret(id) => names.secrets.push(id.clone()),
                GrantName::Token(provider) => names.providers.push(provider.clone()),
                GrantName::User => {}
            }
        }
        names
    }
}

/// How many tools of one list are logged one by one.
const MOST_LOGGED: usize = 20;

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
    /// What its tools may be given beside what configuration names for each of them.
    pub(crate) allowlist: GrantAllowlist,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) reopen: Option<Reopen>,
    /// Under what its definitions are kept in the store, if they are.
    pub(crate) definitions: Option<DefinitionsKey>,
    pub(crate) breaker: Breaker,
    /// The source has listed its tools at least once.
    connected: AtomicBool,
    /// Calls in flight: a source is closed only after them.
    pub(crate) calls: TaskTracker,
    kept: Mutex<HashMap<ToolId, ToolState>>,
}

/// What is kept of a tool while snapshots change, so that its limits hold across a swap.
struct ToolState {
    gate: Arc<Gate>,
    breaker: Arc<Breaker>,
    /// Of the schema that the tool had last: compiling is what costs most of a new list.
    compiled: Option<(Schema, Repaired)>,
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
            source,
            reopen: None,
            definitions: None,
            breaker: Breaker::default(),
            connected: AtomicBool::new(false),
            calls: TaskTracker::new(),
            kept: Mutex::default(),
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

    /// What the source lists, as entries. A tool that cannot be served costs only itself. It may take long:
    /// `duty_cycle` pauses between tools.
    pub(crate) fn shelve(
        self: &Arc<Self>,
        listing: &Listing,
        settings: &Settings,
        mut duty_cycle: Option<DutyCycle>,
    ) -> (Vec<Arc<Entry>>, Vec<Unserved>) {
        let mut entries = Vec::with_capacity(listing.tools.len());
        let mut unserved: Vec<Unserved> =
            listing.unusable.iter().map(|(tool, reason)| self.unserved(tool, reason)).collect();
        let prefix = (self.naming == Naming::Prefixed).then_some(&*self.toolkit);
        let (mut names, mut listed) = (SourceNames::new(prefix), HashSet::new());
        for tool in &listing.tools {
            let entry = if listed.insert((&tool.name, tool.version)) {
                self.entry(tool, &mut names, settings)
            } else {
                Err("the source lists it twice; the first one is served".to_owned())
            };
            match entry {
                Ok(entry) => entries.push(Arc::new(entry)),
                Err(reason) => unserved.push(self.unserved(&tool.name, &reason)),
            }
            if let Some(duty_cycle) = &mut duty_cycle {
                duty_cycle.pause();
            }
        }
        self.forget_others(&entries);
        (entries, unserved)
    }

    /// Logs what an operator should know of a list: tools that are not served, that have a suffix, whose schema was
    /// repaired, or that are not given what they require. A list may have thousands, so that only the first of each are logged one by one.
    pub(crate) fn log_listed(&self, entries: &[Arc<Entry>], unserved: &[Unserved]) {
        for tool in unserved.iter().take(MOST_LOGGED) {
            tracing::warn!(source = self.name, tool = tool.tool, "tool is not served: {}", tool.reason);
        }
        let collisions = || entries.iter().filter_map(|entry| entry.collision());
        for collision in collisions().take(MOST_LOGGED) {
            tracing::warn!(source = self.name, "{collision}");
        }
        let repaired = || entries.iter().filter(|entry| !entry.repairs.is_empty());
        for entry in repaired().take(MOST_LOGGED) {
            let (tool, repairs) = (&*entry.tool.name, entry.repairs.join("; "));
            tracing::warn!(source = self.name, tool, "the input schema was repaired: {repairs}");
        }
        let withheld = || entries.iter().filter(|entry| !entry.withheld().is_empty());
        for entry in withheld().take(MOST_LOGGED) {
            let (tool, names) = (&*entry.tool.name, entry.withheld().join(", "));
            tracing::warn!(
                source = self.name,
                tool,
                "the tool requires what its source may not be given: {names}"
            );
        }
        let counts = [unserved.len(), collisions().count(), repaired().count(), withheld().count()];
        let more: usize = counts.iter().map(|count| count.saturating_sub(MOST_LOGGED)).sum();
        if more > 0 {
            tracing::warn!(
                source = self.name,
                "{more} more tools are not served, have a suffix or a repaired schema, or are not given what they require"
            );
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
        names: &mut SourceNames<'_>,
        settings: &Settings,
    ) -> Result<Entry, String> {
        let given = names.give(&tool.name);
        let given = given.ok_or("other tools of the source have every name it could get")?;
        let id = ToolId { toolkit: self.toolkit.clone(), tool: given.plain.into(), version: tool.version };
        let own = settings.of_tool(&id, &tool.name);
        let (allowlist, hidden) = (own.names(), hide(&own.deliver, &tool.input));
        let concurrency = own.concurrency.unwrap_or(settings.limits.concurrency);
        let (gate, breaker) = self.kept(&id, concurrency, settings.limits.queue);
        let Repaired { schema, validator, repairs } =
            self.compiled(&id, &hidden).map_err(|error| error.to_string())?;
        let reshaped = !schema.is_same(&tool.input);
        let tool = Tool { input: schema, ..tool.clone() };
        Ok(Entry {
            flat: given.flat.into(),
            collides_with: given.collides_with,
            validator,
            repairs,
            reshaped,
            requires: own.requires.unwrap_or_else(|| tool.requires.clone()),
            hints: tool.hints.overridden_by(own.hints),
            timeout: own.timeout.unwrap_or(settings.limits.call_timeout),
            allowlist,
            gate,
            breaker,
            mount: Arc::clone(self),
            metrics: OnceLock::new(),
            deliver: own.deliver,
            tool,
            id,
        })
    }

    fn kept(&self, id: &ToolId, concurrency: usize, queue: usize) -> (Arc<Gate>, Arc<Breaker>) {
        let mut kept = self.lock_kept();
        let gate = || Arc::new(Gate::new(concurrency, queue));
        let new = || ToolState { gate: gate(), breaker: Arc::default(), compiled: None };
        let of_tool = kept.entry(id.clone()).or_insert_with(new);
        if !of_tool.gate.is_of(concurrency, queue) {
            of_tool.gate = gate();
        }
        (Arc::clone(&of_tool.gate), Arc::clone(&of_tool.breaker))
    }

    /// The schema of a tool, repaired and compiled only when it has changed, and without the lock.
    fn compiled(&self, id: &ToolId, schema: &Schema) -> Result<Repaired, SchemaError> {
        let before = self.lock_kept().get(id).and_then(|kept| kept.compiled.clone());
        if let Some((_, repaired)) = before.filter(|(before, _)| before.is_same(schema)) {
            return Ok(repaired);
        }
        let repaired = compile(schema)?;
        if let Some(kept) = self.lock_kept().get_mut(id) {
            kept.compiled = Some((schema.clone(), repaired.clone()));
        }
        Ok(repaired)
    }

    /// Forgets what is kept of tools that the source no longer has.
    fn forget_others(&self, entries: &[Arc<Entry>]) {
        let mut kept = self.lock_kept();
        if kept.len() > entries.len() {
            let present: HashSet<&ToolId> = entries.iter().map(|entry| &entry.id).collect();
            kept.retain(|id, _| present.contains(id));
        }
    }

    fn lock_kept(&self) -> MutexGuard<'_, HashMap<ToolId, ToolState>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::BoxFuture;
    use crate::call::Call;
    use crate::outcome::Outcome;
    use crate::ports::source::SourceError;
    use crate::progress::Progress;

    struct Nothing;

    impl Source for Nothing {
        fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
            Box::pin(std::future::pending())
        }

        fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn gates_of_tools_that_are_gone_are_forgotten() {
        let mount = Arc::new(Mount::new("kit", "Kit", Naming::Prefixed, Arc::new(Nothing)));
        let shelve = |names: &[String]| {
            let tool =
                |name: &String| Tool::new(name.as_str(), name, Schema::new(json!({ "type": "object" })));
            let listing = Listing::from(names.iter().map(tool).collect::<Vec<Tool>>());
            mount.shelve(&listing, &Settings::default(), None).0
        };
        let first = shelve(&["stays".to_owned()]);
        for round in 0..50 {
            let now = shelve(&["stays".to_owned(), format!("tool{round}")]);
            assert!(Arc::ptr_eq(&first[0].gate, &now[0].gate), "its limits hold across lists");
            assert_eq!(mount.lock_kept().len(), 2);
        }
    }
}
