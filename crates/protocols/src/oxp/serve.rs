//! We answer as an OXP server.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use toolmux_core::call::Caller;
use toolmux_core::example::example_arguments;
use toolmux_core::message::Message;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_http::serve::{
    Access, Routes, Served, Web, ask_kept_until, curl, idempotency_key, json, tell_kept_until, trace,
    trace_state,
};
use uuid::Uuid;

use super::list::{list, one};
use super::version::{CLIENT_HEADERS, check_header, stamp};
use super::wire::{self, Decoded, DeveloperHalf, Form};

/// Our routes as an OpenAPI document.
const OPENAPI: &str = include_str!("openapi.json");

pub(crate) const SERVED: Served = Served {
    name: "OXP",
    path: "/tools",
    routes,
    try_it: |base, tool| {
        let body = serde_json::json!({ "tool_id": tool.id.to_string(), "input": example_arguments(tool.tool.input.value()) });
        Some(curl::post(&format!("{base}/tools/call"), &body))
    },
    shows: Some(|entry| Some((entry.id.to_string(), one(entry)))),
    client_headers: Some(CLIENT_HEADERS),
};

fn routes() -> Routes {
    Routes::default()
        .get("/tools", Access::Callers, tools)
        .otherwise("/tools", |State(web): State<Arc<Web>>, request: Request| async move {
            not_allowed(&web, request, "GET, HEAD")
        })
        .post("/tools/call", Access::Callers, call)
        .otherwise("/tools/call", |State(web): State<Arc<Web>>, request: Request| async move {
            not_allowed(&web, request, "POST")
        })
        .otherwise("/tools/{*rest}", not_found)
        .get("/openapi.json", Access::Callers, openapi)
}

async fn tools(State(web): State<Arc<Web>>, request: Request) -> Response {
    let parts = request.into_parts().0;
    let caller = match web.admit(&parts) {
        Ok(caller) => caller,
        Err(refusal) => return wire::refuse(Form::Bare, DeveloperHalf::Withheld, &refusal),
    };
    if let Err(refusal) = check_header(&parts.headers) {
        return wire::refuse(Form::Bare, developer_half(&web, &caller), &refusal);
    }
    web.gateway.sources().wait_until_started().await;
    let catalog = web.gateway.catalog();
    stamp(json(StatusCode::OK, catalog.prepared("oxp", &caller, || list(&catalog, &caller))))
}

async fn call(State(web): State<Arc<Web>>, request: Request) -> Response {
    let started = Instant::now();
    let (caller, parts, mut body) = match web.open(request).await {
        Ok(opened) => opened,
        Err(refusal) => return wire::refuse(Form::Bare, DeveloperHalf::Withheld, &refusal),
    };
    let Decoded { form, request } = wire::decode(&body);
    body.free();
    let checked = check_header(&parts.headers).and(request);
    let mut request = match checked {
        Ok(request) => request,
        Err(refusal) => return wire::refuse(form, developer_half(&web, &caller), &refusal),
    };
    if request.id.is_none() {
        request.id = idempotency_key(&parts.headers);
    }
    // The header names a span; `trace_id` of the body may be any text.
    if let Some(parent) = trace(&parts.headers) {
        (request.trace, request.trace_state) = (Some(parent), trace_state(&parts.headers));
    }
    // An id that we make up is nobody's idempotency key, so it is not recorded.
    let call_id = request.id.clone().unwrap_or_else(|| Uuid::new_v4().to_string().into());
    let kept_until = ask_kept_until(&mut request);
    let response = match web.gateway.call(&caller, request, &Progress::unheard()).await {
        Ok(outcome) => {
            // What a tool returned has no developer half.
            let returned = matches!(outcome, Outcome::Returned(_));
            let half = if returned { DeveloperHalf::Withheld } else { developer_half(&web, &caller) };
            wire::encode(form, half, &call_id, started.elapsed(), &outcome)
        }
        Err(refusal) => wire::refuse(form, developer_half(&web, &caller), &refusal),
    };
    tell_kept_until(response, kept_until.as_ref())
}

async fn openapi(State(web): State<Arc<Web>>, request: Request) -> Response {
    match web.admit(&request.into_parts().0) {
        Ok(_) => stamp(json(StatusCode::OK, OPENAPI)),
        Err(refusal) => wire::refuse(Form::Bare, DeveloperHalf::Withheld, &refusal),
    }
}

async fn not_found(State(web): State<Arc<Web>>, request: Request) -> Response {
    let parts = request.into_parts().0;
    if let Err(refusal) = web.admit(&parts) {
        return wire::refuse(Form::Bare, DeveloperHalf::Withheld, &refusal);
    }
    let mut response = refused("There is no such address; tools are at /tools and calls at /tools/call");
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn not_allowed(web: &Web, request: Request, allow: &'static str) -> Response {
    if let Err(refusal) = web.admit(&request.into_parts().0) {
        return wire::refuse(Form::Bare, DeveloperHalf::Withheld, &refusal);
    }
    let mut response = refused("This address does not take that method");
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

fn refused(text: &str) -> Response {
    wire::refuse(Form::Bare, DeveloperHalf::Withheld, &Refusal::Malformed(Message::public(text)))
}

fn developer_half(web: &Web, caller: &Caller) -> DeveloperHalf {
    if web.gateway.admission().is_developer(caller) { DeveloperHalf::Shown } else { DeveloperHalf::Withheld }
}
