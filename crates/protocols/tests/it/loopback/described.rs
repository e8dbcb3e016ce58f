//! Sources whose servers somebody else described: an API by a configuration, a JSON-RPC server by its OpenRPC document.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolmux_core::gateway::Gateway;

use super::contract::{OtherSide, Tools};
use super::remote::proxy;

const NAMES: Tools = Tools {
    add: "add",
    sum: "3.0",
    fail: "fail",
    why: "It is not there",
    slow: "slow",
    leaves: "text",
    left: "failed",
    late: None,
};

#[derive(Default)]
struct Api {
    running: AtomicUsize,
    shrunk: AtomicBool,
}

/// Counts a call until it is dropped.
struct Running(Arc<Api>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Api {
    async fn slow(self: Arc<Self>) -> Value {
        self.running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(self);
        std::future::pending().await
    }
}

type Shared = State<Arc<Api>>;

fn sum(arguments: &Value) -> Value {
    json!(arguments["a"].as_f64().unwrap_or_default() + arguments["b"].as_f64().unwrap_or_default())
}

/// The same tools as an API and as methods of JSON-RPC.
fn router(api: Arc<Api>) -> Router {
    Router::new()
        .route("/add", post(async |Json(arguments): Json<Value>| Json(sum(&arguments))))
        .route("/fail", get(async || (StatusCode::NOT_FOUND, "It is not there")))
        .route("/slow", get(async |State(api): Shared| Json(api.slow().await)))
        .route("/text", get(text))
        .route("/rpc", post(rpc))
        .with_state(api)
}

async fn text(State(api): Shared) -> Response {
    let is_gone = api.shrunk.load(Ordering::SeqCst);
    if is_gone { StatusCode::NOT_FOUND.into_response() } else { "text".into_response() }
}

async fn rpc(State(api): Shared, Json(request): Json<Value>) -> Json<Value> {
    let shrunk = api.shrunk.load(Ordering::SeqCst);
    let answer = match request["method"].as_str().unwrap_or_default() {
        "rpc.discover" => Ok(document()),
        "add" => Ok(sum(&request["params"])),
        "slow" => Ok(api.slow().await),
        "text" if !shrunk => Ok(json!("text")),
        "fail" => Err(json!({ "code": 7, "message": "It is not there" })),
        _ => Err(json!({ "code": -32601, "message": "no such method" })),
    };
    let (member, value) = match answer {
        Ok(result) => ("result", result),
        Err(error) => ("error", error),
    };
    Json(json!({ "jsonrpc": "2.0", "id": request["id"], member: value }))
}

fn document() -> Value {
    let number = |name: &str| json!({ "name": name, "required": true, "schema": { "type": "number" } });
    let method = |name: &str, params: Value| json!({ "name": name, "paramStructure": "by-name", "params": params, "result": { "name": "r", "schema": {} } });
    let methods = json!([
        method("add", json!([number("a"), number("b")])),
        method("fail", json!([])),
        method("slow", json!([])),
        method("text", json!([])),
    ]);
    json!({ "openrpc": "1.3.2", "info": { "title": "T", "version": "1.0.0" }, "methods": methods })
}

struct Described {
    api: Arc<Api>,
    connections: Arc<AtomicUsize>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Described {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl OtherSide for Described {
    fn running(&self) -> usize {
        self.api.running.load(Ordering::SeqCst)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    async fn shrink(&self, _: &Arc<Gateway>) {
        self.api.shrunk.store(true, Ordering::SeqCst);
    }
}

async fn check(kind: &str, table: impl Fn(&str) -> Value, tools: Tools) {
    let api = Arc::<Api>::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let router = router(Arc::clone(&api));
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
    let (base, connections, proxy) = proxy(address).await;
    let described = Described { api, connections, tasks: [serving, proxy] };
    let gateway = super::contract::gateway(super::open(kind, table(&base))).await;
    super::contract::check(gateway, tools, described).await;
}

#[tokio::test]
async fn an_api_that_is_described_is_a_source() {
    let number = || json!({ "type": "number" });
    let tool = |request: &str, parameters: Value| json!({ "description": "d", "request": request, "parameters": parameters });
    let tools = json!({
        "add": tool("POST /add", json!({ "a": number(), "b": number() })), "fail": tool("GET /fail", json!({})),
        "slow": tool("GET /slow", json!({})), "text": tool("GET /text", json!({})),
    });
    check("http", |base| json!({ "url": base, "tools": tools }), NAMES).await;
}

#[tokio::test]
async fn a_json_rpc_server_that_describes_itself_is_a_source() {
    let tools = Tools { left: "unknown_tool", ..NAMES };
    check("openrpc", |base| json!({ "url": format!("{base}/rpc") }), tools).await;
}
