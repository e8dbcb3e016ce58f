//! Every source in its place, behind one lock, and the catalogue that is made of what they list.
//!
//! The lock is held for short looks and swaps only, never across an `.await`, and never while schemas are compiled:
//! calls do not take it as long as they find their tool in the catalogue.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, Guard};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::mount::Mount;
use super::mounting::Reread;
use super::rules::SourceRules;
use super::starting::StartProgress;
use crate::background::Background;
use crate::catalog::{Catalog, SourceTools, Unserved, UnservedCause};
use crate::message::Message;
use crate::ports::source::Listing;
use crate::ports::store::Store;
use crate::tool::Passthrough;

/// How a source does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceStatus {
    /// Not heard of yet.
    Connecting,
    /// It listed its tools.
    Ready,
    /// It did not, the last time it was asked.
    Failing(Message),
}

/// A source and how it does.
#[derive(Clone, Debug)]
pub struct SourceReport {
    /// Its name in the configuration.
    pub name: String,
    /// The toolkit of its tools.
    pub toolkit: String,
    /// How it does.
    pub status: SourceStatus,
    /// How many of its tools are served.
    pub tools: usize,
    /// When it last listed its tools or failed to; absent while it has done neither.
    pub heard: Option<SystemTime>,
    /// Its tools are those that it listed in an earlier run: it has not listed any in this one.
    pub is_remembered: bool,
    /// For how long its circuit breaker refuses calls, where it does.
    pub breaker_open: Option<Duration>,
    /// How many of its calls run now.
    pub running: usize,
}

/// What is known of the tools of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Definitions {
    /// It has not listed anything yet.
    Unknown,
    /// What it listed in an earlier run.
    Kept,
    /// What it listed in this run.
    Listed,
}

/// What one source contributes.
pub(crate) struct SourceSlot {
    pub(crate) mount: Arc<Mount>,
    pub(super) listing: Arc<Listing>,
    /// What it offers that is not a tool, in its protocol's words.
    pub(crate) offered: Passthrough,
    pub(super) tools: SourceTools,
    pub(super) status: SourceStatus,
    pub(super) definitions: Definitions,
    pub(super) placed: Instant,
    /// When what it listed is written to the store again; absent means not at all.
    pub(super) keep_at: Option<Instant>,
    pub(super) stop: CancellationToken,
}

/// All sources of one server, and the catalogue of what they list.
pub struct Sources {
    pub(super) catalog: ArcSwap<Catalog>,
    /// The last one made when no source was starting: who holds a name there keeps it.
    names_of: ArcSwap<Catalog>,
    pub(super) rules: ArcSwap<SourceRules>,
    slots: Mutex<Vec<SourceSlot>>,
    pub(super) progress: StartProgress,
    revision: watch::Sender<u64>,
    pub(super) reread: OnceLock<Reread>,
    pub(super) reconnects: Semaphore,
    pub(super) store: Arc<dyn Store>,
    pub(super) background: Background,
}

impl Sources {
    /// Without any source yet.
    pub(crate) fn new(rules: SourceRules, store: Arc<dyn Store>, background: Background) -> Arc<Self> {
        Arc::new(Sources {
            catalog: ArcSwap::default(),
            names_of: ArcSwap::default(),
            rules: ArcSwap::from_pointee(rules),
            slots: Mutex::default(),
            progress: StartProgress::default(),
            revision: watch::Sender::new(0),
            reread: OnceLock::new(),
            reconnects: Semaphore::new(1),
            store,
            background,
        })
    }

    /// The present snapshot, without counting a reference to it.
    pub(crate) fn catalog(&self) -> Guard<Arc<Catalog>> {
        self.catalog.load()
    }

    /// What configuration says now.
    pub(crate) fn rules(&self) -> Guard<Arc<SourceRules>> {
        self.rules.load()
    }

