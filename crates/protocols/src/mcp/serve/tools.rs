//! `tools/list` and `tools/call`.

use std::sync::Arc;

use bytes::Bytes;
use toolmux_core::BoxFuture;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::catalog::Catalog;
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::RawJson;
use toolmux_core::names::ToolRef;
use toolmux_core::progress::Progress;
use toolmux_core::tool::Passthrough;

use super::encode::{self, Structure};
use super::exchange::{Exchange, Peer};
use super::page::{Freshness, page};
use super::running::RunningExchange;
use super::suspended::Suspended;
use super::tasks::{self, Plan};
use crate::mcp::MCP;
use crate::mcp::wire::{Fault, INVALID_PARAMS, Params, Reply};

/// Waits for sources that are connecting for the first time.
pub(super) async fn list(exchange: &Exchange) -> Reply {
    let params = exchange.params()?;
    exchange.gateway.sources().wait_until_started().await;
    let (gateway, peer) = (&exchange.gateway, &exchange.peer);
    if params.cursor.is_some() {
        let freshness = Freshness::of(gateway);
        let catalog = gateway.catalog();
        return page("tools", tools(&catalog, peer), params.cursor.as_deref(), (peer.revision, freshness));
    }
    Ok(first_page(gateway, peer))
}

/// Prepared once per snapshot.
pub(super) fn first_page(gateway: &Gateway, peer: &Peer) -> Bytes {
    let freshness = Freshness::of(gateway);
    let kind = match (peer.revision, freshness) {
        (modern, Freshness::Complete) if modern.is_modern() => "mcp-modern",
        (modern, Freshness::Incomplete) if modern.is_modern() => "mcp-modern-incomplete",
        (with_tasks, _) if with_tasks.has_tasks() => "mcp-tasks",
        _ => "mcp-legacy",
    };
    let catalog = gateway.catalog();
    let make = || page("tools", tools(&catalog, peer), None, (peer.revision, freshness));
    catalog.prepared(kind, &peer.caller, || make().unwrap_or_default())
}

fn tools<'a>(catalog: &'a Catalog, peer: &'a Peer) -> impl Iterator<Item = RawJson> + 'a {
    catalog.newest(&peer.caller).map(|entry| encode::tool(entry, peer.revision))
}

/// Dropping the future cancels the call.
pub(super) async fn call(mut exchange: Exchange) -> Reply {
    let params = exchange.params()?;
    if let Some(state) = Suspended::named(&params, &exchange) {
        if let Some(task) = tasks::named(state, &exchange) {
            return tasks::resume(&task, &params, &exchange).await;
        }
        return Suspended::resume(state, &params, &exchange).await;
    }
    if let Some(name) = params.name.as_deref() {
        // What is looked at below belongs to the tool, which a source may still have to list.
        exchange.gateway.wait_for_tool(&exchange.peer.caller, &ToolRef::flat(name)).await;
    }
    let (request, structure, plan) = request(&exchange, &params)?;
    if let Some(plan) = plan {
        return Box::pin(tasks::call(&exchange, request, plan)).await;
    }
    if !exchange.out.is_open() && !exchange.peer.capabilities.can_be_asked() {
        exchange.free_arguments();
        let peer = &exchange.peer;
        let answer = exchange.gateway.call(&peer.caller, request, &Progress::unheard()).await;
        return encode::answer(answer, structure, peer);
    }
    let target = params.name.as_deref().unwrap_or_default().to_owned();
    exchange.free_arguments();
    let (gateway, peer) = (Arc::clone(&exchange.gateway), exchange.peer.clone());
    let work = |progress: Progress| -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let answer = gateway.call(&peer.caller, request, &progress).await;
            encode::answer(answer, structure, &peer)
        })
    };
    RunningExchange::begin(&exchange, &target, work).drive(&exchange).await
}

fn request(exchange: &Exchange, params: &Params<'_>) -> Result<(Request, Structure, Option<Plan>), Fault> {
    let invalid = |text: String| Fault::new(INVALID_PARAMS, text);
    let name = params.name.as_deref().ok_or_else(|| invalid("`name` is missing".to_owned()))?;
    let arguments = Arguments::read(params.arguments).map_err(|error| invalid(error.to_string()))?;
    let mut request = Request::new(ToolRef::flat(name), arguments);
    let catalog = exchange.gateway.catalog();
    let entry = catalog.find(&request.tool).map(|place| catalog.entry(place));
    let entry = entry.map(|entry| &**entry);
    let structure = Structure::of(entry, exchange.peer.revision);
    let plan = Plan::of(exchange, params, entry)?;
    if entry.is_some_and(|entry| entry.tool.extra.said_by(MCP).is_some()) {
        let told = if plan.is_some() { exchange.told_of_task() } else { exchange.told_call() };
        request.extra = Passthrough::of(MCP, told);
    }
    request.id.clone_from(&exchange.asked.call_id);
    request.session = exchange.peer.session.as_ref().map(|session| Arc::clone(&session.id));
    let trace = params.meta().traceparent.as_deref().map(Box::from);
    request.trace = trace.or_else(|| exchange.asked.trace.clone());
    Ok((request, structure, plan))
}
