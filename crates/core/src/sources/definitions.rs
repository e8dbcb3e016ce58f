//! Definitions of tools kept in the store: what a source listed is served at once after a restart, until it lists
//! again. Calls of such tools wait for the source (`starting.rs`).

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::mount::Mount;
use super::slots::{Definitions, SourceSlot, Sources};
use crate::duty_cycle::DutyCycle;
use crate::ports::source::Listing;
use crate::tool::Passthrough;

/// How often definitions that did not change are written again, so that the store does not remove them as unused.
const CONFIRM_EVERY: Duration = Duration::from_hours(24);
/// When definitions that could not be written are written again.
const TRY_AGAIN: Duration = Duration::from_mins(10);

/// What is kept of a source. A text that does not read as this is as good as none.
#[derive(Serialize, Deserialize)]
struct KeptDefinitions {
    listing: Listing,
    offered: Passthrough,
}

/// The definitions as they are kept, for a source whose definitions are.
pub(super) fn written(mount: &Mount, listing: &Listing, offered: &Passthrough) -> Option<String> {
    mount.definitions.as_ref()?;
    let kept = KeptDefinitions { listing: listing.clone(), offered: offered.clone() };
    serde_json::to_string(&kept).ok()
}

impl Sources {
    /// Serves what a source listed in an earlier run, unless it has listed since.
    pub(super) async fn recall_definitions(self: &Arc<Self>, mount: &Arc<Mount>) {
        let Some(key) = &mount.definitions else { return };
        let text = match self.store.definitions_find(key).await {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(error) => {
                let developer = error.message.developer;
                tracing::debug!(source = mount.name, developer, "definitions of an earlier run are not read");
                return;
            }
        };
        let (sources, mount) = (Arc::clone(self), Arc::clone(mount));
        // Compiling thousands of schemas takes long enough to keep it off the threads that answer.
        tokio::task::spawn_blocking(move || sources.serve_kept(&mount, &text)).await.ok();
    }

    fn serve_kept(&self, mount: &Arc<Mount>, text: &str) {
        let KeptDefinitions { listing, offered } = match serde_json::from_str(text) {
            Ok(kept) => kept,
            Err(error) => {
                tracing::debug!(source = mount.name, %error, "definitions of an earlier run cannot be read");
                return;
            }
        };
        mount.source.recall(&offered);
        let tools = mount.entries(&listing, &self.rules.load(), Some(DutyCycle::default()));
        self.slots(|slots| {
            // The source may have listed while this was read, or have been replaced; another of its name would
            // have the same tools.
            let alone = slots.iter().filter(|slot| slot.mount.name == mount.name).count() == 1;
            let awaits = |slot: &&mut SourceSlot| {
                Arc::ptr_eq(&slot.mount, mount) && slot.definitions == Definitions::Unknown
            };
            let Some(slot) = slots.iter_mut().find(awaits).filter(|_| alone) else { return };
            (slot.listing, slot.tools) = (Arc::new(listing), tools);
            (slot.offered, slot.definitions) = (offered, Definitions::Kept);
            self.swap(slots);
        });
    }

    /// Writes what a source listed, for the next start.
    pub(super) async fn keep_definitions(&self, mount: &Arc<Mount>, text: Option<String>) {
        let (Some(key), Some(text)) = (&mount.definitions, text) else { return };
        let most = self.rules.load().limits.definitions_bytes;
        let next = if text.len() > most {
            tracing::info!(
                source = mount.name,
                bytes = text.len(),
                "definitions over {most} bytes are not kept"
            );
            CONFIRM_EVERY
        } else if let Err(error) = self.store.definitions_put(key, &text).await {
            tracing::debug!(
                source = mount.name,
                developer = error.message.developer,
                "definitions are not kept"
            );
            TRY_AGAIN
        } else {
            CONFIRM_EVERY
        };
        self.slots(|slots| {
            if let Some(slot) = slots.iter_mut().find(|slot| Arc::ptr_eq(&slot.mount, mount)) {
                slot.keep_at = Some(Instant::now() + next);
            }
        });
    }
}
