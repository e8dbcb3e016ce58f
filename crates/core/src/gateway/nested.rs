//! Calls that a tool makes while it runs: the same path again, for the same caller, under the same rules.

use std::fmt;
use std::sync::Arc;

use super::Gateway;
use crate::call::{Call, Request};
use crate::catalog::Catalog;
use crate::message::Message;
use crate::names::ToolRef;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::refusal::Refusal;

/// How deep tools may call tools: beyond that they are taken to call each other in circles.
const MOST_DEPTH: u8 = 8;

/// The way back into the gateway that every call has.
#[derive(Clone)]
pub(crate) struct NestedCalls {
    pub(super) gateway: Arc<Gateway>,
    pub(super) depth: u8,
}

impl fmt::Debug for NestedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NestedCalls").field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl Call {
    /// Makes another call for the same caller. Dropping the future cancels it.
    pub async fn nested(&self, mut request: Request, progress: &Progress) -> Result<Outcome, Refusal> {
        let depth = self.nested.depth + 1;
        if depth > MOST_DEPTH {
            let words = format!("Tools call each other more than {MOST_DEPTH} deep");
            return Err(Refusal::Internal(Message::public(words)));
        }
        // Each tool is given what configuration names for it, and nothing that was added for the tool that calls it.
        request.grants.remove_supplied();
        request.session.clone_from(&self.request.session);
        self.nested.gateway.call_at(depth, &self.caller, request, progress).await
    }

    /// Waits until a tool can be called, or no source that is starting could still bring it.
    pub async fn wait_for_tool(&self, wanted: &ToolRef) {
        self.nested.gateway.wait_for_tool(&self.caller, wanted).await;
    }

    /// What there is to call.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.nested.gateway.catalog()
    }
}
