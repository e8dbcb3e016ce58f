//! Who may see the console: the extractor that every handler of it begins with.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Query};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Uri};
use toolmux_core::call::Caller;
use toolmux_core::secret::Secret;
use toolmux_http::serve::Web;

use crate::answer::told;
use crate::console::Console;
use crate::sessions::SessionMark;

/// An operator who asks to see something.
pub(crate) struct Operator {
    pub(crate) web: Arc<Web>,
    pub(crate) console: Arc<Console>,
    pub(crate) caller: Caller,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    /// What the forms of a page send back.
    pub(crate) csrf: Secret,
    /// Whether there is a session to end.
    pub(crate) is_signed_in: bool,
}

impl Operator {
    /// Admits whoever asks, whatever the method.
    pub(crate) fn admit(web: &Arc<Web>, parts: &Parts) -> Result<Self, Box<Response>> {
        let refused = |status, what: &str| Err(Box::new(told(&parts.uri, status, what)));
        let Some(console) = parts.extensions.get::<Arc<Console>>() else {
            return refused(StatusCode::NOT_FOUND, "there is nothing at this address");
        };
        let session = parts.extensions.get::<SessionMark>();
        let csrf = session.map_or_else(|| console.sessions.csrf().clone(), |session| session.csrf.clone());
        match web.admit(parts) {
            Ok(caller) if web.gateway.admission().is_operator(&caller) => Ok(Operator {
                web: Arc::clone(web),
                console: Arc::clone(console),
                caller,
                uri: parts.uri.clone(),
                headers: parts.headers.clone(),
                csrf,
                is_signed_in: session.is_some(),
            }),
            Ok(caller) if caller.is_limited() => {
                refused(StatusCode::NOT_FOUND, "there is nothing at this address")
            }
            Ok(_) => refused(StatusCode::FORBIDDEN, "this address is for keys with `operator = true`"),
            Err(refusal) => refused(StatusCode::UNAUTHORIZED, &refusal.message().public),
        }
    }

    /// The parameters of the address.
    pub(crate) fn query(&self) -> Vec<(String, String)> {
        Query::<Vec<(String, String)>>::try_from_uri(&self.uri).map(|query| query.0).unwrap_or_default()
    }

    /// One parameter of the address; absent when it is empty.
    pub(crate) fn parameter(&self, wanted: &str) -> Option<String> {
        self.query()
            .into_iter()
            .find(|(name, value)| name == wanted && !value.is_empty())
            .map(|(_, value)| value)
    }
}

impl FromRequestParts<Arc<Web>> for Operator {
    type Rejection = Response;

    /// For requests that change nothing; the others are [`crate::change::Change`].
    async fn from_request_parts(parts: &mut Parts, web: &Arc<Web>) -> Result<Self, Response> {
        let operator = Operator::admit(web, parts).map_err(|refused| *refused)?;
        if parts.method != Method::GET && parts.method != Method::HEAD {
            return Err(told(&parts.uri, StatusCode::METHOD_NOT_ALLOWED, "this address takes GET"));
        }
        Ok(operator)
    }
}
