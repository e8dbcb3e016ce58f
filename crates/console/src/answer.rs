//! Answers that are not what was asked for: as JSON below `/console/api`, as a page elsewhere.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use toolmux_core::message::Message;
use toolmux_core::ports::store::StoreError;
use toolmux_core::refusal::Refusal;
use toolmux_http::serve::json;

use crate::pages::{error_page, sign_in_page};

/// What browsers may do with a page of the console: run our own modules, load our own style, talk to us, and show images and
/// play sound that an answer carries with it. Nothing of any other host.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const GUARDS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// A page with the headers that keep it from doing anything else.
pub(crate) fn page(status: StatusCode, html: String) -> Response {
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = status;
    for (name, value) in GUARDS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Leads on to another page of the console.
pub(crate) fn see_other(address: &str) -> Response {
    let mut response = page(StatusCode::SEE_OTHER, String::new());
    let address = HeaderValue::from_str(address).unwrap_or(HeaderValue::from_static("/console"));
    response.headers_mut().insert(header::LOCATION, address);
    response
}

/// JSON that nobody keeps.
pub(crate) fn value(status: StatusCode, value: &impl serde::Serialize) -> Response {
    let text = serde_json::to_string(value).expect("what the console shows has a JSON form");
    let mut response = json(status, text);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A sentence as JSON.
pub(crate) fn message(status: StatusCode, what: &str) -> Response {
    value(status, &serde_json::json!({ "message": what }))
}

/// A sentence as JSON or as a page, by the address that was asked for.
pub(crate) fn told(uri: &Uri, status: StatusCode, what: &str) -> Response {
    if uri.path().starts_with("/console/api") {
        return message(status, what);
    }
    let html = match status {
        StatusCode::UNAUTHORIZED => sign_in_page(uri, None),
        _ => error_page(uri, status, what),
    };
    page(status, html)
}

/// What is answered where the gateway refuses.
pub(crate) fn refused(uri: &Uri, refusal: &Refusal) -> Response {
    let status = match refusal {
        Refusal::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Refusal::UnknownTool { .. } | Refusal::NotPermitted { .. } => StatusCode::NOT_FOUND,
        Refusal::Malformed(_)
        | Refusal::Invalid { .. }
        | Refusal::Conflict { .. }
        | Refusal::Challenged { .. } => StatusCode::BAD_REQUEST,
        Refusal::Busy { .. } | Refusal::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        Refusal::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    told(uri, status, &refusal.message().public)
}

/// The store did not answer.
pub(crate) fn store_failed(uri: &Uri, error: StoreError) -> Response {
    failed(uri, error.message)
}

/// Something that the console asked did not answer.
pub(crate) fn failed(uri: &Uri, what: Message) -> Response {
    tracing::debug!(developer = what.developer, "the console was not answered");
    told(uri, StatusCode::SERVICE_UNAVAILABLE, &what.public)
}
