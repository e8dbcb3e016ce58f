//! What the OXP tests share: a server on a free port, and one way to ask.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;
use tokio::task::JoinHandle;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::source::Source;
use toolmux_core::sources::{Mount, Naming};
use toolmux_http::client::{HttpClient, HttpLimits};
use toolmux_http::serve::{Served, Web, WebLimits, router, shared_headers};

pub(crate) const SETTLE: Duration = Duration::from_mins(1);

/// A server on a free port, gone with this value.
pub(crate) struct Server {
    pub(crate) base: String,
    pub(crate) gateway: Arc<Gateway>,
    serving: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Server {
    /// Serves the tools of a source as toolkit `Kit`.
    pub(crate) async fn start(settings: Settings, source: Arc<dyn Source>) -> Self {
        let gateway = Gateway::new(settings, Arc::new(MemoryStore::default()));
        gateway.sources().mount(Mount::new("scripted", "Kit", Naming::Prefixed, source));
        gateway.sources().settled(SETTLE).await;
        Server::serve(gateway).await
    }

    pub(crate) async fn serve(gateway: Arc<Gateway>) -> Self {
        let limits = WebLimits { body_bytes: 64 << 10, ..WebLimits::default() };
        let headers = shared_headers(served());
        let web = Arc::new(Web { gateway: Arc::clone(&gateway), limits, stop: None, headers });
        let router = router(served()).with_state(web);
        let (base, serving) = listen(router).await;
        Server { base, gateway, serving }
    }

    /// Asks; gives status, headers and body.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (StatusCode, HeaderMap, Value) {
        let url = format!("{}{path}", self.base);
        ask(method, &url, headers, body).await
    }

    /// Calls a tool with a bare body.
    pub(crate) async fn call(&self, body: &Value) -> (StatusCode, Value) {
        let (status, _, answer) = self.ask(Method::POST, "/tools/call", &[], &body.to_string()).await;
        (status, answer)
    }
}

/// Every protocol, and the pages of the broker.
pub(crate) fn served() -> impl Iterator<Item = &'static Served> {
    toolmux_protocols::SERVED.iter().chain([&toolmux_broker::SERVED])
}

pub(crate) async fn listen(router: Router) -> (String, JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address: SocketAddr = listener.local_addr().expect("bound");
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.expect("serves") });
    (format!("http://{address}"), serving)
}

pub(crate) async fn ask(
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (StatusCode, HeaderMap, Value) {
    let mut sent = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().expect("header name");
        sent.append(name, HeaderValue::from_str(value).expect("header value"));
    }
    let client = HttpClient::new(HttpLimits::default());
    let answer = client
        .send(method, &url.parse().expect("url"), sent, body.to_owned())
        .await
        .expect("the server answers");
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = answer.body().await.expect("a whole body");
    (status, headers, serde_json::from_slice(&body).unwrap_or(Value::Null))
}
