//! An HTTP API that answers as a test says and keeps what it was asked; and a gateway in front of a source.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request as HttpRequest;
use axum::response::Response;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::Source;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming};
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::{OpenError, Opening, SecretSetting};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct ApiRequest {
    /// Method and target, `GET /a?b=c`.
    pub(crate) line: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl ApiRequest {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("ASCII"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A server that lives as long as this.
pub(crate) struct ApiServer {
    pub(crate) base: String,
    requests: Arc<Mutex<Vec<ApiRequest>>>,
    serving: JoinHandle<()>,
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl ApiServer {
    pub(crate) async fn start(
        answer: impl Fn(&ApiRequest) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("bound"));
        let requests = Arc::<Mutex<Vec<ApiRequest>>>::default();
        let kept = Arc::clone(&requests);
        let router = Router::new().fallback(move |request: HttpRequest| {
            let (answer, kept) = (answer.clone(), Arc::clone(&kept));
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, 1 << 24).await.expect("a body").to_vec();
                let line = format!("{} {}", head.method, head.uri);
                let request = ApiRequest { line, headers: head.headers, body };
                kept.lock().expect("not poisoned").push(request.clone());
                answer(&request)
            }
        });
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        ApiServer { base, requests, serving }
    }

    /// The requests since this was asked last.
    pub(crate) fn take(&self) -> Vec<ApiRequest> {
        std::mem::take(&mut *self.requests.lock().expect("not poisoned"))
    }
}

/// An answer with a type and a body.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.into()).expect("a response")
}

pub(crate) fn json(body: &str) -> Response {
    answer(200, &[("content-type", "application/json")], body.to_owned())
}

/// A source of a kind by its table.
pub(crate) fn open(kind: &str, table: Value, folder: &Path) -> Result<Arc<dyn Source>, OpenError> {
    let kind = SOURCES.iter().find(|known| known.kind == kind).expect("registered");
    let secrets = |setting: &SecretSetting| match setting {
        SecretSetting::Text(text) => Ok(Secret::new(text.as_str())),
        SecretSetting::Env { .. } | SecretSetting::File { .. } => Err("not here".to_owned()),
    };
    (kind.open)(&Opening { name: "Api", table, folder, secrets: &secrets })
}

/// A gateway in front of one source, whose breaker never opens.
pub(crate) async fn mounted(source: Arc<dyn Source>) -> Arc<Gateway> {
    mounted_within(Limits { breaker_failures: u32::MAX, ..Limits::default() }, source).await
}

/// The same within other limits.
pub(crate) async fn mounted_within(limits: Limits, source: Arc<dyn Source>) -> Arc<Gateway> {
    let gateway = Gateway::new(Settings { limits, ..Settings::default() }, Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("Api", "Api", Naming::Bare, source));
    gateway.sources().settled(Duration::from_mins(1)).await;
    gateway
}

pub(crate) async fn call(gateway: &Arc<Gateway>, tool: &str, arguments: &str) -> Result<Outcome, Refusal> {
    let caller = gateway.admit(Credential::None, None).expect("open");
    let arguments: &serde_json::value::RawValue = serde_json::from_str(arguments).expect("JSON");
    let request = Request::new(ToolRef::flat(tool), Arguments::read(Some(arguments)).expect("an object"));
    gateway.call(&caller, request, &Progress::unheard()).await
}

/// What came of a call in one line: the value, or why there is none.
pub(crate) async fn called(gateway: &Arc<Gateway>, tool: &str, arguments: &str) -> String {
    match call(gateway, tool, arguments).await {
        Ok(Outcome::Returned(output)) => output.value.get().to_owned(),
        Ok(Outcome::Failed(error)) => format!("failed: {}", error.message.public),
        Err(refusal) => format!("{}: {}", refusal.name(), refusal.message().public),
    }
}
