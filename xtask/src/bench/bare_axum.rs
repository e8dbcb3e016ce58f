//! The least an HTTP server can do for the same request: read the envelope, look the tool up by its name, read its
//! arguments, add, and write the answer. Nothing is copied that need not be, so that a ratio to it hides nothing.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::value::RawValue;

type Tools = Arc<HashMap<&'static str, fn(&str) -> Option<i64>>>;

/// A call over OpenTool and a request over MCP: both are JSON-RPC.
#[derive(Deserialize)]
struct RpcCall<'a> {
    method: &'a str,
    #[serde(borrow)]
    params: &'a RawValue,
    #[serde(borrow)]
    id: &'a RawValue,
}

#[derive(Deserialize)]
struct ToolParameters<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
struct OxpCall<'a> {
    #[serde(default)]
    call_id: &'a str,
    tool_id: &'a str,
    #[serde(borrow)]
    input: &'a RawValue,
}

#[derive(Deserialize)]
struct Numbers {
    a: i64,
    b: i64,
}

/// Serves until the process is ended.
pub(crate) fn serve(listen: SocketAddr) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener =
            tokio::net::TcpListener::bind(listen).await.with_context(|| format!("cannot bind {listen}"))?;
        eprintln!("listening on http://{}", listener.local_addr()?);
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
            stream.set_nodelay(true).ok();
        });
        axum::serve(listener, router()).await.context("cannot serve")
    })
}

fn router() -> Router {
    let tools = tools();
    Router::new()
        .route(
            "/opentool/call",
            post(|State(tools), body: Bytes| async move { reply(opentool(&tools, &body)) }),
        )
        .route("/tools/call", post(|State(tools), body: Bytes| async move { reply(oxp(&tools, &body)) }))
        .route("/mcp", post(|State(tools), body: Bytes| async move { reply(mcp(&tools, &body)) }))
        .with_state(tools)
}

/// The tool by its flat name, and by its id for OXP.
fn tools() -> Tools {
    let add: fn(&str) -> Option<i64> = add;
    Arc::new(HashMap::from([("Calculator_add", add), ("Calculator.add", add)]))
}

fn add(arguments: &str) -> Option<i64> {
    let Numbers { a, b } = serde_json::from_str(arguments).ok()?;
    a.checked_add(b)
}

fn reply(body: Option<String>) -> Response {
    match body {
        Some(body) => ([(CONTENT_TYPE, "application/json")], body).into_response(),
        None => StatusCode::BAD_REQUEST.into_response(),
    }
}

fn opentool(tools: &Tools, body: &[u8]) -> Option<String> {
    let call: RpcCall<'_> = serde_json::from_slice(body).ok()?;
    let sum = tools.get(call.method)?(call.params.get())?.to_string();
    let id = call.id.get();
    Some([r#"{"jsonrpc":"2.0","result":{"result":"#, &sum, r#"},"error":null,"id":"#, id, "}"].concat())
}

fn oxp(tools: &Tools, body: &[u8]) -> Option<String> {
    let call: OxpCall<'_> = serde_json::from_slice(body).ok()?;
    let sum = tools.get(call.tool_id)?(call.input.get())?.to_string();
    let begin = [r#"{"call_id":""#, call.call_id, r#"","duration":0,"success":true,"value":"#];
    Some([&begin.concat(), &*sum, "}"].concat())
}

fn mcp(tools: &Tools, body: &[u8]) -> Option<String> {
    let call: RpcCall<'_> = serde_json::from_slice(body).ok()?;
    let parameters: ToolParameters<'_> =
        serde_json::from_str(call.params.get()).ok().filter(|_| call.method == "tools/call")?;
    let sum = tools.get(parameters.name)?(parameters.arguments.get())?.to_string();
    let begin =
        [r#"{"jsonrpc":"2.0","id":"#, call.id.get(), r#","result":{"content":[{"type":"text","text":""#];
    Some([&begin.concat(), &*sum, r#""}],"resultType":"complete"}}"#].concat())
}

#[cfg(test)]
mod tests {
    use super::{Tools, mcp, opentool, oxp, tools};

    fn check(answer: fn(&Tools, &[u8]) -> Option<String>, body: &str, expect: Option<&str>) {
        assert_eq!(answer(&tools(), body.as_bytes()).as_deref(), expect, "{body}");
    }

    #[test]
    fn every_protocol_gets_its_sum() {
        check(
            opentool,
            r#"{"jsonrpc":"2.0","method":"Calculator_add","params":{"a":1,"b":2},"id":"7"}"#,
            Some(r#"{"jsonrpc":"2.0","result":{"result":3},"error":null,"id":"7"}"#),
        );
        check(
            oxp,
            r#"{"call_id":"c","tool_id":"Calculator.add","input":{"a":1,"b":2}}"#,
            Some(r#"{"call_id":"c","duration":0,"success":true,"value":3}"#),
        );
        check(
            mcp,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"Calculator_add","arguments":{"a":1,"b":2}}}"#,
            Some(
                r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"3"}],"resultType":"complete"}}"#,
            ),
        );
        check(opentool, r#"{"method":"other","params":{"a":1,"b":2},"id":7}"#, None);
    }
}
