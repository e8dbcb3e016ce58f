//! An HTTP client with kept connections, as agents have: hyper's own pool, which notices closed connections.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::timeout;

/// Answers of scenarios are smaller; some are of several megabytes.
const LARGEST: usize = 64 << 20;

/// Longer than any outage of a scenario: a request without an answer after this is unanswered.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Clone)]
pub(crate) struct HttpClient {
    inner: Client<HttpConnector, Body>,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

/// Why there is no answer.
pub(crate) enum Broken {
    /// Nothing listens there: the request never left.
    Unreachable,
    /// The request may have arrived.
    Unanswered(String),
}

impl HttpClient {
    pub(crate) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self { inner: Client::builder(TokioExecutor::new()).build(connector) }
    }

    pub(crate) async fn get(&self, url: &str) -> Result<Reply, Broken> {
        self.send(Request::get(url).header("accept", "application/json"), Body::empty()).await
    }

    pub(crate) async fn send(
        &self,
        request: hyper::http::request::Builder,
        body: impl Into<Body>,
    ) -> Result<Reply, Broken> {
        let request = request.body(body.into()).map_err(|error| Broken::Unanswered(error.to_string()))?;
        match timeout(ANSWER_TIMEOUT, self.exchange(request)).await {
            Ok(reply) => reply,
            Err(_) => Err(Broken::Unanswered(format!("no answer within {ANSWER_TIMEOUT:?}"))),
        }
    }

    async fn exchange(&self, request: Request<Body>) -> Result<Reply, Broken> {
        let closed = |when: &str| Broken::Unanswered(format!("the connection was closed {when} the answer"));
        let answer = match self.inner.request(request).await {
            Ok(answer) => answer,
            Err(error) if error.is_connect() => return Err(Broken::Unreachable),
            Err(_) => return Err(closed("before")),
        };
        let status = answer.status().as_u16();
        let body = to_bytes(Body::new(answer.into_body()), LARGEST).await;
        Ok(Reply { status, body: body.map_err(|_| closed("within"))? })
    }
}
