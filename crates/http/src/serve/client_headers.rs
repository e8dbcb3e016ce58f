//! Headers of one protocol at addresses that are not its own: what its clients send, and what they expect.

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Headers that clients of one protocol use at every address.
pub struct ClientHeaders {
    /// The header in which they send a key, besides `Authorization`.
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
    pub(super) fn of<'a>(protocols: impl Iterator<Item = &'a ClientHeaders>) -> Self {
        let mut all = SharedHeaders::default();
        for headers in protocols {
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
