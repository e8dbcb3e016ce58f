//! Starting: whether the server is ready, and how lists and calls wait for sources that have not listed their
//! tools yet.
//!
//! A source is *starting* until it has listed its tools once. A source made anew is not, as long as the one it
//! replaces serves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::{Instant, timeout_at};

use super::mount::{Mount, Naming};
use super::slots::{Definitions, SourceSlot, SourceStatus, Sources};
use crate::names::ToolRef;

/// How far the start has come.
#[derive(Debug, Default)]
pub(super) struct StartProgress {
    /// No source is missing in the list of tools.
    complete: AtomicBool,
    /// The server was ready once, and stays so: a source that is added later does not take it out of service.
    ready: AtomicBool,
}

impl StartProgress {
    /// Called whenever a source is added or changes, under the lock of the sources, so that the last change is also
    /// the last to be stored. `Release` goes with `Acquire` in [`Sources::is_complete`]: whoever reads true also sees the
    /// catalogue that was swapped before.
    pub(super) fn update(&self, slots: &[SourceSlot]) {
        let complete = starting(slots)
            .all(|slot| slot.status != SourceStatus::Connecting && slot.definitions != Definitions::Unknown);
        self.complete.store(complete, Ordering::Release);
    }
}

impl Sources {
    /// True once the tools of each source are known, or it had `limits.start_wait` to list them; false again when the
    /// server is about to end.
    pub fn is_ready(&self) -> bool {
        if self.background.is_closing() {
            return false;
        }
        if self.progress.ready.load(Ordering::Relaxed) {
            return true;
        }
        let ready = self.latest_start(|slot| slot.definitions == Definitions::Unknown).is_none();
        if ready {
            self.progress.ready.store(true, Ordering::Relaxed);
        }
        ready
    }

    /// Ends when [`Sources::is_ready`] becomes true for the first time, whether or not the server is about to end.
    pub async fn until_ready(&self) {
        self.wait(None, || self.latest_start(|slot| slot.definitions == Definitions::Unknown)).await;
    }

    /// True when no source is missing in the list of tools. A list made while this is false must not be kept.
    pub fn is_complete(&self) -> bool {
        self.progress.complete.load(Ordering::Acquire)
    }

    /// Waits until every source that is connecting for the first time has been heard of, each not longer than
    /// `limits.start_wait` from its start. For lists of what sources offer.
    pub async fn wait_until_started(&self) {
        if !self.is_complete() {
            let unknown = |slot: &SourceSlot| {
                slot.definitions == Definitions::Unknown && slot.status == SourceStatus::Connecting
            };
            self.wait(None, || self.latest_start(unknown)).await;
        }
    }

    /// Until when a source is worth waiting for; `None` when it has listed its tools or had its time.
    pub(crate) fn awaited(&self, mount: &Arc<Mount>) -> Option<Instant> {
        if mount.is_connected() {
            return None;
        }
        self.latest_start(|slot| Arc::ptr_eq(&slot.mount, mount))
    }

    /// Until when sources are worth waiting for that may have a tool which is not in the catalogue.
    pub(crate) fn awaited_for(&self, wanted: &ToolRef) -> Option<Instant> {
        self.latest_start(|slot| may_bring(slot, wanted))
    }

    /// The names of starting sources that may have a tool which is not in the catalogue.
    pub(crate) fn may_bring(&self, wanted: &ToolRef) -> Vec<String> {
        self.slots(|slots| {
            let may_bring = starting(slots).filter(|slot| may_bring(slot, wanted));
            may_bring.map(|slot| slot.mount.name.clone()).collect()
        })
    }

    /// Waits as long as `end` names a time that has not come. It is asked again whenever a source changes.
    pub(crate) async fn wait(&self, patience: Option<Instant>, end: impl Fn() -> Option<Instant>) {
        if end().is_none() {
            return;
        }
        let mut revision = self.revision();
        loop {
            // Before `end` looks: a change that comes between the two ends the wait.
            revision.mark_unchanged();
            let Some(end) = end() else { return };
            let end = patience.map_or(end, |patience| patience.min(end));
            if !matches!(timeout_at(end, revision.changed()).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    /// The end of the longest wait for a starting source of this kind; `None` when there is none left.
    fn latest_start(&self, of_kind: impl Fn(&SourceSlot) -> bool) -> Option<Instant> {
        let start_wait = self.rules().limits.start_wait;
        let ends = |slot: &SourceSlot| slot.placed + start_wait;
        let latest = self.slots(|slots| starting(slots).filter(|slot| of_kind(slot)).map(ends).max());
        latest.filter(|end| *end > Instant::now())
    }
}

fn starting(slots: &[SourceSlot]) -> impl Iterator<Item = &SourceSlot> {
    let serves = |name: &str| {
        slots.iter().any(|slot| slot.mount.name == *name && slot.definitions == Definitions::Listed)
    };
    slots.iter().filter(move |slot| !serves(&slot.mount.name))
}

/// Whether a starting source may have a tool that is not in the catalogue: any name while it is connecting; once
/// it failed, only names of its toolkit, so that a source which is down does not hide misspelt names of others.
fn may_bring(slot: &SourceSlot, wanted: &ToolRef) -> bool {
    let Mount { toolkit, naming, .. } = &*slot.mount;
    match (&slot.status, slot.definitions, &wanted.toolkit) {
        (SourceStatus::Connecting, ..) => true,
        (_, Definitions::Unknown, Some(wanted)) => wanted == toolkit,
        (_, Definitions::Unknown, None) => {
            *naming == Naming::Bare
                || wanted.tool.strip_prefix(&**toolkit).is_some_and(|rest| rest.starts_with(['_', '.']))
        }
        (_, Definitions::Kept | Definitions::Listed, _) => false,
    }
}
