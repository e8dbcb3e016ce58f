//! Tokens of users that are kept: whose they are, and giving one back.

use axum::response::Response;
use http::StatusCode;
use serde_json::json;

use crate::answer::{failed, message, value};
use crate::change::Change;
use crate::operator::Operator;
use crate::program::Consent;

pub(crate) async fn list(operator: Operator) -> Response {
    match operator.console.program.consents().await {
        Ok(consents) => value(StatusCode::OK, &json!({ "consents": consents })),
        Err(what) => failed(&operator.uri, what),
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    provider: String,
    caller: String,
    #[serde(default)]
    user: String,
}

pub(crate) async fn revoke(change: Change) -> Response {
    let Change { operator, body } = change;
    let Ok(Wanted { provider, caller, user }) = serde_json::from_slice(&body) else {
        return message(StatusCode::BAD_REQUEST, "the body must be {\"provider\", \"caller\", \"user\"}");
    };
    match operator.console.program.revoke_consent(&Consent { provider, caller, user }).await {
        Ok(true) => value(StatusCode::OK, &json!({ "revoked": true })),
        Ok(false) => message(StatusCode::NOT_FOUND, "no such token is kept"),
        Err(what) => failed(&operator.uri, what),
    }
}
