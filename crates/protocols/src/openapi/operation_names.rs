//! What the tool of an operation is called, and which operations a configuration includes.

use std::collections::HashSet;

use toolmux_core::toolset::fits;

use super::document::{text_of, texts_of};
use super::path_items::FoundOperation;

/// The names that were given so far.
#[derive(Default)]
pub(super) struct OperationNames(HashSet<String>);

impl OperationNames {
    /// The operation's own id, else its method and path; a name that is taken gets a number.
    pub(super) fn give(&mut self, found: &FoundOperation<'_>) -> String {
        let described = described(found);
        let wanted = text_of(found.operation, "operationId").map_or_else(|| described.clone(), str::to_owned);
        let numbered = (2..).map(|number| format!("{described}_{number}"));
        let mut names = [wanted, described.clone()].into_iter().chain(numbered);
        let free = names.find(|name| !self.0.contains(name)).unwrap_or(described);
        self.0.insert(free.clone());
        free
    }
}

/// `get_pets_petId` for `GET /pets/{petId}`.
fn described(found: &FoundOperation<'_>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words = found.path.split(|c| !plain(c)).filter(|word| !word.is_empty());
    std::iter::once(found.member().as_str()).chain(words).collect::<Vec<_>>().join("_")
}

/// Whether one of the patterns of `include` fits the name or a tag of the operation.
pub(super) fn is_included(found: &FoundOperation<'_>, name: &str, include: Option<&[String]>) -> bool {
    let Some(patterns) = include else { return true };
    patterns.iter().any(|pattern| matches_operation(pattern, found, name))
}

/// Whether a pattern fits the name or a tag of the operation.
pub(super) fn matches_operation(pattern: &str, found: &FoundOperation<'_>, name: &str) -> bool {
    fits(pattern, name) || texts_of(found.operation, "tags").iter().any(|tag| fits(pattern, tag))
}
