//! The only HTTP client: pooled, bounded, and exact about whether a request can have arrived.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use http_body_util::Full;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::time::timeout;
use toolmux_core::ports::figures::{ConnectionCounters, ConnectionFigures};
use toolmux_core::trace_context;
use tower::{Service, service_fn};
use tower_http::decompression::Decompression;
use url::Url;

use super::address::{basic_authorization, host_of, without_user};
use super::answer::Answer;
use super::connect::Connector;
use super::error::{BoxError, HttpError};
use super::limits::HttpLimits;
use super::pool::{Origin, Pool, Unanswered};
use super::tls::ClientTls;
use crate::network_zone::Reach;

const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("toolmux/", env!("CARGO_PKG_VERSION")));

/// A pooled client. Cloning shares the pool.
#[derive(Clone, Debug)]
pub struct HttpClient {
    pool: Pool,
    connector: Connector,
    limits: HttpLimits,
}

impl HttpClient {
    /// A client of its own pool. Redirects are not followed: credentials must not travel.
    pub fn new(limits: HttpLimits) -> Self {
        Self::reaching(Reach::Anywhere, limits)
    }

    /// The same for some addresses only.
    pub fn reaching(reach: Reach, limits: HttpLimits) -> Self {
        Self::through(Matcher::from_env(), reach, limits)
    }

    fn through(proxies: Matcher, reach: Reach, limits: HttpLimits) -> Self {
        HttpClient {
            pool: Pool::default(),
            connector: Connector::new(limits.connect_timeout, proxies, reach),
            limits,
        }
    }

    /// The same client with TLS of its own, and no connection yet.
    pub fn with_tls(self, tls: Option<ClientTls>) -> Self {
        let Some(tls) = tls else { return self };
        let pool = Pool::counted_by(Arc::clone(self.pool.counters()));
        HttpClient { pool, connector: self.connector.with_tls(tls), ..self }
    }

    /// The same client with other bounds, and no connection yet.
    pub fn with_limits(self, limits: HttpLimits) -> Self {
        let connector = self.connector.within(limits.connect_timeout);
        HttpClient { pool: Pool::counted_by(Arc::clone(self.pool.counters())), connector, limits }
    }

    /// The same client with connections that these count, and none yet: for a source that has several clients.
    pub fn counted_by(self, counters: &Arc<ConnectionCounters>) -> Self {
        HttpClient { pool: Pool::counted_by(Arc::clone(counters)), ..self }
    }

    /// What was counted of its connections.
    pub fn connections(&self) -> ConnectionFigures {
        self.pool.counters().figures()
    }

    /// Refuses an address that the client would not connect to, for those that are handed on to a browser.
    pub async fn check(&self, url: &Url) -> Result<(), HttpError> {
        let unfit = |error: BoxError| HttpError::NotReached { host: host_of(url), error };
        let uri: Uri = without_user(url).as_str().parse().map_err(|error| unfit(Box::new(error)))?;
        let checked = timeout(self.limits.connect_timeout, self.connector.check(&uri)).await;
        let after = self.limits.connect_timeout;
        let late = |_| HttpError::TimedOut { host: host_of(url), after };
        checked.map_err(late)?.map_err(|error| unfit(Box::new(error)))
    }

    /// Sends a request and gives the answer as soon as its head is there. Dropping the future or the
    /// answer closes the exchange.
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<Answer, HttpError> {
        let answer = {
            let mut target = self.target(url, headers)?;
            let headers = std::mem::take(&mut target.headers);
            self.send_to(method, &target, headers, body.into())
        };
        answer.await
    }

