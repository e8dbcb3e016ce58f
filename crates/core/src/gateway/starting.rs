//! The step that a call takes when its tool is not in the catalogue, or its source is not connected: waiting for sources
//! that are still starting.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Gateway, Located};
use crate::call::{Caller, Request};
use crate::message::Message;
use crate::names::ToolRef;
use crate::refusal::Refusal;
use crate::sources::Mount;

/// When a caller should try again whose tool is not there yet.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Gateway {
    /// Waits until the tool can be called, or no source that is starting could still bring it. For protocols
    /// that look at a tool before they call it; calls wait by themselves.
    pub async fn wait_for_tool(&self, caller: &Caller, wanted: &ToolRef) {
        if !self.sources.is_complete() {
            self.sources.wait(None, || self.tool_awaited(caller, wanted)).await;
        }
    }

    /// Waits until a source has listed its tools, not longer than `limits.start_wait` from its start.
    pub(super) async fn wait_for_mount(&self, mount: &Arc<Mount>) -> Result<(), Refusal> {
        if !mount.is_connected() {
            self.sources.wait(None, || self.sources.awaited(mount)).await;
        }
        if mount.is_connected() { Ok(()) } else { Err(not_connected(mount)) }
    }

    /// The tool a request means, after waiting for the sources that may have it. What is waited comes off the
    /// caller's own patience.
    pub(super) async fn locate_when_started(
        self: &Arc<Self>,
        caller: &Caller,
        request: &mut Request,
    ) -> Result<Located, Refusal> {
        let began = Instant::now();
        let patience = request.patience.map(|patience| began + patience);
        self.sources.wait(patience, || self.tool_awaited(caller, &request.tool)).await;
        if let Some(patience) = &mut request.patience {
            *patience = patience.saturating_sub(began.elapsed());
        }
        // Before the catalogue is looked at: the last source may list its tools between the two looks, and the other
        // way round a tool that has just come would be refused as unknown.
        let complete = self.sources.is_complete();
        match self.locate(caller, &request.tool) {
            Ok(found) if found.entry.mount.is_connected() => Ok(found),
            Ok(found) => Err(not_connected(&found.entry.mount)),
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
        let complete = self.sources.is_complete();
        let catalog = self.sources.catalog();
        let place = catalog.find(wanted).filter(|&place| catalog.permits(caller, place));
        match place.map(|place| &catalog.entry(place).mount) {
            Some(mount) => self.sources.awaited(mount),
            // The usual case of a misspelt name, which must not wait for the lock of the sources.
            None if complete => None,
            None => self.sources.awaited_for(wanted),
        }
    }

    /// The refusal of a name that nobody has, while a source that may have it is starting.
    fn not_known_yet(&self, caller: &Caller, wanted: &ToolRef) -> Option<Refusal> {
        let awaited = self.sources.may_bring(wanted);
        if awaited.is_empty() {
            return None;
        }
        let public = format!("Tool `{wanted}` is not known yet: some sources have not listed their tools");
        let mut message = Message::public(public);
        // Which sources there are is not for callers who may see some tools only.
        if !caller.is_limited() {
            let awaited: Vec<String> = awaited.iter().map(|name| format!("`{name}`")).collect();
            let developer = format!("sources that have not listed their tools: {}", awaited.join(", "));
            message = message.developer(developer);
        }
        Some(Refusal::Unavailable { message, retry_after: Some(RETRY_AFTER) })
    }
}

fn not_connected(mount: &Mount) -> Refusal {
    Refusal::Unavailable {
        message: Message::public(format!("Source `{}` is not connected yet", mount.name)),
        retry_after: Some(RETRY_AFTER),
    }
}
