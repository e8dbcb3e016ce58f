//! How connections are made: directly, or through the proxy that the environment names; with TLS where the
//! address says so.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::time::timeout;
use tower::Service;

use super::error::BoxError;
use super::resolve::Resolver;
use super::tls::{ClientTls, system};
use crate::network_zone::Reach;

/// How long a connection is silent before TCP probes whether the other side still exists.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Clone, Debug)]
pub(super) struct Connector {
    resolver: Resolver,
    proxies: Arc<Matcher>,
    /// What the system says when absent.
    tls: Option<ClientTls>,
    /// How long connecting may take, TLS and the proxy included.
    limit: Duration,
}

impl Connector {
    pub(super) fn new(limit: Duration, proxies: Matcher, reach: Reach) -> Self {
        Connector { resolver: Resolver::new(reach), proxies: Arc::new(proxies), tls: None, limit }
    }

    /// The same with TLS of its own for the addresses that are asked for; a proxy is reached as the system says.
    pub(super) fn with_tls(mut self, tls: ClientTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// The same with another time limit.
    pub(super) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Refuses an address that no connection would be made to. A proxy resolves names itself, so that only addresses
    /// that are written out can be looked at then.
    pub(super) async fn check(&self, to: &Uri) -> io::Result<()> {
        match self.proxies.intercept(to) {
            Some(_) => self.resolver.check_literal(to),
            None => self.resolver.clone().check(to).await,
        }
    }

    /// The credentials that a proxy needs with every request that it can read.
    pub(super) fn proxy_authorization(&self, to: &Uri) -> Option<HeaderValue> {
        let proxy = self.proxies.intercept(to).filter(|_| !is_secure(to))?;
        proxy.basic_auth().cloned()
    }

    /// True when requests go to a proxy that reads them, and so needs whole addresses.
    pub(super) fn is_read_by_proxy(&self, to: &Uri) -> bool {
        !is_secure(to) && self.proxies.intercept(to).is_some()
    }

    /// A new connection, within the time that one may take.
    pub(super) async fn connect(&self, to: Uri) -> Result<Box<dyn Stream>, BoxError> {
        let late =
            |_| io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {:?}", self.limit));
        timeout(self.limit, self.reach(to)).await.map_err(late)?
    }

    async fn reach(&self, to: Uri) -> Result<Box<dyn Stream>, BoxError> {
        self.resolver.check_literal(&to)?;
        let Some(proxy) = self.proxies.intercept(&to) else {
            return open(to, self.resolver.clone(), self.tls.as_ref()).await;
        };
        // Whoever configures this machine names the proxy, so that it may be anywhere.
        let resolver = Resolver::new(Reach::Anywhere);
        if !is_secure(&to) {
            return open(proxy.uri().clone(), resolver, None).await;
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), secured(tcp(resolver), None)?);
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        Ok(Box::new(secured(tunnel, self.tls.as_ref())?.call(to).await?))
    }
}

async fn open(to: Uri, resolver: Resolver, tls: Option<&ClientTls>) -> Result<Box<dyn Stream>, BoxError> {
    let mut tcp = tcp(resolver);
    match to.scheme() {
        Some(scheme) if *scheme == Scheme::HTTP => Ok(Box::new(tcp.call(to).await?)),
        _ => Ok(Box::new(secured(tcp, tls)?.call(to).await?)),
    }
}

fn tcp(resolver: Resolver) -> HttpConnector<Resolver> {
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEP_ALIVE));
    tcp
}

/// A connection, whatever it goes through.
pub(super) trait Stream: Read + Write + Send + Unpin {}

impl<S: Read + Write + Send + Unpin> Stream for S {}

fn is_secure(to: &Uri) -> bool {
    to.scheme() == Some(&Scheme::HTTPS)
}

fn secured<C>(connector: C, tls: Option<&ClientTls>) -> Result<HttpsConnector<C>, rustls::Error> {
    let config = tls.map_or_else(system, |tls| Ok(tls.config()))?;
    Ok(HttpsConnector::from((connector, config)))
}
