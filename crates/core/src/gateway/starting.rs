//! Starting: whether the server is ready, and how lists and calls wait for sources that have not listed their
//! tools yet.
//!
//! A source is *starting* until it has listed its tools once. A source made anew is not, as long as the one it
//! replaces serves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Gateway;
use super::refresh::{Definitions, SourceSlot, SourceStatus};
use crate::call::{Caller, Request};
use crate::catalog::Entry;
use crate::message::Message;
use crate::mount::{Mount, Naming};
use crate::names::ToolRef;
use crate::refusal::Refusal;

/// When a caller should try again whose tool is not there yet.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How far the start has come.
#[derive(Debug, Default)]
pub(super) struct StartProgress {
    /// No source is missing in the list of tools.
    complete: AtomicBool,
    /// The server was ready once, and stays so: a source that is added later does not take it out of service.
    ready: AtomicBool,
}

impl StartProgress {
    /// Called whenever a source is added or changes, under the lock of the sources.
    pub(super) fn update(&self, slots: &[SourceSlot]) {
        let complete = starting(slots)
            .all(|slot| slot.status != SourceStatus::Connecting && slot.definitions != Definitions::Unknown);
        self.complete.store(complete, Ordering::Release);
    }
}

impl Gateway {
    /// True once the tools of each source are known, or it had `limits.start_wait` to list them; false again from
    /// [`Gateway::announce_closing`] on.
    pub fn is_ready(&self) -> bool {
        if self.is_closing() {
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

    /// True when no source is missing in the list of tools. A list made while this is false must not be kept.
    pub fn is_complete(&self) -> bool {
        self.progress.complete.load(Ordering::Acquire)
    }

    /// Waits until every source that is connecting for the first time has been heard of, each not longer than
    /// `limits.start_wait` from its start. For lists of what sources offer.
    pub async fn wait_for_sources(&self) {
        if !self.is_complete() {
            let unknown = |slot: &SourceSlot| {
                slot.definitions == Definitions::Unknown && slot.status == SourceStatus::Connecting
            };
            self.wait(None, || self.latest_start(unknown)).await;
        }
    }

    /// Waits until the tool can be called, or no source that is starting could still bring it. For protocols
    /// that look at a tool before they call it; calls wait by themselves.
    pub async fn wait_for_tool(&self, caller: &Caller, wanted: &ToolRef) {
        if !self.is_complete() {
            self.wait(None, || self.tool_awaited(caller, wanted)).await;
        }
    }

    /// Waits until a source has listed its tools, not longer than `limits.start_wait` from its start.
    pub(super) async fn wait_for_mount(&self, mount: &Arc<Mount>) -> Result<(), Refusal> {
        let awaited = || self.latest_start(|slot| Arc::ptr_eq(&slot.mount, mount));
        self.wait(None, || if mount.is_connected() { None } else { awaited() }).await;
        if mount.is_connected() { Ok(()) } else { Err(not_connected(mount)) }
    }

    /// The tool a request means, after waiting for the sources that may have it. What is waited comes off the
    /// caller's own patience.
    pub(super) async fn locate_when_started(
        self: &Arc<Self>,
        caller: &Caller,
        request: &mut Request,
    ) -> Result<(Arc<Entry>, TaskTrackerToken), Refusal> {
        let began = Instant::now();
        let patience = request.patience.map(|patience| began + patience);
        self.wait(patience, || self.tool_awaited(caller, &request.tool)).await;
        if let Some(patience) = &mut request.patience {
            *patience = patience.saturating_sub(began.elapsed());
        }
        let complete = self.is_complete();
        match self.locate(caller, &request.tool) {
            Ok(found) if found.0.mount.is_connected() => Ok(found),
            Ok((entry, _)) => Err(not_connected(&entry.mount)),
            Err(refusal) => {
                let not_yet = if complete { None } else { self.not_known_yet(caller, &request.tool) };
                if not_yet.is_none() && matches!(refusal, Refusal::NotPermitted { .. }) {
                    self.audit_refusal(caller, &request.tool, &refusal);
                }
                // A tool that exists for others only is refused as one that does not exist: with the same words.
                Err(not_yet.unwrap_or(refusal))
            }
        }
    }

    /// Until when a tool is worth waiting for; `None` when it can be called, or nobody can still bring it.
    fn tool_awaited(&self, caller: &Caller, wanted: &ToolRef) -> Option<Instant> {
        // Looked at before the catalogue: a source may list its tools between the two.
        let complete = self.is_complete();
        let catalog = self.catalog.load();
        let place = catalog.find(wanted).filter(|&place| catalog.permits(caller, place));
        match place.map(|place| &catalog.entry(place).mount) {
            Some(mount) if mount.is_connected() => None,
            Some(mount) => self.latest_start(|slot| Arc::ptr_eq(&slot.mount, mount)),
            // The usual case of a misspelt name, which must not wait for the lock of the sources.
            None if complete => None,
            None => self.latest_start(|slot| may_bring(slot, wanted)),
        }
    }

    /// The end of the longest wait for a starting source of this kind; `None` when there is none left.
    fn latest_start(&self, of_kind: impl Fn(&SourceSlot) -> bool) -> Option<Instant> {
        let start_wait = self.settings.load().limits.start_wait;
        let ends = |slot: &SourceSlot| slot.placed + start_wait;
        let latest = self.slots(|slots| starting(slots).filter(|slot| of_kind(slot)).map(ends).max());
        latest.filter(|end| *end > Instant::now())
    }

    /// Waits as long as `end` names a time that has not come. It is asked again whenever a source changes.
    async fn wait(&self, patience: Option<Instant>, end: impl Fn() -> Option<Instant>) {
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

    /// The refusal of a name that nobody has, while a source that may have it is starting.
    fn not_known_yet(&self, caller: &Caller, wanted: &ToolRef) -> Option<Refusal> {
        let awaited: Vec<String> = self.slots(|slots| {
            let may_bring = starting(slots).filter(|slot| may_bring(slot, wanted));
            may_bring.map(|slot| format!("`{}`", slot.mount.name)).collect()
        });
        if awaited.is_empty() {
            return None;
        }
        let public = format!("Tool `{wanted}` is not known yet: some sources have not listed their tools");
        let mut message = Message::public(public);
        // Which sources there are is not for callers who may see some tools only.
        if !caller.is_limited() {
            let developer = format!("sources that have not listed their tools: {}", awaited.join(", "));
            message = message.developer(developer);
        }
        Some(Refusal::Unavailable { message, retry_after: Some(RETRY_AFTER) })
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
                || wanted.tool.strip_prefix(&**toolkit).is_some_and(|rest| rest.starts_with('_'))
        }
        (_, Definitions::Kept | Definitions::Listed, _) => false,
    }
}

fn not_connected(mount: &Mount) -> Refusal {
    Refusal::Unavailable {
        message: Message::public(format!("Source `{}` is not connected yet", mount.name)),
        retry_after: Some(RETRY_AFTER),
    }
}
