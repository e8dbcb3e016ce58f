//! Definitions of tools in memory. They serve a source that is replaced while the process runs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::store::{MemoryStore, ready};
use crate::ports::store::{DefinitionStore, DefinitionsKey, StoreFuture};

/// The texts, each with when it was last confirmed.
#[derive(Debug, Default)]
pub(super) struct Definitions(BTreeMap<DefinitionsKey, (String, Instant)>);

impl Definitions {
    pub(super) fn prune(&mut self, keep: Duration) {
        self.0.retain(|_, (_, confirmed)| confirmed.elapsed() < keep);
    }
}

impl DefinitionStore for MemoryStore {
    fn definitions_put<'a>(&'a self, key: &'a DefinitionsKey, text: &'a str) -> StoreFuture<'a, ()> {
        let kept = (text.to_owned(), Instant::now());
        self.records(|records| records.definitions.0.insert(key.clone(), kept));
        ready(())
    }

    fn definitions_find<'a>(&'a self, key: &'a DefinitionsKey) -> StoreFuture<'a, Option<String>> {
        ready(self.records(|records| records.definitions.0.get(key).map(|(text, _)| text.clone())))
    }
}
