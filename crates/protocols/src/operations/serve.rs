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
    web.shared(if live || (web.gateway.sources().is_ready() && !stopping) {
        json(StatusCode::OK, r#"{"status":"ok"}"#)
    } else {
        json(StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"unready"}"#)
    })
}
