//! We answer as an ATS server.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{StatusCode, header};
use toolmux_core::call::Caller;
use toolmux_core::refusal::Refusal;
use toolmux_core::task::TaskId;
use toolmux_http::serve::curl::quoted;
use toolmux_http::serve::{
    Access, AskedToolset, PathPart, Routes, Served, Web, idempotency_key, json, may_change, trace,
    trace_state,
};
use toolmux_http::sse::EVENT_STREAM;

use super::follow::{document, stream};
use super::{listing, wire};

pub(crate) const SERVED: Served = Served {
    name: "ATS",
    path: "/call_tool",
    routes,
    try_it: |base, tool| {
        let body = toolmux_core::example::example_arguments(tool.tool.input.value());
        let (base, body) = (quoted(base), body.to_string());
        let call = format!("curl -s {base}/call_tool/{} -d {} | cut -d'\"' -f4", tool.flat, quoted(&body));
        Some(format!("curl -N -H 'accept: text/event-stream' {base}/callback/$({call})"))
    },
    shows: Some(|entry| {
        let list: Vec<serde_json::Value> =
            serde_json::from_slice(&wire::list(std::iter::once(entry))).ok()?;
        Some((entry.flat.to_string(), list.into_iter().next()?))
    }),
    client_headers: None,
};

/// The protocol resets and cancels by GET; POST does the same, and is what a web page has to use.
fn routes() -> Routes {
    Routes::default()
        .get("/reset", Access::UnlimitedCallers, reset)
        .post("/reset", Access::UnlimitedCallers, reset)
        .get("/get_tool", Access::Callers, tools)
        .get("/get_tool/{agent}", Access::Callers, tools_of)
        .post("/call_tool/{tool}", Access::Callers, call)
        .get("/callback/{task}", Access::Callers, callback)
        .get("/tasks", Access::Callers, listing::tasks)
        .get("/tasks/{task}", Access::Callers, listing::task)
        .get("/cancel/{task}", Access::Callers, cancel)
        .post("/cancel/{task}", Access::Callers, cancel)
}

async fn tools(State(web): State<Arc<Web>>, request: Request) -> Response {
    match web.admit(&request.into_parts().0) {
        Ok(caller) => {
            web.gateway.sources().wait_until_started().await;
            list(&web, &caller)
        }
        Err(refusal) => wire::refuse(&refusal),
    }
}

/// The toolset of one agent; an agent without one, or with an empty one, gets every tool. Below `/sets/{toolset}`
/// that is every tool of that toolset, and the tools of an agent are those in both.
async fn tools_of(State(web): State<Arc<Web>>, PathPart(agent): PathPart, request: Request) -> Response {
    let mut parts = request.into_parts().0;
    let all = match web.admit(&parts) {
        Ok(caller) => caller,
        Err(refusal) => return wire::refuse(&refusal),
    };
    web.gateway.sources().wait_until_started().await;
    let catalog = web.gateway.catalog();
    if catalog.newest_in(&agent, &all).next().is_none() {
        return list(&web, &all);
    }
    if parts.extensions.get::<AskedToolset>().is_some() {
        // A caller has room for one toolset besides its own, which the address has taken.
        return json(StatusCode::OK, wire::list(catalog.newest_in(&agent, &all)));
    }
    parts.extensions.insert(AskedToolset(agent.into()));
    match web.admit(&parts) {
        Ok(own) => list(&web, &own),
        Err(refusal) => wire::refuse(&refusal),
    }
}

fn list(web: &Web, caller: &Caller) -> Response {
    let catalog = web.gateway.catalog();
    json(StatusCode::OK, catalog.prepared("ats", caller, || wire::list(catalog.newest(caller))))
}

async fn call(State(web): State<Arc<Web>>, PathPart(tool): PathPart, request: Request) -> Response {
    match submit(&web, &tool, request).await {
        Ok(id) => json(StatusCode::OK, serde_json::json!({ "task_id": id.as_str() }).to_string()),
        Err(refusal) => wire::refuse(&refusal),
    }
}

