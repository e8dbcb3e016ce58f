//! Answers in JSON.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};

/// An answer of JSON bytes.
pub fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
