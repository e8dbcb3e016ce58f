//! One request and all that answering it takes, whatever it came by.

use std::sync::Arc;

use toolmux_core::catalog::Entry;
use toolmux_core::gateway::Gateway;
use toolmux_core::names::ToolRef;

use super::outlet::Outlet;
use super::params::RequestParams;
use super::peer::Peer;
use super::rpc_request::RpcRequest;
use super::session_state::SessionState;
use crate::mcp::wire::Fault;

pub(in crate::mcp) struct Exchange {
    pub(in crate::mcp) gateway: Arc<Gateway>,
    pub(in crate::mcp) session_state: Arc<SessionState>,
    pub(in crate::mcp) peer: Peer,
    pub(in crate::mcp) request: RpcRequest,
    pub(in crate::mcp) out: Outlet,
    /// What [`Exchange::find_tool`] found.
    tool: Option<Arc<Entry>>,
}

impl Exchange {
    pub(in crate::mcp) fn new(
        gateway: Arc<Gateway>,
        session_state: Arc<SessionState>,
        peer: Peer,
        request: RpcRequest,
        out: Outlet,
    ) -> Self {
        Exchange { gateway, session_state, peer, request, out, tool: None }
    }

    pub(in crate::mcp) fn params(&self) -> Result<&RequestParams, Fault> {
        self.request.params()
    }

    /// From which level on a legacy client wants to hear log lines.
    pub(in crate::mcp) fn level(&self) -> String {
        let set = self.peer.session.as_ref().and_then(|session| self.session_state.level(session));
        set.unwrap_or_else(|| "info".to_owned())
    }

    /// Looks for the tool that a call names, after waiting for a source that may still list it. Whoever has looked
    /// before gets the same entry again, so that all steps of one call go by the same schema and hints. A tool that the
    /// caller may not use is as unknown here as it is to the gateway.
    pub(in crate::mcp) async fn find_tool(&mut self) {
        let name = self.request.params().ok().and_then(|params| params.name.as_deref());
        if let Some(name) = name.filter(|_| self.tool.is_none()) {
            let wanted = ToolRef::flat(name);
            self.gateway.wait_for_tool(&self.peer.caller, &wanted).await;
            let catalog = self.gateway.catalog();
            let found = catalog.find(&wanted).filter(|index| catalog.permits(&self.peer.caller, *index));
            self.tool = found.map(|index| Arc::clone(catalog.entry(index)));
        }
    }

    /// The tool that was found.
    pub(in crate::mcp) fn tool(&self) -> Option<&Entry> {
        self.tool.as_deref()
    }
}
