//! Asks each source in the background what it has, again and again, and puts that into the catalogue.
//! A source that is slow or dead keeps the tools it last listed and costs nobody else anything.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::definitions;
use super::mount::Mount;
use super::rules::SourceRules;
use super::slots::{Definitions, SourceSlot, SourceStatus, Sources};
use crate::backoff::Backoff;
use crate::catalog::SourceTools;
use crate::duty_cycle::DutyCycle;
use crate::message::Message;
use crate::ports::source::{Listing, SourceError};
use crate::tool::Passthrough;

/// A source that claims to change all the time is not asked more often than this.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// The pause after a first failure to list; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause between tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What a source said, ready to be served.
pub(super) struct Prepared {
    pub(super) listing: Arc<Listing>,
    pub(super) offered: Passthrough,
    pub(super) tools: SourceTools,
}

/// What came of serving what a source said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Published {
    /// It is served, or the source has left.
    Done,
    /// It was prepared under rules that hold no longer.
    RulesChanged,
}

impl Sources {
    /// Asks for ever. Dropping the future ends it; what was served stays.
    pub(super) async fn refresh(self: &Arc<Self>, mount: &Arc<Mount>) {
        let mut pauses = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            let (limits, asked) = (self.rules().limits, Instant::now());
            let answer = timeout(limits.list_timeout, mount.source.tools()).await;
            mount.note_heard();
            let (next, failed) = match answer {
                Ok(Ok(listing)) => {
                    self.listed(mount, listing).await;
                    pauses.reset();
                    (limits.refresh, false)
                }
                failed => {
                    self.not_listed(mount, failed.ok().and_then(Result::err), limits.list_timeout);
                    (pauses.next_pause(), true)
                }
            };
            timeout(next, mount.source.changed()).await.ok();
            if failed {
                // A source that fails and claims to change must not make us spin.
                sleep(FIRST_PAUSE).await;
            }
            sleep_until(asked + LEAST_INTERVAL).await;
        }
    }

    async fn listed(self: &Arc<Self>, mount: &Arc<Mount>, mut listing: Listing) {
        let offered = mount.source.offered();
        // Comparing and compiling thousands of schemas, and freeing them, takes long enough to keep it off the
        // threads that answer.
        let (sources, placed) = (Arc::clone(self), Arc::clone(mount));
        let preparing = tokio::task::spawn_blocking(move || {
            listing.keep_at_most(sources.rules().limits.tools_per_source);
            if sources.is_known(&placed, &listing, &offered) {
                return None;
            }
            let text = definitions::written(&placed, &listing, &offered);
            sources.serve(&placed, listing, &offered);
            text
        });
        let (sources, placed) = (Arc::clone(self), Arc::clone(mount));
        // Of its own: what was served is written also when the server stops right after, for its next start.
        let keeping = self.background.spawn(async move {
            sources.keep_definitions(&placed, preparing.await.ok().flatten()).await;
        });
        keeping.await.ok();
    }

    /// Whether a source said the same the last time, and that need not be written to the store again. Compared
    /// without the lock, which callers wait for.
    fn is_known(&self, mount: &Arc<Mount>, listing: &Listing, offered: &Passthrough) -> bool {
        let before = self.slots(|slots| {
            let slot = slots.iter().find(|slot| Arc::ptr_eq(&slot.mount, mount))?;
            let kept = slot.keep_at.is_none_or(|at| Instant::now() < at);
            let ready = slot.status == SourceStatus::Ready && kept;
            ready.then(|| (Arc::clone(&slot.listing), slot.offered.clone()))
        });
        before.is_some_and(|before| *before.0 == *listing && before.1 == *offered)
    }

    /// Compiles what a source lists without the lock. Should the rules change meanwhile, they were applied to the list
    /// before this one, and this one would be served under the old rules: it is compiled again. What did not change is
    /// kept by the mount, so that doing it again takes little.
    fn serve(&self, mount: &Arc<Mount>, listing: Listing, offered: &Passthrough) {
        let listing = Arc::new(listing);
        loop {
            let rules = self.rules.load_full();
            let tools = mount.entries(&listing, &rules, Some(DutyCycle::default()));
            mount.log_listed(&tools);
            let prepared = Prepared { listing: Arc::clone(&listing), offered: offered.clone(), tools };
            if self.publish(mount, &rules, prepared) == Published::Done {
                return;
            }
        }
    }

    fn publish(&self, mount: &Arc<Mount>, rules: &Arc<SourceRules>, prepared: Prepared) -> Published {
        // What was there before is freed after the lock is given back: it may be thousands of tools.
        let replaced = self.slots(|slots| {
            // Under the lock, as is every change of the rules: none can come between this look and the swap.
            if !Arc::ptr_eq(rules, &self.rules.load()) {
                return None;
            }
            Some(self.replace(slots, mount, prepared))
        });
        if replaced.is_some() { Published::Done } else { Published::RulesChanged }
    }

    /// Puts what a source said into its slot; gives what is there no longer. A source that has left is not there at all.
    fn replace(
        &self,
        slots: &mut Vec<SourceSlot>,
        mount: &Arc<Mount>,
        prepared: Prepared,
    ) -> Option<(Prepared, Vec<SourceSlot>)> {
        let place = slots.iter().position(|slot| Arc::ptr_eq(&slot.mount, mount))?;
        // A successor stands before the source it replaces, which stops when nobody finds it any more.
        let old: Vec<SourceSlot> =
            slots.extract_if(place + 1.., |slot| slot.mount.name == mount.name).collect();
        let slot = &mut slots[place];
        let before = Prepared {
            listing: std::mem::replace(&mut slot.listing, prepared.listing),
            offered: std::mem::replace(&mut slot.offered, prepared.offered),
            tools: std::mem::replace(&mut slot.tools, prepared.tools),
        };
        (slot.status, slot.definitions) = (SourceStatus::Ready, Definitions::Listed);
        mount.set_connected();
        self.swap(slots);
        for slot in &old {
            slot.stop.cancel();
        }
        Some((before, old))
    }

    fn not_listed(&self, mount: &Arc<Mount>, error: Option<SourceError>, waited: Duration) {
        let message = error.map_or_else(
            || Message::public(format!("it did not list its tools within {waited:?}")),
            |error| error.message(),
        );
        let failing = SourceStatus::Failing(message.clone());
        let found = self.slots(|slots| {
            let slot = slots.iter_mut().find(|slot| Arc::ptr_eq(&slot.mount, mount))?;
            let is_news = slot.status != failing;
            slot.status = failing;
            self.swap(slots);
            Some(is_news)
        });
        if found == Some(true) {
            let Message { public, developer } = message;
            tracing::warn!(source = mount.name, developer, "source failed: {public}");
        }
    }
}
