//! How connections are made: straight, or through the proxy that the environment names; with TLS where the
//! address says so.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use tokio::time::timeout;
use toolmux_core::BoxFuture;
use tower::Service;

use crate::http_error::BoxError;

/// How long a silent connection is left before the other side is asked whether it still is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Made when the first address wants TLS: to read the system's certificates takes milliseconds.
static TLS: LazyLock<Result<Arc<ClientConfig>, rustls::Error>> = LazyLock::new(|| {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let verified = builder.with_safe_default_protocol_versions()?.try_with_platform_verifier()?;
    Ok(Arc::new(verified.with_no_client_auth()))
});

#[derive(Clone, Debug)]
pub(crate) struct Connector {
    tcp: HttpConnector,
    proxies: Arc<Matcher>,
    /// How long a connection may take, greetings included.
    patience: Duration,
}

impl Connector {
    pub(crate) fn new(patience: Duration, proxies: Matcher) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        Connector { tcp, proxies: Arc::new(proxies), patience }
    }

    /// What a proxy wants to hear with every request that it can read.
    pub(crate) fn proxy_authorization(&self, to: &Uri) -> Option<HeaderValue> {
        let proxy = self.proxies.intercept(to).filter(|_| !is_secure(to))?;
        proxy.basic_auth().cloned()
    }

    async fn connect(self, to: Uri) -> Result<Wire, BoxError> {
        let Some(proxy) = self.proxies.intercept(&to) else {
            return Ok(Wire { stream: self.open(to).await?, proxied: false });
        };
        if !is_secure(&to) {
            return Ok(Wire { stream: self.open(proxy.uri().clone()).await?, proxied: true });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), secured(self.tcp)?);
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        Ok(Wire { stream: Box::new(secured(tunnel)?.call(to).await?), proxied: false })
    }

    async fn open(mut self, to: Uri) -> Result<Box<dyn Stream>, BoxError> {
        match to.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => Ok(Box::new(self.tcp.call(to).await?)),
            _ => Ok(Box::new(secured(self.tcp)?.call(to).await?)),
        }
    }
}

fn is_secure(to: &Uri) -> bool {
    to.scheme() == Some(&Scheme::HTTPS)
}

fn secured<C>(connector: C) -> Result<HttpsConnector<C>, rustls::Error> {
    let config = TLS.as_ref().map_err(Clone::clone)?;
    Ok(HttpsConnector::from((connector, Arc::clone(config))))
}

impl Service<Uri> for Connector {
    type Response = Wire;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Wire, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (connector, patience) = (self.clone(), self.patience);
        Box::pin(async move {
            let late =
                |_| io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {patience:?}"));
            timeout(patience, connector.connect(to)).await.map_err(late)?
        })
    }
}

trait Stream: Read + Write + Connection + Send + Unpin {}

impl<S: Read + Write + Connection + Send + Unpin> Stream for S {}

/// A connection, whatever it goes through.
pub(crate) struct Wire {
    stream: Box<dyn Stream>,
    /// A proxy is told whole addresses.
    proxied: bool,
}

impl Wire {
    fn stream(self: Pin<&mut Self>) -> Pin<&mut dyn Stream> {
        Pin::new(&mut *self.get_mut().stream)
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.proxied)
    }
}

impl Read for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream().poll_read(context, buffer)
    }
}

impl Write for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(context, pieces)
    }
}
