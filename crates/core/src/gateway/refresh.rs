//! Sources join, change and leave in the background; the catalogue is rebuilt and swapped whole.
//! A source that is slow or dead keeps the tools it last listed and costs nobody else anything.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Gateway, Settings, definitions, readmit};
use crate::BoxFuture;
use crate::audit::{AuditAction, AuditRecord};
use crate::call::Caller;
use crate::catalog::{Catalog, Entry, Unserved};
use crate::duty_cycle::DutyCycle;
use crate::message::Message;
use crate::mount::Mount;
use crate::ports::source::{Listing, SourceError};
use crate::tool::Passthrough;

/// A source that claims to change all the time is not asked more often than this.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// The pause after a first failure to list; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// How long a store may at least take to end.
const STORE_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause between tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

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
    /// How it does.
    pub status: SourceStatus,
    /// How many of its tools are served.
    pub tools: usize,
}

/// Reads the configuration again and takes it; says why it cannot be used.
pub type Reread = Box<dyn Fn() -> BoxFuture<'static, Result<(), Message>> + Send + Sync>;

/// What one source contributes.
pub(super) struct SourceSlot {
    pub(super) mount: Arc<Mount>,
    pub(super) listing: Arc<Listing>,
    pub(super) beside: Passthrough,
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) unserved: Vec<Unserved>,
    pub(super) status: SourceStatus,
    pub(super) definitions: Definitions,
    pub(super) placed: Instant,
    /// When what it listed is written to the store again; absent means not at all.
    pub(super) keep_at: Option<Instant>,
    stop: CancellationToken,
}

/// What is known of the tools of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Definitions {
    /// Nothing yet.
    Unknown,
    /// What it listed in an earlier run.
    Kept,
    /// What it listed in this run.
    Listed,
}

impl Gateway {
    /// Takes a source in; its tools appear as soon as it lists them. A source of the same name keeps
    /// serving until then, and leaves.
    pub fn mount(self: &Arc<Self>, mount: Mount) {
        self.place(mount);
    }

    fn place(self: &Arc<Self>, mount: Mount) -> Arc<Mount> {
        let (mount, stop) = (Arc::new(mount), self.stop.child_token());
        self.slots(|slots| {
            let place = slots.iter().position(|slot| slot.mount.name == mount.name).unwrap_or(slots.len());
            let slot = SourceSlot {
                mount: Arc::clone(&mount),
                listing: Arc::default(),
                beside: Passthrough::default(),
                entries: Vec::new(),
                unserved: Vec::new(),
                status: SourceStatus::Connecting,
                definitions: Definitions::Unknown,
                placed: Instant::now(),
                keep_at: None,
                stop: stop.clone(),
            };
            slots.insert(place, slot);
            self.progress.update(slots);
        });
        let (gateway, placed) = (Arc::clone(self), Arc::clone(&mount));
        self.tasks.spawn(async move {
            // Side by side: a store that does not answer must not keep the source from being asked.
            let running = async { tokio::join!(gateway.recall_definitions(&mount), gateway.follow(&mount)) };
            stop.run_until_cancelled(running).await;
            mount.calls.close();
            timeout(gateway.settings.load().limits.drain, mount.calls.wait()).await.ok();
            mount.source.close().await;
        });
        placed
    }

    /// Says how the configuration is read again, once.
    pub fn reread_by(&self, reread: Reread) {
        self.reread.set(reread).ok();
    }

    /// Reads the configuration again where there is one, makes every source anew where that can be done, and
    /// waits until each has been heard of. The old one serves until its successor lists its tools, and finishes
    /// its calls; a successor that fails is let go, and the old one stays. A configuration that cannot be used
    /// changes nothing.
    pub async fn reconnect(self: &Arc<Self>, caller: &Caller) -> Result<Vec<SourceReport>, Message> {
        // Whoever comes second finds everything reconnected, and does it once more.
        let Ok(_turn) = self.reconnects.acquire().await else { return Ok(self.sources()) };
        if let Some(reread) = self.reread.get() {
            reread().await?;
        }
        self.audit(AuditRecord::now(caller.name(), AuditAction::SourcesReset, ""));
        let mounts = self.slots(|slots| slots.iter().map(|s| Arc::clone(&s.mount)).collect::<Vec<_>>());
        let mut failed = Vec::new();
        let mut successors = Vec::new();
        for mount in mounts {
            match mount.anew() {
                None => {}
                Some(Ok(successor)) => successors.push(self.place(successor)),
                Some(Err(message)) => {
                    failed.push((mount.name.clone(), SourceStatus::Failing(message)));
                }
            }
        }
        self.settled(self.settings.load().limits.list_timeout).await;
        failed.extend(successors.iter().filter_map(|successor| self.let_go(successor)));
        let mut reports = self.sources();
        for report in &mut reports {
            if let Some((_, status)) = failed.iter().find(|(name, _)| *name == report.name) {
                report.status = status.clone();
            }
        }
        Ok(reports)
    }