    /// The same for a target that was made ready. The headers are all that the request has. Not an `async fn`,
    /// whose future would hold all parts of the request twice.
    pub fn send_to(
        &self,
        method: Method,
        target: &Target,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> impl Future<Output = Result<Answer, HttpError>> + Send + use<> {
        add_trace(&mut headers);
        let (origin, limits) = (Arc::clone(&target.origin), self.limits);
        let mut request = Request::new(Full::new(body));
        (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) =
            (method, target.uri.clone(), headers);
        let send = service_fn(|request| Arc::clone(&origin).send(request));
        let response = timeout(limits.timeout, Decompression::new(send).call(request));
        response.map(move |response| {
            let host = || origin.host().to_owned();
            match response {
                Ok(Ok(response)) => Ok(Answer::new(response, origin, limits)),
                Ok(Err(Unanswered::NotSent(error))) => Err(HttpError::NotReached { host: host(), error }),
                Ok(Err(Unanswered::Lost(error))) => {
                    Err(HttpError::Lost { host: host(), error: error.into() })
                }
                Err(_) => Err(HttpError::TimedOut { host: host(), after: limits.timeout }),
            }
        })
    }

    /// An address, made ready for many requests that all have these headers.
    pub fn target(&self, url: &Url, mut headers: HeaderMap) -> Result<Target, HttpError> {
        let unfit = |error: BoxError| HttpError::NotReached { host: host_of(url), error };
        if let Some(authorization) = basic_authorization(url) {
            headers.entry(header::AUTHORIZATION).or_insert(authorization);
        }
        let uri: Uri = without_user(url).as_str().parse().map_err(|error| unfit(Box::new(error)))?;
        let host = HeaderValue::from_str(&host_of(url)).map_err(|error| unfit(Box::new(error)))?;
        headers.entry(header::HOST).or_insert(host);
        headers.entry(header::USER_AGENT).or_insert(USER_AGENT);
        headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        if let Some(authorization) = self.connector.proxy_authorization(&uri) {
            headers.insert(header::PROXY_AUTHORIZATION, authorization);
        }
        let origin = self.pool.origin(url, &uri, &self.connector);
        let path = uri.path_and_query().filter(|_| !self.connector.is_read_by_proxy(&uri)).cloned();
        Ok(Target { uri: path.map_or(uri, Uri::from), origin, headers })
    }
}

/// The trace of the call that this task runs, in place of any that the headers name.
fn add_trace(headers: &mut HeaderMap) {
    let Some(trace) = trace_context::current() else { return };
    if let Ok(parent) = HeaderValue::from_str(&trace.context.traceparent()) {
        headers.insert("traceparent", parent);
    }
    if let Some(state) = trace.state.and_then(|state| HeaderValue::from_str(&state).ok()) {
        headers.insert("tracestate", state);
    }
}

/// An address that was made ready.
#[derive(Clone, Debug)]
pub struct Target {
    /// As the request says it.
    uri: Uri,
    origin: Arc<Origin>,
    /// What every request to it says.
    pub headers: HeaderMap,
}

impl Target {
    /// Another path of the same host, without headers.
    pub fn at(&self, path: PathAndQuery) -> Target {
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = Some(path);
        // A proxy is told the whole address, anybody else the path alone; both are made of valid parts.
        let uri = Uri::from_parts(parts).expect("another path does not make an address invalid");
        Target { uri, origin: Arc::clone(&self.origin), headers: HeaderMap::new() }
    }

    /// The whole address, for a target below `base`.
    pub fn url(&self, base: &Url) -> Url {
        let mut url = without_user(base);
        url.set_path(self.uri.path());
        url.set_query(self.uri.query());
        url
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// What a server is sent when `url` is asked for, with `PROXY` in `proxy` standing for that server's address.
    async fn sent(url: &str, proxy: Option<&str>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let proxies = match proxy {
            Some(proxy) => Matcher::builder().all(proxy.replace("PROXY", &address)).build(),
            None => Matcher::builder().build(),
        };
        let url = url.replace("SERVER", &address).parse().unwrap();
        let client = HttpClient::through(proxies, Reach::Anywhere, HttpLimits::default());
        let asking = tokio::spawn(async move { client.send(Method::GET, &url, HeaderMap::new(), "").await });
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        drop(stream);
        asking.await.unwrap().ok();
        String::from_utf8(head).unwrap().replace(&address, "SERVER")
    }

    async fn check(url: &str, proxy: Option<&str>, expect: &[&str]) {
        let sent = sent(url, proxy).await;
        for line in expect {
            assert!(sent.lines().any(|said| said.eq_ignore_ascii_case(line)), "{line} is not in:\n{sent}");
        }
    }

    #[tokio::test]
    async fn what_an_address_says_of_its_user_goes_into_a_header() {
        let expect =
            ["GET /a?b=c HTTP/1.1", "host: SERVER", "authorization: Basic dTpwIHc=", "accept-encoding: gzip"];
        check("http://u:p%20w@SERVER/a?b=c", None, &expect).await;
    }

    #[tokio::test]
    async fn a_proxy_is_told_the_whole_address() {
        let expect = ["GET http://example.test/a HTTP/1.1", "proxy-authorization: Basic dTpw"];
        check("http://example.test/a", Some("http://u:p@PROXY"), &expect).await;
    }

    #[tokio::test]
    async fn a_proxy_is_asked_for_a_tunnel_where_it_must_not_read() {
        let expect = ["CONNECT example.test:443 HTTP/1.1", "proxy-authorization: Basic dTpw"];
        check("https://example.test/a", Some("http://u:p@PROXY"), &expect).await;
    }
}
