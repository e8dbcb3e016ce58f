//! Definitions of tools kept in the store: what a source listed is served at once after a restart, until it lists
//! again. Calls of such tools wait for the source (`starting.rs`).

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::mount::Mount;
use super::refresh::{Prepared, Published};
use super::rules::SourceRules;
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
        let listing = Arc::new(listing);
        loop {
            let rules = self.rules.load_full();
            let tools = mount.entries(&listing, &rules, Some(DutyCycle::default()));
            let kept = Prepared { listing: Arc::clone(&listing), offered: offered.clone(), tools };
            if self.publish_kept(mount, &rules, kept) == Published::Done {
                return;
            }
        }
    }

    fn publish_kept(&self, mount: &Arc<Mount>, rules: &Arc<SourceRules>, kept: Prepared) -> Published {
        self.slots(|slots| {
            // Under the lock, as is every change of the rules. A change that came while the schemas were compiled found no
            // tools to apply to, and these would be served under the old rules: a tool that is hidden now, for example.
            if !Arc::ptr_eq(rules, &self.rules.load()) {
                return Published::RulesChanged;
            }
            // The source may have listed while this was read, or have been replaced; another of its name would
            // have the same tools.
            let alone = slots.iter().filter(|slot| slot.mount.name == mount.name).count() == 1;
            let awaits = |slot: &&mut SourceSlot| {
                Arc::ptr_eq(&slot.mount, mount) && slot.definitions == Definitions::Unknown
            };
            if let Some(slot) = slots.iter_mut().find(awaits).filter(|_| alone) {
                (slot.listing, slot.tools) = (kept.listing, kept.tools);
                (slot.offered, slot.definitions) = (kept.offered, Definitions::Kept);
                self.swap(slots);
            }
            Published::Done
        })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::BoxFuture;
    use crate::background::Background;
    use crate::call::Call;
    use crate::memory::MemoryStore;
    use crate::outcome::Outcome;
    use crate::ports::source::{Source, SourceError};
    use crate::progress::Progress;
    use crate::schema::Schema;
    use crate::sources::{Naming, ToolSettings};
    use crate::tool::Tool;
    use crate::toolset::Pattern;

    /// A source that never lists anything.
    struct Silent;

    impl Source for Silent {
        fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
            Box::pin(std::future::pending())
        }

        fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test]
    async fn kept_definitions_are_not_served_under_rules_that_changed_meanwhile() {
        let sources =
            Sources::new(SourceRules::default(), Arc::new(MemoryStore::default()), Background::default());
        sources.mount(Mount::new("Kit", "Kit", Naming::Prefixed, Arc::new(Silent)));
        let mount = sources.find("Kit").expect("it is mounted");
        let listing = Arc::new(Listing::from(vec![Tool::new("secret", "", Schema::new(json!({})))]));
        let kept = |rules: &SourceRules| Prepared {
            listing: Arc::clone(&listing),
            offered: Passthrough::default(),
            tools: mount.entries(&listing, rules, None),
        };
        let before = sources.rules.load_full();
        let compiled = kept(&before);
        let hidden = ToolSettings { hidden: Some(true), ..ToolSettings::default() };
        let tools = vec![(Pattern::new("Kit.secret"), hidden)];
        sources.configure(SourceRules { tools, ..SourceRules::default() }, || |_: &str| false);

        assert_eq!(sources.publish_kept(&mount, &before, compiled), Published::RulesChanged);
        assert!(sources.catalog().is_empty());
        let now = sources.rules.load_full();
        assert_eq!(sources.publish_kept(&mount, &now, kept(&now)), Published::Done);
        assert!(sources.catalog().is_empty(), "the tool is hidden");
    }
}
