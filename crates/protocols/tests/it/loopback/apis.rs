//! An HTTP API behind a document as a source, through a proxy that counts connections.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolmux_core::gateway::Gateway;

use super::contract::{OtherSide, Tools, check, gateway, is_listed, until};
use super::open;
use super::remote::proxy;

const TOOLS: Tools = Tools {
    add: "add",
    sum: "3.0",
    fail: "fail",
    why: "It is not there",
    slow: "slow",
    leaves: "leaves",
    left: "unknown_tool",
    late: None,
};

#[derive(Deserialize)]
struct Numbers {
    a: f64,
    b: f64,
}

/// Counts a request that is being answered, until it is dropped.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The API, and its document in a file.
struct Api {
    folder: TempDir,
    running: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Api {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Api {
    fn document(&self) -> PathBuf {
        self.folder.path().join("api.json")
    }
}

impl OtherSide for Api {
    fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The file of the document is looked at from time to time.
    async fn shrink(&self, gateway: &Arc<Gateway>) {
        let mut fewer: Value =
            serde_json::from_slice(&std::fs::read(self.document()).expect("read")).expect("JSON");
        fewer["paths"].as_object_mut().expect("an object").shift_remove("/leaves");
        std::fs::write(self.document(), fewer.to_string()).expect("written");
        until("it leaves the list", || !is_listed(gateway, TOOLS.leaves)).await;
    }
}

fn routes(running: &Arc<AtomicUsize>) -> Router {
    let running = Arc::clone(running);
    let slow = move || async move {
        running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(Arc::clone(&running));
        std::future::pending::<()>().await;
    };
    let add = |Query(Numbers { a, b }): Query<Numbers>| async move { axum::Json(a + b) };
    Router::new()
        .route("/v1/add", get(add))
        .route("/v1/fail", post(|| async { (StatusCode::CONFLICT, "It is not there") }))
        .route("/v1/slow", post(slow))
        .route("/v1/leaves", get(|| async { "still there" }))
}

fn description() -> Value {
    let number =
        |name: &str| json!({ "name": name, "in": "query", "required": true, "schema": { "type": "number" } });
    json!({ "openapi": "3.1.0", "info": { "title": "API", "version": "1" }, "paths": {
        "/add": { "get": { "operationId": "add", "parameters": [number("a"), number("b")] } },
        "/fail": { "post": { "operationId": "fail" } },
        "/slow": { "post": { "operationId": "slow" } },
        "/leaves": { "get": { "operationId": "leaves" } },
    } })
}

#[tokio::test]
async fn an_api_behind_a_document_is_a_source() {
    let (running, listener) = (Arc::default(), TcpListener::bind("127.0.0.1:0").await.expect("a free port"));
    let (routes, address) = (routes(&running), listener.local_addr().expect("bound"));
    let serving = tokio::spawn(async move { axum::serve(listener, routes).await.expect("it serves") });
    let (base, connections, proxying) = proxy(address.to_string()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let api = Api { folder, running, connections, tasks: [serving, proxying] };
    std::fs::write(api.document(), description().to_string()).expect("written");
    let table = json!({ "document": api.document(), "url": format!("{base}/v1") });
    check(gateway(open("openapi", table)).await, TOOLS, api).await;
}
