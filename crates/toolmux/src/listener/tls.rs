//! TLS of a listener: the handshake, what it agreed on, and who the client showed itself to be.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;
use toolmux_http::serve::ClientCertificate;

/// HTTP/2, as clients and servers name it to each other.
pub(crate) const HTTP2: &[u8] = b"h2";
/// HTTP/1.1, as they name it.
pub(crate) const HTTP1: &[u8] = b"http/1.1";

/// The certificate of a listener and the authorities of its clients. They may be replaced while it listens: connections
/// that are open stay as they are, and the next one is made with the new ones. Cloning shares them.
#[derive(Clone)]
pub(crate) struct ListenTls(Arc<ArcSwap<ServerConfig>>);

impl ListenTls {
    pub(crate) fn new(config: Arc<ServerConfig>) -> Self {
        ListenTls(Arc::new(ArcSwap::new(config)))
    }

    /// Uses these from the next connection on.
    pub(crate) fn replace(&self, config: Arc<ServerConfig>) {
        self.0.store(config);
    }

    /// The connection with TLS on it. `None` for a client that does not manage within the time, or cannot.
    pub(super) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        within: Duration,
    ) -> Option<Secured<S>> {
        let accepting = TlsAcceptor::from(self.0.load_full()).accept(stream);
        let stream = match timeout(within, accepting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%error, "no TLS with a client");
                return None;
            }
            Err(_) => {
                tracing::debug!("no TLS with a client within {within:?}");
                return None;
            }
        };
        let session = stream.get_ref().1;
        let certificate = session.peer_certificates().and_then(|chain| chain.first());
        let certificate = certificate.map(|shown| ClientCertificate(Arc::new(Sha256::digest(shown).into())));
        let speaks_http2 = session.alpn_protocol() == Some(HTTP2);
        Some(Secured { stream, certificate, speaks_http2 })
    }
}

impl fmt::Debug for ListenTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ListenTls(…)")
    }
}

/// A connection after its handshake.
pub(super) struct Secured<S> {
    pub(super) stream: TlsStream<S>,
    /// What the client showed, verified against the authorities of clients.
    pub(super) certificate: Option<ClientCertificate>,
    pub(super) speaks_http2: bool,
}
