//! What the OpenTool tests share: a server on a free port, a server that answers prepared bytes, and one way to ask.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::{Progress, Update};
use toolmux_core::schema::Schema;
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::tool::Tool;
use toolmux_http::client::{HttpClient, HttpLimits};
use toolmux_http::serve::{Web, WebLimits, router, shared_headers};

use crate::oxp::served;
use crate::scripted_source::{Scripted, raw};

pub(crate) const SETTLE: Duration = Duration::from_mins(1);

/// A server on a free port, gone with this value.
pub(crate) struct Server {
    pub(crate) base: String,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) stopped: CancellationToken,
    serving: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Server {
    /// Serves the tools of a source under their own names.
    pub(crate) async fn start(settings: Settings, source: Arc<dyn Source>) -> Server {
        let gateway = Gateway::new(settings, Arc::new(MemoryStore::default()));
        gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Bare, source));
        gateway.sources().settled(SETTLE).await;
        Server::over(gateway).await
    }

    pub(crate) async fn over(gateway: Arc<Gateway>) -> Server {
        let tcp = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", tcp.local_addr().expect("bound"));
        let stopped = CancellationToken::new();
        let web = Web {
            gateway: Arc::clone(&gateway),
            limits: WebLimits::default(),
            stop: Some(stopped.clone()),
            headers: shared_headers(served()),
        };
        let routes = router(served()).with_state(Arc::new(web));
        let serving = tokio::spawn(async move { axum::serve(tcp, routes).await.expect("serves") });
        Server { base, gateway, stopped, serving }
    }

    pub(crate) async fn scripted() -> Server {
        Server::start(Settings::default(), Scripted::lowercase()).await
    }

    /// Status, headers and the body as it came.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, HeaderMap, String) {
        let answer = send(&self.base, method, path, headers, body).await;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = answer.body().await.expect("a body");
        (status, headers, String::from_utf8(body.to_vec()).expect("text"))
    }

    /// The pieces of a stream as they came.
    pub(crate) async fn stream(&self, method: &str, params: &str) -> Vec<String> {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":"7"}}"#);
        let mut answer = send(&self.base, Method::POST, "/opentool/streamCall", &[], &body).await;
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let mut pieces = Vec::new();
        while let Some(piece) = answer.piece().await.expect("a piece") {
            pieces.push(String::from_utf8(piece.to_vec()).expect("text"));
        }
        pieces
    }

    pub(crate) async fn call(&self, method: &str, params: &str) -> (u16, String) {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":"7"}}"#);
        let (status, _, body) = self.ask(Method::POST, "/opentool/call", &[], &body).await;
        (status, body)
    }
}

pub(crate) async fn send(
    base: &str,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> toolmux_http::client::Answer {
    let url = format!("{base}{path}").parse().expect("a URL");
    let header = |(name, value): &(&str, &str)| {
        (HeaderName::try_from(*name).expect("a name"), HeaderValue::try_from(*value).expect("a value"))
    };
    let client = HttpClient::new(HttpLimits::default());
    client.send(method, &url, headers.iter().map(header).collect(), body.to_owned()).await.expect("an answer")
}

/// A server that gives every request the next of its prepared answers, byte for byte, and keeps the requests.
pub(crate) struct Prepared {
    pub(crate) base: String,
    serving: JoinHandle<Vec<String>>,
}

impl Prepared {
    pub(crate) async fn start(answers: Vec<Vec<u8>>) -> Prepared {
        let tcp = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", tcp.local_addr().expect("bound"));
        let serving = tokio::spawn(async move {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = tcp.accept().await.expect("a client");
                requests.push(read_request(&mut stream).await);
                stream.write_all(&answer).await.expect("written");
                stream.shutdown().await.ok();
            }
            requests
        });
        Prepared { base, serving }
    }

    /// An answer with a length, after which the connection closes.
    pub(crate) fn answer(status: &str, kind: &str, body: &str) -> Vec<u8> {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
            .into_bytes()
    }

    pub(crate) fn json(body: &str) -> Vec<u8> {
        Prepared::answer("200 OK", "application/json", body)
    }

    /// What was asked, once every answer is given.
    pub(crate) async fn requests(self) -> Vec<String> {
        self.serving.await.expect("served")
    }
}

async fn read_request(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.expect("readable");
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        assert_ne!(count, 0, "the client left in the middle of a request");
    }
}

/// A tool that tells progress and never ends.
#[derive(Default)]
pub(crate) struct Endless {
    pub(crate) dropped: Arc<tokio::sync::Notify>,
}

struct Dropped(Arc<tokio::sync::Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Source for Endless {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let tool = Tool::new("forever", "Never ends", Schema::no_parameters());
        Box::pin(std::future::ready(Ok(vec![tool].into())))
    }

    fn call<'a>(
        &'a self,
        _: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(async move {
            let _dropped = Dropped(Arc::clone(&self.dropped));
            progress.send(Update::Data(raw("{}"))).await;
            std::future::pending().await
        })
    }
}
