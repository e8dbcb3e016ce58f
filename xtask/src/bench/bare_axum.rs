//! The least an HTTP server can do for the same request: parse the call, add, answer in the shape of the
//! protocol.

use std::net::SocketAddr;

use anyhow::Context;
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Call {
    #[expect(dead_code, reason = "parsed because a server has to look at it")]
    jsonrpc: String,
    #[expect(dead_code, reason = "parsed because a server has to look at it")]
    method: String,
    params: Parameters,
    id: String,
}

#[derive(Deserialize)]
struct Parameters {
    a: f64,
    b: f64,
}

#[derive(Serialize)]
struct Answer {
    jsonrpc: &'static str,
    result: Sum,
    id: String,
}

#[derive(Serialize)]
struct Sum {
    result: f64,
}

#[derive(Deserialize)]
struct CallTool {
    #[expect(dead_code, reason = "parsed because a server has to look at it")]
    tool_id: String,
    input: Parameters,
}

#[derive(Serialize)]
struct Called {
    call_id: &'static str,
    success: bool,
    value: f64,
}

#[derive(Deserialize)]
struct Message {
    #[expect(dead_code, reason = "parsed because a server has to look at it")]
    jsonrpc: String,
    #[expect(dead_code, reason = "parsed because a server has to look at it")]
    method: String,
    params: ToolParameters,
    id: u64,
}

#[derive(Deserialize)]
struct ToolParameters {
    #[expect(dead_code, reason = "parsed because a server has to look at it")]
    name: String,
    arguments: Parameters,
}

#[derive(Serialize)]
struct Reply {
    jsonrpc: &'static str,
    id: u64,
    result: CallToolResult,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallToolResult {
    content: [Text; 1],
    result_type: &'static str,
}

#[derive(Serialize)]
struct Text {
    r#type: &'static str,
    text: String,
}

/// Serves until the process is ended.
pub(crate) fn serve(listen: SocketAddr) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener =
            tokio::net::TcpListener::bind(listen).await.with_context(|| format!("cannot bind {listen}"))?;
        eprintln!("listening on http://{}", listener.local_addr()?);
        let router = Router::new()
            .route("/opentool/call", post(call))
            .route("/tools/call", post(call_tool))
            .route("/mcp", post(message));
        axum::serve(listener, router).await.context("cannot serve")
    })
}

async fn call(Json(call): Json<Call>) -> Json<Answer> {
    let result = Sum { result: call.params.a + call.params.b };
    Json(Answer { jsonrpc: "2.0", result, id: call.id })
}

async fn call_tool(Json(call): Json<CallTool>) -> Json<Called> {
    Json(Called { call_id: "1", success: true, value: call.input.a + call.input.b })
}

async fn message(Json(message): Json<Message>) -> Json<Reply> {
    let Parameters { a, b } = message.params.arguments;
    let content = [Text { r#type: "text", text: (a + b).to_string() }];
    let result = CallToolResult { content, result_type: "complete" };
    Json(Reply { jsonrpc: "2.0", id: message.id, result })
}
