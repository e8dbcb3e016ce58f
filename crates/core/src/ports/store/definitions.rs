//! Definitions of tools that sources listed, kept for the next start.

use super::error::StoreFuture;

/// Under what the definitions of a source are kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionsKey {
    /// The name of the source in the configuration.
    pub source: String,
    /// A digest of its configuration: other settings may mean other tools.
    pub digest: String,
}

/// The definitions that were listed last.
pub trait DefinitionStore: Send + Sync {
    /// Keeps the definitions that a source listed; replaces those of the same key.
    fn definitions_put<'a>(&'a self, key: &'a DefinitionsKey, text: &'a str) -> StoreFuture<'a, ()>;

    /// The definitions that were last kept under a key.
    fn definitions_find<'a>(&'a self, key: &'a DefinitionsKey) -> StoreFuture<'a, Option<String>>;
}
