//! The only HTTP client: pooled, bounded, and exact about whether a request can have arrived.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::Url;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::refusal::Refusal;
use toolmux_core::source::SourceError;

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a whole exchange may take.
    pub timeout: Duration,
    /// The largest answer.
    pub body_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits {
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_mins(5),
            body_bytes: 64 << 20,
        }
    }
}

/// Why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The request cannot have arrived.
    #[error("cannot connect to `{host}`")]
    NotReached {
        /// Where it was to go.
        host: String,
        /// What the network said, TLS included.
        #[source]
        error: reqwest::Error,
    },
    /// The request may have arrived.
    #[error("the connection to `{host}` was lost")]
    Lost {
        /// Where it went.
        host: String,
        /// What the network said.
        #[source]
        error: reqwest::Error,
    },
    /// No answer within the time limit; the request may have arrived.
    #[error("`{host}` did not answer within {after:?}")]
    TimedOut {
        /// Where it went.
        host: String,
        /// The limit.
        after: Duration,
    },
    /// The answer is over the limit.
    #[error("`{host}` answered with more than {most} bytes")]
    TooLarge {
        /// Who answered.
        host: String,
        /// The limit.
        most: usize,
    },
}

impl HttpError {
    /// What TLS found wrong with the other side, when that is why there is no connection.
    pub fn tls_fault(&self) -> Option<&rustls::Error> {
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = next {
            let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            if let Some(fault) = inner.and_then(|inner| inner.downcast_ref()).or(error.downcast_ref()) {
                return Some(fault);
            }
            next = inner.map(|inner| inner as _).or_else(|| error.source());
        }
        None
    }
}

impl From<HttpError> for SourceError {
    fn from(error: HttpError) -> Self {
        let mut public = error.to_string();
        public[..1].make_ascii_uppercase();
        let message = Message::public(public).caused_by(&error);
        match error {
            HttpError::NotReached { .. } => SourceError::NotReached(message),
            HttpError::Lost { .. } | HttpError::TimedOut { .. } | HttpError::TooLarge { .. } => {
                SourceError::Lost(message)
            }
        }
    }
}

/// The credentials of a call that go to its source in headers.
pub fn credential_headers(call: &Call) -> Result<HeaderMap, SourceError> {
    let mut headers = HeaderMap::new();
    for (name, secret) in call.headers() {
        let pair = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(secret.expose()).ok());
        let Some((header, mut value)) = pair else {
            let words = format!("The credential for header `{name}` cannot be sent in one");
            return Err(SourceError::Refused(Refusal::Internal(Message::public(words))));
        };
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// A pooled client. Cloning shares the pool.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: reqwest::Client,
    limits: HttpLimits,
}

impl HttpClient {
    /// A client of its own pool. Redirects are not followed: credentials must not travel.
    pub fn new(limits: HttpLimits) -> Self {
        let client = reqwest::Client::builder()
            .connect_timeout(limits.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .user_agent(concat!("toolmux/", env!("CARGO_PKG_VERSION")))
            .build()
            .expect("constant settings make a client");
        HttpClient { client, limits }
    }

    /// Sends a request and gives the answer as soon as its head is there. Dropping the future or the
    /// answer closes the exchange.
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: impl Into<reqwest::Body>,
    ) -> Result<Answer, HttpError> {
        let request = self.client.request(method, url.clone()).headers(headers).body(body);
        let host = url.authority().to_owned();
        match tokio::time::timeout(self.limits.timeout, request.send()).await {
            Ok(Ok(response)) => Ok(Answer { response, host, limits: self.limits.clone() }),
            Ok(Err(error)) if error.is_connect() || error.is_builder() => {
                Err(HttpError::NotReached { host, error })
            }
            Ok(Err(error)) => Err(HttpError::Lost { host, error }),
            Err(_) => Err(HttpError::TimedOut { host, after: self.limits.timeout }),
        }
    }
}

/// The credentials that a call delivers in headers, for every source behind HTTP.
pub(crate) fn delivered_headers(call: &Call) -> Result<HeaderMap, SourceError> {
    let mut headers = HeaderMap::new();
    for (name, secret) in call.headers() {
        let wrong =
            || SourceError::NotReached(Message::public(format!("The header `{name}` cannot be sent")));
        let mut value = HeaderValue::from_str(secret.expose()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(name.parse::<HeaderName>().map_err(|_| wrong())?, value);
    }
    Ok(headers)
}

/// An answer whose body is still to come.
#[derive(Debug)]
pub struct Answer {
    response: reqwest::Response,
    host: String,
    limits: HttpLimits,
}

impl Answer {
    /// The status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Who answers.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece of the body, for streams; how long to wait for it is the caller's to say.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, HttpError> {
        self.response.chunk().await.map_err(|error| HttpError::Lost { host: self.host.clone(), error })
    }

    /// The whole body.
    pub async fn body(mut self) -> Result<Bytes, HttpError> {
        let (host, after) = (self.host.clone(), self.limits.timeout);
        let whole = tokio::time::timeout(after, self.whole()).await;
        whole.unwrap_or(Err(HttpError::TimedOut { host, after }))
    }

    async fn whole(&mut self) -> Result<Bytes, HttpError> {
        let most = self.limits.body_bytes;
        let mut whole = BytesMut::new();
        while let Some(piece) = self.piece().await? {
            if whole.len() + piece.len() > most {
                return Err(HttpError::TooLarge { host: self.host.clone(), most });
            }
            if whole.is_empty() && self.response.content_length() == Some(piece.len() as u64) {
                return Ok(piece);
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }
}