async fn submit(web: &Web, tool: &str, request: Request) -> Result<TaskId, Refusal> {
    let (caller, parts, mut body) = web.open(request).await?;
    let mut request = wire::decode(tool, &body)?;
    body.free();
    request.id = idempotency_key(&parts.headers);
    (request.trace, request.trace_state) = (trace(&parts.headers), trace_state(&parts.headers));
    web.gateway.tasks().submit(&caller, request, None).await
}

/// Events as they happen for who asks for them, else one document at the end.
async fn callback(State(web): State<Arc<Web>>, PathPart(task): PathPart, request: Request) -> Response {
    let parts = request.into_parts().0;
    let caller = match web.admit(&parts) {
        Ok(caller) => caller,
        Err(refusal) => return wire::refuse(&refusal),
    };
    let (id, text) = (TaskId::new(&task), |name| parts.headers.get(name).and_then(|v| v.to_str().ok()));
    let last_seen = text(header::HeaderName::from_static("last-event-id"));
    if !wants_events(text(header::ACCEPT), last_seen) {
        return document(&web, &caller, &id, &parts).await;
    }
    let after = last_seen.and_then(|seen| seen.parse().ok());
    match web.gateway.tasks().follow(&caller, &id, after.unwrap_or(0)).await {
        Ok(follow) => stream(follow),
        Err(refusal) => wire::refuse(&refusal),
    }
}

/// True when events are named and not less welcome than JSON. `*/*` or no word at all means the document: that is
/// what the original's clients send before they read one. Who resumes has been reading events.
fn wants_events(accept: Option<&str>, last_seen: Option<&str>) -> bool {
    let accept = accept.unwrap_or_default();
    match (quality(accept, EVENT_STREAM), quality(accept, "application/json")) {
        (Some(events), json) => events > 0.0 && events >= json.unwrap_or(0.0),
        (None, Some(_)) => false,
        (None, None) => last_seen.is_some(),
    }
}

/// How welcome a media type is that a list names, from 0 to 1.
fn quality(accept: &str, wanted: &str) -> Option<f32> {
    let mut ranges = accept.split(',').map(|range| range.split(';').map(str::trim));
    let mut named = ranges.find_map(|mut parts| {
        parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(wanted)).then_some(parts)
    })?;
    Some(named.find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0))
}

/// Who asks for a change, when the request may make one.
fn admit_change(web: &Web, request: Request) -> Result<Caller, Box<Response>> {
    let parts = request.into_parts().0;
    let caller = web.admit(&parts).map_err(|refusal| Box::new(wire::refuse(&refusal)))?;
    match may_change(&parts) {
        Ok(()) => Ok(caller),
        Err((status, why)) => Err(Box::new(wire::refused(status, why))),
    }
}

async fn cancel(State(web): State<Arc<Web>>, PathPart(task): PathPart, request: Request) -> Response {
    let caller = match admit_change(&web, request) {
        Ok(caller) => caller,
        Err(refused) => return *refused,
    };
    match web.gateway.tasks().cancel(&caller, &TaskId::new(&task)).await {
        Ok(Some(task)) => {
            let body = serde_json::json!({ "data": wire::task(&task) });
            json(StatusCode::OK, body.to_string())
        }
        Ok(None) => wire::no_such_task(),
        Err(refusal) => wire::refuse(&refusal),
    }
}

async fn reset(State(web): State<Arc<Web>>, request: Request) -> Response {
    let caller = match admit_change(&web, request) {
        Ok(caller) => caller,
        Err(refused) => return *refused,
    };
    // It concerns all sources, and its report names them.
    if caller.is_limited() {
        return wire::refused(StatusCode::NOT_FOUND, "reset is for callers without a toolset");
    }
    json(StatusCode::OK, wire::reset(web.gateway.reconnect(&caller).await))
}