    /// Removes a successor that did not list its tools; gives its name and status if it did not.
    fn let_go(&self, successor: &Arc<Mount>) -> Option<(String, SourceStatus)> {
        self.slots(|slots| {
            let place = slots.iter().position(|slot| Arc::ptr_eq(&slot.mount, successor))?;
            let status = slots[place].status.clone();
            if status == SourceStatus::Ready {
                return None;
            }
            let slot = slots.remove(place);
            slot.stop.cancel();
            self.swap(slots);
            Some((slot.mount.name.clone(), status))
        })
    }

    /// Lets a source go: its tools disappear, calls in flight finish, then it is closed.
    pub fn unmount(&self, name: &str) {
        self.slots(|slots| {
            let gone: Vec<SourceSlot> = slots.extract_if(.., |slot| slot.mount.name == name).collect();
            self.swap(slots);
            for slot in gone {
                slot.stop.cancel();
            }
        });
        self.metrics.source_gone(name);
    }

    /// Takes new rules; every tool is looked at again under them.
    pub fn configure(&self, settings: Settings) {
        self.slots(|slots| {
            for slot in slots.iter_mut() {
                (slot.entries, slot.unserved) = slot.mount.shelve(&slot.listing, &settings, None);
            }
            self.memory.resize(settings.limits.memory);
            let before = self.settings.swap(Arc::new(settings));
            self.admission_changes.changed();
            let now = self.settings.load();
            for slot in slots.iter() {
                let has_left = |caller: &str| readmit::has_left(&before.admission, &now.admission, caller);
                slot.mount.source.callers_left(&has_left);
            }
            self.swap(slots);
        });
    }

    /// Every source and how it does, in the order of configuration.
    pub fn sources(&self) -> Vec<SourceReport> {
        self.slots(|slots| {
            let report = |slot: &SourceSlot| SourceReport {
                name: slot.mount.name.clone(),
                status: slot.status.clone(),
                tools: slot.entries.len(),
            };
            slots.iter().map(report).collect()
        })
    }

    /// How many calls run now, whoever waits for them.
    pub fn calls_in_flight(&self) -> usize {
        self.slots(|slots| slots.iter().map(|slot| slot.mount.calls.len()).sum())
    }

    /// Waits until every source has been heard of, one way or the other, but not longer than `patience`.
    pub async fn settled(&self, patience: Duration) {
        let mut revision = self.revision();
        let all_heard = async {
            while self.sources().iter().any(|source| source.status == SourceStatus::Connecting) {
                if revision.changed().await.is_err() {
                    return;
                }
            }
        };
        timeout(patience, all_heard).await.ok();
    }

    /// Ends everything the gateway runs; calls that are recorded finish first, within `patience`.
    pub async fn close(&self, patience: Duration) {
        let end = Instant::now() + patience;
        self.announce_closing();
        self.stop.cancel();
        self.tasks.close();
        timeout_at(end, self.tasks.wait()).await.ok();
        // A store that does not answer costs a bounded time; others take over what it held when its lease is over.
        timeout_at(end.max(Instant::now() + STORE_PAUSE), self.store.close()).await.ok();
    }

    async fn follow(self: &Arc<Self>, mount: &Arc<Mount>) {
        let mut pause = FIRST_PAUSE;
        loop {
            let (limits, asked) = (self.settings.load().limits, Instant::now());
            let next = match timeout(limits.list_timeout, mount.source.tools()).await {
                Ok(Ok(listing)) => {
                    self.listed(mount, listing).await;
                    pause = FIRST_PAUSE;
                    limits.refresh
                }
                failed => {
                    self.not_listed(mount, failed.ok().and_then(Result::err), limits.list_timeout);
                    let now = pause;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    now
                }
            };
            timeout(next, mount.source.changed()).await.ok();
            if pause != FIRST_PAUSE {
                // A source that fails and claims to change must not make us spin.
                sleep(FIRST_PAUSE).await;
            }
            sleep_until(asked + LEAST_INTERVAL).await;
        }
    }

    async fn listed(self: &Arc<Self>, mount: &Arc<Mount>, mut listing: Listing) {
        let beside = mount.source.beside();
        // Comparing and compiling thousands of schemas, and freeing them, takes long enough to keep it off the
        // threads that answer.
        let (gateway, placed) = (Arc::clone(self), Arc::clone(mount));
        let shelving = tokio::task::spawn_blocking(move || {
            listing.keep_at_most(gateway.settings.load().limits.tools_per_source);
            if gateway.is_known(&placed, &listing, &beside) {
                return None;
            }
            let text = definitions::written(&placed, &listing, &beside);
            gateway.shelve(&placed, listing, beside);
            text
        });
        self.keep_definitions(mount, shelving.await.ok().flatten()).await;
    }

