//! The least a proxy can do: a body goes to the upstream over a pooled connection, and its answer comes back. Nothing is
//! looked at, and only the headers that an answer needs are passed on. Bodies are passed on whole, which costs less than
//! passing on their pieces.

use std::net::SocketAddr;

use anyhow::Context;
use axum::body::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

type Upstream = Client<HttpConnector, Full<Bytes>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Serves until the process is ended.
pub(crate) fn serve(listen: SocketAddr, upstream: SocketAddr) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let address: Uri = format!("http://{upstream}/mcp").parse()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot bind {listen}"))?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client: Upstream = Client::builder(TokioExecutor::new()).build(connector);
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (client, address) = (client.clone(), address.clone());
            let service = service_fn(move |request| pass(client.clone(), address.clone(), request));
            connections.spawn(async move {
                let connection = hyper::server::conn::http1::Builder::new();
                connection.serve_connection(TokioIo::new(stream), service).await
            });
        }
    })
}

async fn pass(
    client: Upstream,
    address: Uri,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, BoxError> {
    let body = request.into_body().collect().await?.to_bytes();
    let request = Request::post(address)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(Full::new(body))?;
    let (head, body) = client.request(request).await?.into_parts();
    let mut answer = Response::new(Full::new(body.collect().await?.to_bytes()));
    *answer.status_mut() = head.status;
    if let Some(kind) = head.headers.get(CONTENT_TYPE) {
        answer.headers_mut().insert(CONTENT_TYPE, kind.clone());
    }
    Ok(answer)
}
