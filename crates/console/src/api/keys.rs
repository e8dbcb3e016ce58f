//! Keys in the store, listed, added and revoked.

use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use toolmux_core::secret::Secret;
use toolmux_http::serve::PathPart;

use crate::answer::{message, store_failed, value};
use crate::change::Change;
use crate::key_management::{KnownNames, NewKey, revoke, shown};
use crate::operator::Operator;

pub(crate) async fn list(operator: Operator) -> Response {
    match operator.web.gateway.store().key_list().await {
        Ok(keys) => value(StatusCode::OK, &json!({ "keys": keys.iter().map(shown).collect::<Vec<_>>() })),
        Err(error) => store_failed(&operator.uri, error),
    }
}

pub(crate) async fn add(change: Change) -> Response {
    let key = match serde_json::from_slice::<NewKey>(&change.body) {
        Ok(key) => key,
        Err(error) => {
            let what = format!("the body must be {{\"name\", \"toolset\", \"operator\"}}: {error}");
            return message(StatusCode::BAD_REQUEST, &what);
        }
    };
    match add_checked(&change.operator, &key).await {
        Ok(secret) => value(StatusCode::CREATED, &json!({ "name": key.name, "key": secret.expose() })),
        Err((status, what)) => message(status, &what),
    }
}

/// Adds a key that fits the configuration; the key itself, or what is wrong.
pub(crate) async fn add_checked(operator: &Operator, key: &NewKey) -> Result<Secret, (StatusCode, String)> {
    let gateway = &operator.web.gateway;
    let catalog = gateway.catalog();
    let known = KnownNames {
        is_configured: &|name| gateway.keys().is_configured(name),
        has_toolset: &|name| catalog.has_toolset(name),
    };
    key.check(&known).map_err(|what| (StatusCode::BAD_REQUEST, what))?;
    match key.add(&**gateway.store(), operator.caller.name()).await {
        Ok(Some(secret)) => {
            gateway.keys().read().await;
            Ok(secret)
        }
        Ok(None) => Err((StatusCode::CONFLICT, format!("there is already a key `{}`", key.name))),
        Err(error) => Err((StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
    }
}

pub(crate) async fn remove(PathPart(name): PathPart, change: Change) -> Response {
    let Change { operator, .. } = change;
    match revoke(&**operator.web.gateway.store(), operator.caller.name(), &name).await {
        Ok(true) => {
            operator.web.gateway.keys().read().await;
            value(StatusCode::OK, &json!({ "name": name, "revoked": true }))
        }
        Ok(false) => message(StatusCode::NOT_FOUND, &format!("there is no key `{name}` in the store")),
        Err(error) => message(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}
