//! What a served protocol tells the rest of the program, and what of that holds at every address.

use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use toolmux_core::catalog::Entry;

use super::routes::Routes;
use super::web::Web;

/// A protocol that we answer.
pub struct Served {
    /// Its name, for people.
    pub name: &'static str,
    /// Where it is, for people: `/opentool`.
    pub path: &'static str,
    /// Its routes, each on a list with who may use it.
    pub routes: fn() -> Routes,
    /// A command line that tries it on a tool.
    pub try_it: fn(base: &str, tool: &Entry) -> Option<String>,
    /// What its clients send and expect at addresses that are not its own as well.
    pub client_headers: Option<ClientHeaders>,
}

/// Headers that clients of one protocol use at every address.
pub struct ClientHeaders {
    /// The header in which they send a key, beside `Authorization`.
    pub key: &'static str,
    /// The header, and its value, that they expect on every error and on answers that no protocol gives alone, such as
    /// that of `/health`.
    pub answer: (&'static str, &'static str),
}

/// The headers of the clients of all served protocols.
#[derive(Debug, Default)]
pub struct SharedHeaders {
    keys: Vec<HeaderName>,
    answers: Vec<(HeaderName, HeaderValue)>,
}

impl SharedHeaders {
    /// Those of these protocols.
    pub fn of<'a>(served: impl IntoIterator<Item = &'a Served>) -> Self {
        let mut all = SharedHeaders::default();
        for headers in served.into_iter().filter_map(|served| served.client_headers.as_ref()) {
            let (name, value) = headers.answer;
            all.keys.push(HeaderName::from_static(headers.key));
            all.answers.push((HeaderName::from_static(name), HeaderValue::from_static(value)));
        }
        all
    }

    /// The key that a request shows in a header of a protocol.
    pub(super) fn key<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        self.keys.iter().find_map(|name| headers.get(name))
    }

    /// Puts on an answer what the clients of every protocol expect.
    pub(super) fn mark(&self, mut answer: Response) -> Response {
        for (name, value) in &self.answers {
            answer.headers_mut().insert(name, value.clone());
        }
        answer
    }
}

/// The routes of these protocols.
pub fn router<'a>(served: impl IntoIterator<Item = &'a Served>) -> Router<Arc<Web>> {
    served.into_iter().fold(Router::new(), |all, served| all.merge((served.routes)().into_router()))
}
