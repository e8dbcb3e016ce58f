//! We answer as an OpenTool server.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use toolmux_core::example::example_arguments;
use toolmux_core::progress::Progress;

use super::wire;
use crate::registry::Served;
use crate::web::{Web, json};

pub(crate) const SERVED: Served = Served {
    name: "OpenTool",
    path: "/opentool",
    routes,
    try_it: |base, tool| {
        let params = example_arguments(tool.tool.input.value());
        let body = serde_json::json!({ "jsonrpc": "2.0", "method": tool.flat, "params": params, "id": "1" });
        Some(format!("curl {base}/opentool/call -H 'content-type: application/json' -d '{body}'"))
    },
};

fn routes() -> Router<Arc<Web>> {
    Router::new().route("/opentool/version", get(version)).route("/opentool/call", post(call))
}

async fn version(State(web): State<Arc<Web>>, request: Request) -> Response {
    match web.admit(&request.into_parts().0) {
        Ok(_) => json(StatusCode::OK, concat!(r#"{"version":""#, env!("CARGO_PKG_VERSION"), r#""}"#)),
        Err(refusal) => wire::encode(None, Err(refusal)),
    }
}

async fn call(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (caller, _, body) = match web.open(request).await {
        Ok(opened) => opened,
        Err(refusal) => return wire::encode(None, Err(refusal)),
    };
    match wire::decode(&body) {
        Ok((request, id)) => {
            wire::encode(Some(id), web.gateway.call(&caller, request, &Progress::unheard()).await)
        }
        Err(refusal) => wire::encode(None, Err(refusal)),
    }
}