    /// Whether a source said the same the last time, and that need not be written to the store again. Compared
    /// without the lock, which callers wait for.
    fn is_known(&self, mount: &Arc<Mount>, listing: &Listing, beside: &Passthrough) -> bool {
        let before = self.slots(|slots| {
            let slot = slots.iter().find(|slot| Arc::ptr_eq(&slot.mount, mount))?;
            let kept = slot.keep_at.is_none_or(|at| Instant::now() < at);
            let ready = slot.status == SourceStatus::Ready && kept;
            ready.then(|| (Arc::clone(&slot.listing), slot.beside.clone()))
        });
        before.is_some_and(|before| *before.0 == *listing && before.1 == *beside)
    }

    fn shelve(&self, mount: &Arc<Mount>, listing: Listing, beside: Passthrough) {
        let listing = Arc::new(listing);
        loop {
            let settings = self.settings.load_full();
            let (entries, unserved) = mount.shelve(&listing, &settings, Some(DutyCycle::default()));
            mount.log_listed(&entries, &unserved);
            let slot = (Arc::clone(&listing), entries, unserved);
            // Settings that changed meanwhile were applied to the list before this one. What is compiled is
            // kept, so that doing it again takes little.
            if self.fill_shelf(mount, &settings, slot, &beside) {
                return;
            }
        }
    }

    /// Serves what a source lists; false when it was looked at under settings that hold no longer.
    fn fill_shelf(
        &self,
        mount: &Arc<Mount>,
        settings: &Arc<Settings>,
        (listing, entries, unserved): (Arc<Listing>, Vec<Arc<Entry>>, Vec<Unserved>),
        beside: &Passthrough,
    ) -> bool {
        let before = self.slots(|slots| {
            if !Arc::ptr_eq(settings, &self.settings.load_full()) {
                return None;
            }
            self.metrics.source(&mount.name, true, entries.len());
            let place = slots.iter().position(|slot| Arc::ptr_eq(&slot.mount, mount));
            let Some(place) = place else { return Some(None) };
            // A successor stands before the source it replaces, which stops when nobody finds it any more.
            let old: Vec<SourceSlot> =
                slots.extract_if(place + 1.., |slot| slot.mount.name == mount.name).collect();
            let slot = &mut slots[place];
            let before = (
                std::mem::replace(&mut slot.listing, listing),
                std::mem::replace(&mut slot.entries, entries),
                std::mem::replace(&mut slot.unserved, unserved),
            );
            (slot.beside, slot.status) = (beside.clone(), SourceStatus::Ready);
            slot.definitions = Definitions::Listed;
            mount.set_connected();
            self.swap(slots);
            for slot in &old {
                slot.stop.cancel();
            }
            Some(Some((before, old)))
        });
        // What was there before is freed here, not under the lock: it may be thousands of tools.
        before.is_some()
    }

    fn not_listed(&self, mount: &Arc<Mount>, error: Option<SourceError>, waited: Duration) {
        let message = error.map_or_else(
            || Message::public(format!("it did not list its tools within {waited:?}")),
            |error| error.message(),
        );
        let mut news = false;
        let mut tools = 0;
        self.update(mount, |slot| {
            tools = slot.entries.len();
            news = slot.status != SourceStatus::Failing(message.clone());
            slot.status = SourceStatus::Failing(message.clone());
        });
        self.metrics.source(&mount.name, false, tools);
        if news {
            let Message { public, developer } = message;
            tracing::warn!(source = mount.name, developer, "source failed: {public}");
        }
    }

    fn update(&self, mount: &Arc<Mount>, change: impl FnOnce(&mut SourceSlot)) {
        self.slots(|slots| {
            if let Some(slot) = slots.iter_mut().find(|slot| Arc::ptr_eq(&slot.mount, mount)) {
                change(slot);
                self.swap(slots);
            }
        });
    }

    pub(super) fn swap(&self, slots: &[SourceSlot]) {
        let shelved: Vec<_> = slots.iter().map(|s| (s.entries.clone(), s.unserved.clone())).collect();
        let settled = self.settled.load();
        let catalog = Arc::new(Catalog::build(&shelved, &self.settings.load().toolsets, &settled));
        if slots.iter().all(|slot| slot.status != SourceStatus::Connecting) {
            self.settled.store(Arc::clone(&catalog));
        }
        let before = self.catalog.swap(catalog);
        let told: HashSet<&Unserved> = before.unserved().iter().filter(|tool| tool.collision).collect();
        for tool in self.catalog.load().unserved() {
            if tool.collision && !told.contains(tool) {
                tracing::error!(
                    source = tool.source,
                    tool = tool.tool,
                    "tool is not served: {}",
                    tool.reason
                );
            }
        }
        // After the snapshot: whoever sees that the list is complete must also see the complete list.
        self.progress.update(slots);
        self.revision.send_modify(|revision| *revision += 1);
    }

    pub(super) fn slots<T>(&self, read: impl FnOnce(&mut Vec<SourceSlot>) -> T) -> T {
        read(&mut self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
