//! What callers may ask of sources besides calling tools, for protocols that pass it on.

use std::sync::Arc;

use super::Gateway;

/// Prompts, resources, completions and subscriptions of sources: what there is (`offers.rs`) and asking for it
/// (`relay.rs`).
#[derive(Clone, Copy)]
pub struct Relays<'a>(pub(super) &'a Arc<Gateway>);

impl Gateway {
    /// What sources offer besides tools.
    pub fn relays(self: &Arc<Self>) -> Relays<'_> {
        Relays(self)
    }
}
