//! The least a reverse proxy can do: pass bytes on and back, with pooled connections, looking at nothing.

use std::net::SocketAddr;

use anyhow::Context;
use hyper::body::Incoming;
use hyper::http::uri::{Authority, Scheme};
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

type Upstream = Client<HttpConnector, Incoming>;

/// Serves until the process is ended.
pub(crate) fn serve(listen: SocketAddr, upstream: SocketAddr) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let authority: Authority = upstream.to_string().parse()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot bind {listen}"))?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client: Upstream = Client::builder(TokioExecutor::new()).build(connector);
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (client, authority) = (client.clone(), authority.clone());
            let pass = move |request| pass(client.clone(), authority.clone(), request);
            let service = hyper::service::service_fn(pass);
            connections.spawn(async move {
                let connection = hyper::server::conn::http1::Builder::new();
                connection.serve_connection(TokioIo::new(stream), service).await
            });
        }
    })
}

async fn pass(
    client: Upstream,
    authority: Authority,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    (parts.scheme, parts.authority) = (Some(Scheme::HTTP), Some(authority));
    *request.uri_mut() = Uri::from_parts(parts).expect("scheme, authority and path make an address");
    client.request(request).await
}
