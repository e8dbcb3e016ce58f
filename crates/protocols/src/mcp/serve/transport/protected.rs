//! `/mcp`, and `/sse` of 2024-11-05, as resources that OAuth protects (RFC 9728): where clients get tokens for it, and what those must
//! hold. Tokens are checked by the gateway like everywhere else, and go no further than here.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::json;
use toolmux_core::refusal::Refusal;
use toolmux_http::protected_resource::WELL_KNOWN;
use toolmux_http::serve::{Access, AskedToolset, Routes, Web, json};

use crate::mcp::wire::{self, Fault, INVALID_REQUEST};

/// What is protected: one address for each transport.
const RESOURCES: [&str; 2] = ["/mcp", "/sse"];

/// The documents, which strangers may read. Toolsets are not looked up: which there are is told to nobody
/// unknown.
pub(in crate::mcp) fn routes() -> Routes {
    let root = |State(web): State<Arc<Web>>, headers: HeaderMap| async move { document(&web, &headers, "") };
    let all = Routes::default().get(WELL_KNOWN, Access::Anybody, root);
    RESOURCES.into_iter().fold(all, |routes, resource| {
        let own = move |State(web): State<Arc<Web>>, headers: HeaderMap| async move {
            document(&web, &headers, resource)
        };
        let of_set =
            move |State(web): State<Arc<Web>>, Path(toolset): Path<String>, headers: HeaderMap| async move {
                document(&web, &headers, &below(&toolset, resource))
            };
        let below_toolset = format!("{WELL_KNOWN}{}", below("{toolset}", resource));
        routes.get(&format!("{WELL_KNOWN}{resource}"), Access::Anybody, own).get(
            &below_toolset,
            Access::Anybody,
            of_set,
        )
    })
}

/// The answer to who is not let in.
pub(in crate::mcp) fn turned_away(web: &Web, parts: &Parts, refusal: &Refusal) -> Response {
    let fault = Fault::new(INVALID_REQUEST, refusal.message().public);
    let text = wire::reply(None, &Err(fault));
    if !matches!(refusal, Refusal::Unauthenticated(_)) {
        return json(StatusCode::BAD_REQUEST, text);
    }
    let (status, error) = if web.lacks_scope(&parts.headers) {
        (StatusCode::FORBIDDEN, Some("insufficient_scope"))
    } else {
        let shown = parts.headers.contains_key(header::AUTHORIZATION);
        (StatusCode::UNAUTHORIZED, shown.then_some("invalid_token"))
    };
    let mut response = json(status, text);
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge(web, parts, error));
    response
}

/// Without an issuer there are only keys, which no document leads to.
fn challenge(web: &Web, parts: &Parts, error: Option<&str>) -> HeaderValue {
    let entrance = web.gateway.admission().info();
    let mut parameters = Vec::new();
    if let Some(error) = error {
        parameters.push(format!("error=\"{error}\""));
    }
    if entrance.issuer.is_some() {
        let toolset = parts.extensions.get::<AskedToolset>();
        let resource = if parts.uri.path() == "/mcp" { "/mcp" } else { "/sse" };
        let path = toolset.map_or_else(|| resource.to_owned(), |asked| below(&asked.0, resource));
        let base = base(entrance.public_url, &parts.headers);
        parameters.push(format!("resource_metadata=\"{base}{WELL_KNOWN}{path}\""));
        if !entrance.scopes.is_empty() {
            parameters.push(format!("scope=\"{}\"", entrance.scopes.join(" ")));
        }
    }
    let text = format!("Bearer {}", parameters.join(", "));
    HeaderValue::from_str(text.trim_end()).unwrap_or(HeaderValue::from_static("Bearer"))
}

fn document(web: &Web, headers: &HeaderMap, path: &str) -> Response {
    let entrance = web.gateway.admission().info();
    let Some(issuer) = entrance.issuer else {
        return (StatusCode::NOT_FOUND, "no `issuer` is configured under `[jwt]`\n").into_response();
    };
    let mut document = json!({
        "resource": format!("{}{path}", base(entrance.public_url, headers)),
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "toolmux",
    });
    if !entrance.scopes.is_empty() {
        document["scopes_supported"] = json!(entrance.scopes);
    }
    json(StatusCode::OK, document.to_string())
}

/// Where callers reach us: as configured, or else as this one did.
fn base(public_url: Option<String>, headers: &HeaderMap) -> String {
    public_url.unwrap_or_else(|| {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        format!("http://{}", host.replace('"', ""))
    })
}

fn below(toolset: &str, resource: &str) -> String {
    format!("/sets/{toolset}{resource}")
}
