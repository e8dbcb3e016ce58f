//! Sends messages to a server over streamable HTTP, each with the headers it must have, and resumes streams of events.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use toolmux_http::client::{Answer, HttpClient, HttpError, Target};
use toolmux_http::sse::Decoder;
use url::Url;

use super::request_headers::{ConnectionCredentials, RequestHeaders};

static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The pause before a stream is resumed, unless the server names one.
const RETRY: Duration = Duration::from_secs(1);

pub(super) struct HttpSender {
    client: HttpClient,
    target: Target,
    pub(super) headers: RequestHeaders,
    /// The largest message, in bytes.
    pub(super) most: usize,
}

impl HttpSender {
    pub(super) fn new(
        client: HttpClient,
        url: &Url,
        most: usize,
        mut credentials: ConnectionCredentials,
    ) -> Result<Self, HttpError> {
        let headers = &mut credentials.headers;
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let target = client.target(url, credentials.headers)?;
        let (authorization, token) = (credentials.authorization, credentials.token);
        let headers = RequestHeaders::new(target.headers.clone(), authorization, token);
        Ok(HttpSender { client, target, headers, most })
    }

    /// The future is on its own, so that it can be sent in the background.
    pub(super) fn post(
        &self,
        message: Vec<u8>,
        headers: HeaderMap,
    ) -> impl Future<Output = Result<Answer, HttpError>> + Send + use<> {
        self.client.send_to(Method::POST, &self.target, headers, message.into())
    }

    /// Opens the stream that belongs to no request.
    pub(super) async fn get(&self) -> Result<Answer, HttpError> {
        self.client.send_to(Method::GET, &self.target, self.headers.with(None), Bytes::new()).await
    }

    /// Sends a message that has no answer, under the credentials of the request that it belongs to.
    pub(super) async fn send(&self, message: Vec<u8>, credentials: Option<&HeaderMap>) {
        self.post(message, self.headers.with(credentials)).await.ok();
    }

    /// Ends the session, if there is one.
    pub(super) async fn end_session(&self) {
        if self.headers.has_session() {
            let headers = self.headers.with(None);
            self.client.send_to(Method::DELETE, &self.target, headers, Bytes::new()).await.ok();
        }
    }

    /// The stream that goes on where another ended; none when the server did not say that it could.
    pub(super) async fn resume(
        &self,
        decoder: &mut Decoder,
        credentials: Option<&HeaderMap>,
    ) -> Option<Answer> {
        let last = HeaderValue::from_str(decoder.last_id().filter(|_| self.headers.is_legacy())?).ok()?;
        tokio::time::sleep(decoder.retry().unwrap_or(RETRY)).await;
        // Half an event that came before the break is sent again from its beginning.
        decoder.resume();
        let mut headers = self.headers.with(credentials);
        headers.insert(&LAST_EVENT, last);
        let answer = self.client.send_to(Method::GET, &self.target, headers, Bytes::new()).await.ok()?;
        answer.status().is_success().then_some(answer)
    }
}
