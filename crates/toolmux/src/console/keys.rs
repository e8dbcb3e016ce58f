//! `/console/api/keys`: keys in the store, listed, added and revoked.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use toolmux_core::call::Caller;
use toolmux_http::serve::{PathPart, Web, json as json_answer};

use super::answer::{message, operator, store_failed};
use crate::key_management::{KnownNames, NewKey, revoke, shown};

pub(super) async fn list(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if let Err(refused) = operator(&web, &parts) {
        return *refused;
    }
    match web.gateway.store().key_list().await {
        Ok(keys) => {
            let keys: Vec<_> = keys.iter().map(shown).collect();
            json_answer(StatusCode::OK, json!({ "keys": keys }).to_string())
        }
        Err(error) => store_failed(error),
    }
}

pub(super) async fn add(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let caller = match operator(&web, &parts) {
        Ok(caller) => caller,
        Err(refused) => return *refused,
    };
    let body = match web.body(&parts.headers, body).await {
        Ok(body) => body,
        Err(refusal) => return message(StatusCode::BAD_REQUEST, &refusal.message().public),
    };
    match serde_json::from_slice::<NewKey>(&body) {
        Ok(key) => added(&web, &caller, &key).await,
        Err(error) => {
            let what = format!("the body must be {{\"name\", \"toolset\", \"operator\"}}: {error}");
            message(StatusCode::BAD_REQUEST, &what)
        }
    }
}

async fn added(web: &Web, caller: &Caller, key: &NewKey) -> Response {
    let catalog = web.gateway.catalog();
    let known = KnownNames {
        is_configured: &|name| web.gateway.keys().is_configured(name),
        has_toolset: &|name| catalog.has_toolset(name),
    };
    if let Err(what) = key.check(&known) {
        return message(StatusCode::BAD_REQUEST, &what);
    }
    match key.add(&**web.gateway.store(), caller.name()).await {
        Ok(Some(secret)) => {
            web.gateway.keys().read().await;
            let body = json!({ "name": key.name, "key": secret.expose() });
            json_answer(StatusCode::CREATED, body.to_string())
        }
        Ok(None) => message(StatusCode::CONFLICT, &format!("there is already a key `{}`", key.name)),
        Err(error) => message(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

pub(super) async fn remove(
    State(web): State<Arc<Web>>,
    PathPart(name): PathPart,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let caller = match operator(&web, &parts) {
        Ok(caller) => caller,
        Err(refused) => return *refused,
    };
    match revoke(&**web.gateway.store(), caller.name(), &name).await {
        Ok(true) => {
            web.gateway.keys().read().await;
            json_answer(StatusCode::OK, json!({ "name": name, "revoked": true }).to_string())
        }
        Ok(false) => message(StatusCode::NOT_FOUND, &format!("there is no key `{name}` in the store")),
        Err(error) => message(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}
