//! What operators ask: `/metrics`, and `/health`, which OXP and ATS share.

use std::sync::Arc;

use axum::extract::{RawQuery, Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use tokio_util::sync::CancellationToken;
use toolmux_core::metrics::MetricsFormat;
use toolmux_http::serve::curl::quoted;
use toolmux_http::serve::{Access, Routes, Served, Web, json};

pub(crate) const SERVED: Served = Served {
    name: "metrics",
    path: "/metrics",
    routes,
    try_it: |base, _| Some(format!("curl {}/metrics", quoted(base))),
    shows: None,
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
    let (parts, _) = request.into_parts();
    match web.admit(&parts) {
        // The counters name every tool, so they are for those who may see every tool.
        Ok(caller) if caller.is_limited() => {
            (StatusCode::NOT_FOUND, "metrics are for callers without a toolset").into_response()
        }
        Ok(_) => {
            let format = metrics_format(&parts.headers);
            ([(header::CONTENT_TYPE, format.content_type())], web.gateway.metrics_text(format))
                .into_response()
        }
        Err(refusal) => (StatusCode::UNAUTHORIZED, refusal.message().public).into_response(),
    }
}

/// OpenMetrics where the client prefers it to other text, as Prometheus does; otherwise the older format, which everybody
/// reads.
fn metrics_format(headers: &HeaderMap) -> MetricsFormat {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let (mut open, mut plain) = (0.0, 0.0);
    for range in accepted.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |q| q.parse().ok());
        let best = match &*media_type {
            "application/openmetrics-text" => &mut open,
            "text/plain" | "text/*" | "*/*" => &mut plain,
            _ => continue,
        };
        *best = quality.unwrap_or(0.0_f32).max(*best);
    }
    if open > 0.0 && open >= plain { MetricsFormat::OpenMetrics } else { MetricsFormat::Prometheus }
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

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(accept: &'static str, expect: MetricsFormat) {
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        assert_eq!(metrics_format(&headers), expect, "{accept}");
    }

    #[test]
    fn openmetrics_is_for_clients_that_prefer_it() {
        assert_eq!(metrics_format(&HeaderMap::new()), MetricsFormat::Prometheus);
        check("*/*", MetricsFormat::Prometheus);
        check("application/openmetrics-text", MetricsFormat::OpenMetrics);
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
            application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        check(prometheus, MetricsFormat::OpenMetrics);
        check("text/plain, application/openmetrics-text;q=0.5", MetricsFormat::Prometheus);
        check("text/plain;q=0, application/openmetrics-text;q=0", MetricsFormat::Prometheus);
    }
}
