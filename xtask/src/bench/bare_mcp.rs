//! The least an MCP server can be: one tool of 2026-07-28 over streamable HTTP, for toolmux to stand in front of. The same
//! function is an HTTP API at `/add`.

use std::net::SocketAddr;

use anyhow::Context;
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct ReceivedRequest {
    #[serde(default)]
    id: Value,
    method: String,
    #[serde(default)]
    params: Params,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    arguments: Numbers,
}

#[derive(Default, Deserialize)]
#[serde(default)]
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
        let routes = Router::new().route("/mcp", post(answer)).route("/add", post(add));
        axum::serve(listener, routes).await.context("cannot serve")
    })
}

async fn answer(Json(asked): Json<ReceivedRequest>) -> Json<Value> {
    let result = match asked.method.as_str() {
        "server/discover" => json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "public" }),
        "tools/list" => {
            let number = json!({ "type": "integer" });
            let schema = json!({ "type": "object", "properties": { "a": number, "b": number }, "required": ["a", "b"] });
            json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "public",
                "tools": [{ "name": "add", "description": "Adds two numbers", "inputSchema": schema }] })
        }
        _ => {
            let sum = asked.params.arguments.a + asked.params.arguments.b;
            json!({ "resultType": "complete", "content": [{ "type": "text", "text": sum.to_string() }],
                "structuredContent": { "sum": sum } })
        }
    };
    Json(json!({ "jsonrpc": "2.0", "id": asked.id, "result": result }))
}

async fn add(Json(Numbers { a, b }): Json<Numbers>) -> Json<Value> {
    Json(json!({ "sum": a + b }))
}
