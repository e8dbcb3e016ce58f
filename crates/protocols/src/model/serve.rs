//! We answer programs that talk to a model and want its calls done.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use toolmux_core::call::Caller;
use toolmux_core::message::Message;
use toolmux_core::refusal::Refusal;
use toolmux_http::serve::curl::quoted;
use toolmux_http::serve::{Access, PathPart, Received, Routes, Served, Web, idempotency_key, json as answer};

use super::bridge::{Turn, Vendor, run, tools, vendor};

pub(crate) const SERVED: Served = Served {
    name: "models",
    path: "/model",
    routes,
    try_it: |base, _| Some(format!("curl {}/model/anthropic/tools", quoted(base))),
    shows: Some(|entry| {
        let (name, schema) = (&*entry.flat, entry.tool.input.value());
        Some((name.to_owned(), super::anthropic::tool(name, &entry.tool.description, schema)))
    }),
    client_headers: None,
};

fn routes() -> Routes {
    Routes::default().get("/model/{vendor}/tools", Access::Callers, list).post(
        "/model/{vendor}/run",
        Access::Callers,
        answered,
    )
}

async fn list(State(web): State<Arc<Web>>, PathPart(name): PathPart, request: Request) -> Response {
    let caller = match web.admit(&request.into_parts().0) {
        Ok(caller) => caller,
        Err(refusal) => return refuse(&refusal),
    };
    match vendor(&name) {
        Some(vendor) => {
            web.gateway.sources().wait_until_started().await;
            let catalog = web.gateway.catalog();
            let list = || json!({ "tools": tools(vendor, &catalog, &caller) }).to_string().into();
            answer(StatusCode::OK, catalog.prepared(vendor.name, &caller, list))
        }
        None => no_such_vendor(&name),
    }
}

async fn answered(State(web): State<Arc<Web>>, PathPart(name): PathPart, request: Request) -> Response {
    // Which vendors there are is told to nobody unknown.
    let (caller, parts, received) = match web.open(request).await {
        Ok(opened) => opened,
        Err(refusal) => return refuse(&refusal),
    };
    let Some(vendor) = vendor(&name) else { return no_such_vendor(&name) };
    match turn(&web, vendor, &caller, (parts, received)).await {
        Ok(turn) => {
            let body = json!({ "messages": turn.messages, "text": turn.text, "calls": turn.results.len(), "done": turn.is_last() });
            answer(StatusCode::OK, body.to_string())
        }
        Err(refusal) => refuse(&refusal),
    }
}

async fn turn(
    web: &Web,
    vendor: &Vendor,
    caller: &Caller,
    (parts, mut received): (Parts, Received),
) -> Result<Turn, Refusal> {
    let malformed = |text: String| Refusal::Malformed(Message::public(text));
    let body: Value = serde_json::from_slice(&received)
        .map_err(|error| malformed(format!("The body is not JSON: {error}")))?;
    received.free();
    let key = idempotency_key(&parts.headers);
    run(&web.gateway, caller, vendor, &body, key.as_deref())
        .await
        .map_err(|error| malformed(error.to_string()))
}

fn no_such_vendor(name: &str) -> Response {
    let known: Vec<&str> = super::VENDORS.iter().map(|vendor| vendor.name).collect();
    let text = format!("There is no vendor `{name}`; the vendors are {}", known.join(", "));
    answer(StatusCode::NOT_FOUND, json!({ "error": text }).to_string())
}

/// Whatever is wrong with a call is its result; what comes here is wrong with the request.
fn refuse(refusal: &Refusal) -> Response {
    let status = match refusal {
        Refusal::Malformed(_)
        | Refusal::Challenged { .. }
        | Refusal::Invalid { .. }
        | Refusal::Conflict { .. } => StatusCode::BAD_REQUEST,
        Refusal::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Refusal::UnknownTool { .. } | Refusal::NotPermitted { .. } => StatusCode::NOT_FOUND,
        Refusal::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        Refusal::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let mut response = answer(status, json!({ "error": refusal.message().public }).to_string());
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
