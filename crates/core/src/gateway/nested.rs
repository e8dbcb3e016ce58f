//! Calls that a tool makes while it runs: the same path again, for the same caller, under the same rules.

use std::sync::Arc;

use super::Gateway;
use crate::BoxFuture;
use crate::call::{Call, Caller, NestedPath, Request};
use crate::catalog::Catalog;
use crate::message::Message;
use crate::names::ToolRef;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::trace_context::CallSpan;

/// How deep tools may call tools: beyond that they are taken to call each other in circles.
const MOST_DEPTH: u8 = 8;

impl Call {
    /// Makes another call for the same caller. Dropping the future cancels it.
    pub async fn nested(&self, mut request: Request, progress: &Progress) -> Result<Outcome, Refusal> {
        let depth = self.nested.depth + 1;
        if depth > MOST_DEPTH {
            let words = format!("Tools call each other more than {MOST_DEPTH} levels deep");
            return Err(Refusal::Internal(Message::public(words)));
        }
        // Each tool is given what configuration names for it, and nothing that was added for the tool that calls it.
        request.grants.remove_supplied();
        request.session.clone_from(&self.request.session);
        request.protocol.clone_from(&self.request.protocol);
        request.span = self.request.span.map(|span| CallSpan::below(span.context));
        request.trace_state.clone_from(&self.request.trace_state);
        let path = Arc::clone(&self.nested.path);
        path.call_nested(depth, &self.caller, request, progress).await
    }

    /// Waits until a tool can be called, or no source that is starting could still bring it.
    pub async fn wait_for_tool(&self, wanted: &ToolRef) {
        self.nested.path.wait_for_tool(&self.caller, wanted).await;
    }

    /// What there is to call.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.nested.path.catalog()
    }
}

impl NestedPath for Gateway {
    fn call_nested<'a>(
        self: Arc<Self>,
        depth: u8,
        caller: &'a Caller,
        request: Request,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, Refusal>> {
        Box::pin(async move { self.call_at(depth, caller, request, progress).await })
    }

    fn wait_for_tool<'a>(&'a self, caller: &'a Caller, wanted: &'a ToolRef) -> BoxFuture<'a, ()> {
        Box::pin(Gateway::wait_for_tool(self, caller, wanted))
    }

    fn catalog(&self) -> Arc<Catalog> {
        Gateway::catalog(self)
    }
}
