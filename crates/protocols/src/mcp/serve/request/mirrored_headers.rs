//! Arguments that a tool's schema mirrors as headers (2026-07-28): they must stand in both places, and be the same.

use http::HeaderMap;

use super::era::mismatch;
use super::exchange::Exchange;
use super::method::Target;
use crate::mcp::mirror;
use crate::mcp::wire::Fault;

/// Checks the headers of a call. Waits for the tool if its source is still connecting.
pub(in crate::mcp) async fn check(headers: &HeaderMap, exchange: &mut Exchange) -> Result<(), Fault> {
    if exchange.request.method.target != Target::Tool || !exchange.peer.revision.is_modern() {
        return Ok(());
    }
    exchange.find_tool().await;
    let Some(tool) = exchange.tool() else { return Ok(()) };
    let schema = tool.tool.input.value();
    if !mirror::mirrors(schema) {
        return Ok(());
    }
    // Arguments that cannot be read are refused as such by the call.
    let Some(Ok(arguments)) = &exchange.params()?.arguments else { return Ok(()) };
    for (name, expected) in mirror::headers(schema, arguments.map()) {
        let sent = headers.get(name.as_str()).map(|value| value.to_str().ok().and_then(mirror::read));
        match (expected, sent) {
            (None, None) => {}
            (Some(expected), Some(Some(sent))) if equal(&expected, &sent) => {}
            (_, _) => return Err(mismatch(&name)),
        }
    }
    Ok(())
}

fn equal(expected: &str, sent: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    expected == sent || (number(expected).is_some() && number(expected) == number(sent))
}
