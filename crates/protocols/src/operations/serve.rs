//! What operators ask: `/metrics`, and `/health`, which OXP and ATS share.

use std::sync::Arc;

use axum::extract::{RawQuery, Request, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use tokio_util::sync::CancellationToken;
use toolmux_http::serve::curl::quoted;
use toolmux_http::serve::{Access, Routes, Served, Web, json};

pub(crate) const SERVED: Served = Served {
    name: "metrics",
    path: "/metrics",
    routes,
    try_it: |base, _| Some(format!("curl {}/metrics", quoted(base))),
    client_headers: None,
};

const OK: &str = r#"{"status":"ok"}"#;

fn routes() -> Routes {
    Routes::default().get("/metrics", Access::UnlimitedCallers, metrics).get(
        "/health",
        Access::Anybody,
        health,
    )
}

async fn metrics(State(web): State<Arc<Web>>, request: Request) -> Response {
    match web.admit(&request.into_parts().0) {
        // The counters name every tool, so they are for those who may see every tool.
        Ok(caller) if caller.is_limited() => {
            (StatusCode::NOT_FOUND, "metrics are for callers without a toolset").into_response()
        }
        Ok(_) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], web.gateway.metrics().text())
            .into_response(),
        Err(refusal) => (StatusCode::UNAUTHORIZED, refusal.message().public).into_response(),
    }
}

/// The answer of OXP and ATS at once; the only address that never asks who is there. `?live` asks only whether
/// the process answers, for probes that restart one that does not.
async fn health(State(web): State<Arc<Web>>, RawQuery(query): RawQuery) -> Response {
    let live = query.is_some_and(|query| query.split('&').any(|part| part == "live" || part == "live="));
    let stopping = web.stop.as_ref().is_some_and(CancellationToken::is_cancelled);
    let unready = |body: String| json(StatusCode::SERVICE_UNAVAILABLE, body);
    web.shared(if live {
        json(StatusCode::OK, OK)
    } else if stopping || !web.gateway.sources().is_ready() {
        unready(serde_json::json!({ "status": "unready" }).to_string())
    } else if let Some(fault) = web.gateway.store().fault() {
        // Only a restart helps, so nobody should be sent here until then.
        unready(serde_json::json!({ "status": "unready", "store": fault.message.public }).to_string())
    } else {
        json(StatusCode::OK, OK)
    })
}
