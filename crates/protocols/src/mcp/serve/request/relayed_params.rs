//! The parameters of a request as the source is given them that answers it.

use toolmux_core::json_text::RawJson;

use super::exchange::Exchange;
use crate::mcp::members::Members;
use crate::mcp::wire::{CAPABILITIES, LOG_LEVEL, VERSION};

/// The parameters as a modern client writes them; its own go on as they came.
pub(in crate::mcp) fn unchanged(exchange: &Exchange) -> RawJson {
    match &exchange.request.text {
        Some(params) if exchange.peer.revision.is_modern() => params.clone(),
        _ => with(exchange, |_| ()),
    }
}

/// The parameters as a modern client would have written them: with its capabilities, so that a source can declare
/// them. `change` may rewrite members.
pub(in crate::mcp) fn with(exchange: &Exchange, change: impl FnOnce(&mut Members<'_>)) -> RawJson {
    let mut members = Members::read_or_empty(exchange.request.text.as_deref());
    let meta = members.get("_meta").map(ToOwned::to_owned);
    if !exchange.peer.revision.is_modern() {
        let mut meta = Members::read_or_empty(meta.as_deref());
        if let Some(declared) = exchange.peer.capabilities.declared() {
            meta.put_raw(CAPABILITIES, declared.to_owned());
        }
        if exchange.out.is_open() {
            meta.put(LOG_LEVEL, &exchange.level());
        }
        members.put_raw("_meta", meta.write());
    }
    change(&mut members);
    members.write()
}

/// The same for a call that runs as a task: its questions are put where the task is followed, never by a result, and a
/// task of ours is no task of the source's.
pub(in crate::mcp) fn of_task(exchange: &Exchange) -> RawJson {
    with(exchange, |members| {
        let meta = members.get("_meta").map(ToOwned::to_owned);
        let mut meta = Members::read_or_empty(meta.as_deref());
        meta.remove(VERSION);
        members.put_raw("_meta", meta.write());
        members.remove("task");
        // These parameters are kept with the task, which has the arguments already.
        members.remove("arguments");
    })
}
