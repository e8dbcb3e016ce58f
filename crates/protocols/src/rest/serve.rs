//! We answer as an HTTP API with one POST per tool.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use toolmux_core::call::Caller;
use toolmux_core::catalog::Catalog;
use toolmux_core::example::example_arguments;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_http::serve::page::show;
use toolmux_http::serve::{
    Access, AskedToolset, PathPart, Routes, Served, ServerVersion, Web, ask_kept_until, curl,
    idempotency_key, tag_of, tagged, tell_kept_until, trace, trace_state,
};

use super::api_document::{ApiInfo, document, one_operation};
use super::{page, wire};

pub(crate) const SERVED: Served = Served {
    name: "REST",
    path: "/rest",
    routes,
    try_it: |base, tool| {
        let arguments = example_arguments(tool.tool.input.value());
        Some(curl::post(&format!("{base}/rest/{}", tool.flat), &arguments))
    },
    shows: Some(|entry| Some((format!("POST /rest/{}", entry.flat), one_operation(entry)))),
    client_headers: None,
};

fn routes() -> Routes {
    Routes::default()
        .get("/rest", Access::Callers, overview)
        .get("/rest/openapi.json", Access::Callers, openapi)
        .post("/rest/{tool}", Access::Callers, call)
}

/// Dropping the future, which a client that leaves does, cancels the tool, unless the call has an idempotency key.
async fn call(State(web): State<Arc<Web>>, PathPart(tool): PathPart, request: Request) -> Response {
    let (caller, parts, mut body) = match web.open(request).await {
        Ok(opened) => opened,
        Err(refusal) => return wire::refuse(&refusal),
    };
    let mut request = match wire::decode(&tool, &body) {
        Ok(request) => request,
        Err(refusal) => return wire::refuse(&refusal),
    };
    body.free();
    request.id = idempotency_key(&parts.headers);
    (request.trace, request.trace_state) = (trace(&parts.headers), trace_state(&parts.headers));
    let kept_until = ask_kept_until(&mut request);
    let response = match web.gateway.call(&caller, request, &Progress::unheard()).await {
        Ok(outcome) => wire::encode(&outcome),
        Err(refusal) => wire::refuse(&refusal),
    };
    tell_kept_until(response, kept_until.as_ref())
}

async fn openapi(State(web): State<Arc<Web>>, request: Request) -> Response {
    let parts = request.into_parts().0;
    let (caller, catalog) = match admitted(&web, &parts).await {
        Ok(admitted) => admitted,
        Err(refusal) => return wire::refuse(&refusal),
    };
    let described =
        catalog.prepared("rest", &caller, || document(&catalog, &caller, &api_info(&web, &parts)));
    let tag = catalog.prepared("rest etag", &caller, || tag_of(&described));
    tagged(&parts.headers, tag, described)
}

/// A page for people.
async fn overview(State(web): State<Arc<Web>>, request: Request) -> Response {
    let parts = request.into_parts().0;
    let (caller, catalog) = match admitted(&web, &parts).await {
        Ok(admitted) => admitted,
        Err(refusal) => return wire::refuse(&refusal),
    };
    let page = catalog.prepared("rest page", &caller, || -> Bytes {
        page::overview(&catalog, &caller, &api_info(&web, &parts)).into()
    });
    show(StatusCode::OK, page)
}

/// Who asks, and the tools there are once every source that is starting had its time.
async fn admitted(web: &Web, parts: &Parts) -> Result<(Caller, Arc<Catalog>), Refusal> {
    let caller = web.admit(parts)?;
    web.gateway.sources().wait_until_started().await;
    Ok((caller, web.gateway.catalog()))
}

/// Nothing in it differs between two requests that share prepared bytes: those are kept for each toolset of an address,
/// and for one configuration.
fn api_info(web: &Web, parts: &Parts) -> ApiInfo {
    let toolset = parts.extensions.get::<AskedToolset>().map(|asked| format!("/sets/{}", asked.0));
    let admission = web.gateway.admission().info();
    let public_url = admission.public_url.unwrap_or_default();
    let version = parts.extensions.get::<ServerVersion>().map(|version| version.0.to_string());
    ApiInfo {
        base: format!("{}{}/rest", public_url.trim_end_matches('/'), toolset.unwrap_or_default()),
        version: version.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
        asks_for_key: !admission.is_open,
    }
}
