//! Who may ask, and how refusals look.

use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use toolmux_core::call::Caller;
use toolmux_core::ports::store::StoreError;
use toolmux_http::serve::{Web, json};

/// The operator who asks, or the answer to whoever is none.
pub(super) fn operator(web: &Web, parts: &Parts) -> Result<Caller, Box<Response>> {
    let refused = |status, what: &str| Err(Box::new(message(status, what)));
    match web.admit(parts) {
        Ok(caller) if web.gateway.admission().is_operator(&caller) => Ok(caller),
        Ok(caller) if caller.is_limited() => {
            refused(StatusCode::NOT_FOUND, "there is nothing at this address")
        }
        Ok(_) => refused(StatusCode::FORBIDDEN, "this address is for keys with `operator = true`"),
        Err(refusal) => refused(StatusCode::UNAUTHORIZED, &refusal.message().public),
    }
}

/// A sentence as JSON.
pub(super) fn message(status: StatusCode, what: &str) -> Response {
    json(status, serde_json::json!({ "message": what }).to_string())
}

/// The store did not answer.
pub(super) fn store_failed(error: StoreError) -> Response {
    tracing::debug!(developer = error.message.developer, "the console was not answered");
    message(StatusCode::SERVICE_UNAVAILABLE, &error.message.public)
}
