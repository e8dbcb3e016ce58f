//! `logging/setLevel`: from which level on a session of the handshake era wants to hear log lines.

use serde_json::Value;

use crate::mcp::serve::request::Exchange;
use crate::mcp::wire::{Fault, INVALID_PARAMS, Reply, empty_result};

/// No level has a longer name.
const LONGEST_LEVEL: usize = 32;

pub(in crate::mcp) fn answer(exchange: &Exchange) -> Reply {
    let level = exchange.request.text.as_ref().and_then(|params| {
        let params: Value = serde_json::from_str(params.get()).ok()?;
        params["level"].as_str().map(str::to_owned)
    });
    let level = level.ok_or_else(|| Fault::new(INVALID_PARAMS, "`level` is missing"))?;
    if level.len() > LONGEST_LEVEL {
        return Err(Fault::new(INVALID_PARAMS, "`level` is not a log level such as `info` or `error`"));
    }
    if let Some(session) = &exchange.peer.session {
        exchange.session_state.set_level(session, level);
    }
    Ok(empty_result())
}