    /// Every source and how it does, in the order of configuration.
    pub fn reports(&self) -> Vec<SourceReport> {
        let limits = self.rules().limits;
        self.slots(|slots| {
            let report = |slot: &SourceSlot| SourceReport {
                name: slot.mount.name.clone(),
                toolkit: slot.mount.toolkit.to_string(),
                status: slot.status.clone(),
                tools: slot.tools.entries.len(),
                heard: slot.mount.heard(),
                is_remembered: slot.definitions == Definitions::Kept,
                breaker_open: slot.mount.breaker.open_for(&limits),
                running: slot.mount.calls.len(),
            };
            slots.iter().map(report).collect()
        })
    }

    /// How many calls run now, whoever waits for them.
    pub fn calls_in_flight(&self) -> usize {
        self.slots(|slots| slots.iter().map(|slot| slot.mount.calls.len()).sum())
    }

    /// Changes whenever the catalogue does.
    pub fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Waits until every source has been heard of, one way or the other, but not longer than `patience`.
    pub async fn settled(&self, patience: Duration) {
        // Before the first look: a source that is heard of between a look and the wait changes the revision.
        let mut revision = self.revision();
        let all_heard = async {
            while self.reports().iter().any(|source| source.status == SourceStatus::Connecting) {
                if revision.changed().await.is_err() {
                    return;
                }
            }
        };
        timeout(patience, all_heard).await.ok();
    }

    /// Has every source release what it keeps for a session that has ended. For protocols that have sessions.
    pub fn session_ended(&self, caller: &str, session: &str) {
        self.slots(|slots| {
            for slot in slots.iter() {
                slot.mount.source.session_ended(caller, session);
            }
        });
    }

    /// The source of this name; of two, the one that is connected.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Mount>> {
        self.slots(|slots| {
            let mut of_name = slots.iter().map(|slot| &slot.mount).filter(|mount| mount.name == name);
            let first = of_name.clone().next();
            // A source made anew stands before the one it replaces, which serves until then.
            of_name.find(|mount| mount.is_connected()).or(first).cloned()
        })
    }

    /// Takes new rules; every tool is looked at again under them. `take_rest` puts the rest of the configuration in force
    /// and gives the function that says which callers have left. It runs under the lock of the sources: of two
    /// configurations that come at once, the whole of one holds in the end, never half of each.
    pub(crate) fn configure<F: Fn(&str) -> bool>(&self, rules: SourceRules, take_rest: impl FnOnce() -> F) {
        self.slots(|slots| {
            for slot in slots.iter_mut() {
                slot.tools = slot.mount.entries(&slot.listing, &rules, None);
            }
            self.rules.store(Arc::new(rules));
            let has_left = take_rest();
            for slot in slots.iter() {
                slot.mount.source.callers_left(&has_left);
            }
            self.swap(slots);
        });
    }

    /// Makes the catalogue anew and puts it in the place of the one before, whole. The slots prove that the lock is held,
    /// so that an older catalogue never replaces a newer one.
    pub(super) fn swap(&self, slots: &[SourceSlot]) {
        let tools: Vec<&SourceTools> = slots.iter().map(|slot| &slot.tools).collect();
        let catalog = Arc::new(Catalog::build(&tools, &self.rules.load().toolsets, &self.names_of.load()));
        if slots.iter().all(|slot| slot.status != SourceStatus::Connecting) {
            self.names_of.store(Arc::clone(&catalog));
        }
        let before = self.catalog.swap(catalog);
        self.log_collisions(&before);
        // After the snapshot: whoever sees that the list is complete must also see the complete list.
        self.progress.update(slots);
        self.revision.send_modify(|revision| *revision += 1);
    }

    fn log_collisions(&self, before: &Catalog) {
        let collides = |tool: &&Unserved| tool.cause == UnservedCause::Collision;
        let known: HashSet<&Unserved> = before.unserved().iter().filter(collides).collect();
        for tool in self.catalog.load().unserved() {
            if collides(&tool) && !known.contains(tool) {
                let (source, name) = (&tool.source, &tool.tool);
                tracing::error!(source, tool = name, "tool is not served: {}", tool.reason);
            }
        }
    }

    pub(crate) fn slots<T>(&self, read: impl FnOnce(&mut Vec<SourceSlot>) -> T) -> T {
        read(&mut self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
