//! We answer as an OpenTool server.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;
use toolmux_core::call::Caller;
use toolmux_core::catalog::Catalog;
use toolmux_core::example::example_arguments;
use toolmux_core::progress::Progress;
use toolmux_http::serve::{
    Access, Routes, Served, ServerVersion, Web, ask_kept_until, curl, idempotency_key, json, tag_of, tagged,
    tell_kept_until, trace, trace_state,
};

use super::document::OpenTool;
use super::{stream, wire};

pub(crate) const SERVED: Served = Served {
    name: "OpenTool",
    path: "/opentool",
    routes,
    try_it: |base, tool| {
        let params = example_arguments(tool.tool.input.value());
        let body = serde_json::json!({ "jsonrpc": "2.0", "method": tool.flat, "params": params, "id": "1" });
        Some(curl::post(&format!("{base}/opentool/call"), &body))
    },
    shows: Some(|entry| {
        let document = OpenTool::of_entries([entry]);
        Some((entry.flat.to_string(), serde_json::to_value(document.functions.first()?).ok()?))
    }),
    client_headers: None,
};

fn routes() -> Routes {
    Routes::default()
        .get("/opentool/version", Access::Callers, version)
        .post("/opentool/call", Access::Callers, call)
        .get("/opentool/load", Access::Callers, load)
        .post("/opentool/streamCall", Access::Callers, stream_call)
        .post("/opentool/stop", Access::UnlimitedCallers, stop)
}

async fn version(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    match web.admit(&parts) {
        Ok(_) => {
            let given = parts.extensions.get::<ServerVersion>().map(|version| &*version.0);
            json(StatusCode::OK, wire::version(given.unwrap_or(env!("CARGO_PKG_VERSION"))))
        }
        Err(refusal) => wire::encode(None, Err(refusal)),
    }
}

/// Dropping the future, which a client that leaves does, cancels the tool.
async fn call(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (caller, parts, mut body) = match web.open(request).await {
        Ok(opened) => opened,
        Err(refusal) => return wire::encode(None, Err(refusal)),
    };
    match wire::decode(&body) {
        Ok(mut asked) => {
            identify(&mut asked.request, &parts.headers);
            let (id, mut request) = (RawValue::to_owned(asked.id), asked.request);
            body.free();
            let kept_until = ask_kept_until(&mut request);
            let answer = web.gateway.call(&caller, request, &Progress::unheard()).await;
            tell_kept_until(wire::encode(Some(&id), answer), kept_until.as_ref())
        }
        Err(refused) => wire::encode(refused.id, Err(refused.refusal)),
    }
}

async fn stream_call(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (caller, parts, body) = match web.open(request).await {
        Ok(opened) => opened,
        Err(refusal) => return wire::encode(None, Err(refusal)),
    };
    match wire::decode(&body) {
        Ok(mut asked) => {
            identify(&mut asked.request, &parts.headers);
            let following = stream::begin(&web, caller, asked);
            stream::answer(following, body.into_held())
        }
        Err(refused) => wire::encode(refused.id, Err(refused.refusal)),
    }
}

async fn load(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let caller = match web.admit(&parts) {
        Ok(caller) => caller,
        Err(refusal) => return wire::encode(None, Err(refusal)),
    };
    web.gateway.sources().wait_until_started().await;
    let catalog = web.gateway.catalog();
    let document = catalog.prepared("opentool", &caller, || document(&catalog, &caller));
    let tag = catalog.prepared("opentool etag", &caller, || tag_of(&document));
    tagged(&parts.headers, tag, document)
}

/// Ends the server, where its configuration lets callers do that; elsewhere, and for callers who have a toolset,
/// there is no such address.
async fn stop(State(web): State<Arc<Web>>, request: Request) -> Response {
    let caller = match web.admit(&request.into_parts().0) {
        Ok(caller) => caller,
        Err(refusal) => return wire::encode(None, Err(refusal)),
    };
    match web.stop.as_ref().filter(|_| !caller.is_limited()) {
        Some(stop) => {
            stop.cancel();
            json(StatusCode::OK, r#"{"status":"stopped"}"#)
        }
        None => json(StatusCode::NOT_FOUND, r#"{"error":"this server does not let callers stop it"}"#),
    }
}

/// JSON-RPC ids are not idempotency keys: public clients begin at the same one again and again.
fn identify(request: &mut toolmux_core::call::Request, headers: &HeaderMap) {
    request.id = idempotency_key(headers);
    request.trace = trace(headers);
    // It means nothing without the other.
    request.trace_state = request.trace.as_ref().and_then(|_| trace_state(headers));
}

/// Every tool of the caller in one document; an empty object when there is none.
fn document(catalog: &Catalog, caller: &Caller) -> Bytes {
    let document = OpenTool::of_entries(catalog.newest(caller));
    if document.functions.is_empty() {
        return Bytes::from_static(b"{}");
    }
    serde_json::to_vec(&document).expect("a document has text keys only").into()
}
