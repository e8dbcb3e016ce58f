//! `tools/list` and `tools/call`.

use std::sync::Arc;

use bytes::Bytes;
use toolmux_core::BoxFuture;
use toolmux_core::call::Request;
use toolmux_core::catalog::Catalog;
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::RawJson;
use toolmux_core::names::ToolRef;
use toolmux_core::progress::Progress;
use toolmux_core::tool::Passthrough;

use crate::mcp::MCP;
use crate::mcp::serve::encode::answer::answer;
use crate::mcp::serve::encode::page::{Freshness, page};
use crate::mcp::serve::encode::result::Structure;
use crate::mcp::serve::encode::tool::tool;
use crate::mcp::serve::questions::suspended;
use crate::mcp::serve::request::{Exchange, Peer, RunningCall, relayed_params};
use crate::mcp::serve::tasks::{self, Plan};
use crate::mcp::wire::{Fault, INVALID_PARAMS, Reply};

/// Waits for sources that are connecting for the first time.
pub(in crate::mcp) async fn list(exchange: Exchange) -> Reply {
    let params = exchange.params()?;
    exchange.gateway.sources().wait_until_started().await;
    let (gateway, peer) = (&exchange.gateway, &exchange.peer);
    if params.cursor.is_some() {
        let freshness = Freshness::of(gateway);
        let catalog = gateway.catalog();
        let tools = tools(&catalog, peer);
        return page("tools", tools, params.cursor.as_deref(), peer.revision, freshness);
    }
    Ok(first_page(gateway, peer))
}

/// Prepared once per snapshot.
pub(in crate::mcp) fn first_page(gateway: &Gateway, peer: &Peer) -> Bytes {
    let freshness = Freshness::of(gateway);
    let kind = match (peer.revision, freshness) {
        (modern, Freshness::Complete) if modern.is_modern() => "mcp-modern",
        (modern, Freshness::Incomplete) if modern.is_modern() => "mcp-modern-incomplete",
        (with_tasks, _) if with_tasks.has_tasks() => "mcp-tasks",
        _ => "mcp-legacy",
    };
    let catalog = gateway.catalog();
    let make = || page("tools", tools(&catalog, peer), None, peer.revision, freshness);
    catalog.prepared(kind, &peer.caller, || make().unwrap_or_default())
}

fn tools<'a>(catalog: &'a Catalog, peer: &'a Peer) -> impl Iterator<Item = RawJson> + 'a {
    catalog.newest(&peer.caller).map(|entry| tool(entry, peer.revision))
}

/// Dropping the future cancels the call.
pub(in crate::mcp) async fn call(mut exchange: Exchange) -> Reply {
    let params = exchange.params()?;
    if let Some(state) = suspended::named(params, &exchange) {
        if let Some(task) = tasks::named(state, &exchange) {
            return tasks::resume(&task, params, &exchange).await;
        }
        return suspended::resume(state, params, &exchange).await;
    }
    // What is looked at below belongs to the tool, which a source may still have to list.
    exchange.find_tool().await;
    let (request, structure, plan) = read(&mut exchange)?;
    if let Some(plan) = plan {
        return Box::pin(tasks::call(&exchange, request, plan)).await;
    }
    let peer = &exchange.peer;
    if !exchange.out.is_open() && !peer.capabilities.can_be_asked() {
        let outcome = exchange.gateway.call(&peer.caller, request, &Progress::unheard()).await;
        return answer(outcome, structure, peer);
    }
    let work = {
        let (gateway, peer) = (Arc::clone(&exchange.gateway), peer.clone());
        |progress: Progress| -> BoxFuture<'static, Reply> {
            Box::pin(async move {
                let outcome = gateway.call(&peer.caller, request, &progress).await;
                answer(outcome, structure, &peer)
            })
        }
    };
    let running = RunningCall::begin(&peer.capabilities, exchange.params()?.name_or_uri(), work);
    suspended::drive(running, &exchange).await
}

/// What the gateway is asked, how its outcome is written, and whether the call becomes a task.
fn read(exchange: &mut Exchange) -> Result<(Request, Structure, Option<Plan>), Fault> {
    let invalid = |text: String| Fault::new(INVALID_PARAMS, text);
    let name = exchange.params()?.name.as_deref().ok_or_else(|| invalid("`name` is missing".to_owned()))?;
    let tool = ToolRef::flat(name);
    let arguments = exchange.request.take_arguments().map_err(|error| invalid(error.to_string()))?;
    let mut request = Request::new(tool, arguments);
    let (params, entry) = (exchange.params()?, exchange.tool());
    let structure = Structure::of(entry, exchange.peer.revision);
    let plan = Plan::of(exchange, params, entry)?;
    if entry.is_some_and(|entry| entry.tool.extra.of_protocol(MCP).is_some()) {
        let params = if plan.is_some() {
            relayed_params::of_task(exchange)
        } else {
            relayed_params::unchanged(exchange)
        };
        request.extra = Passthrough::of(MCP, params);
    }
    request.id.clone_from(&exchange.request.call_id);
    request.protocol = MCP.into();
    request.session = exchange.peer.session.as_ref().map(|session| Arc::clone(&session.id));
    request.trace = params.meta.traceparent.clone().or_else(|| exchange.request.trace.clone());
    request.trace_state.clone_from(&params.meta.tracestate);
    Ok((request, structure, plan))
}
