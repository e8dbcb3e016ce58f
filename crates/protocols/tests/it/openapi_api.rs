//! An API that says what it was asked, and a gateway in front of it by a document.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request as CallRequest;
use toolmux_core::gateway::{Credential, Gateway, Settings};
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

use crate::oxp::SETTLE;

/// A server of an API. It answers every request with what it was asked, and serves its document at `/openapi.json`.
pub(crate) struct EchoApi {
    pub(crate) base: String,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    document: std::sync::Mutex<(String, u64)>,
    /// How often the document was sent, and how often it was asked for.
    sent: AtomicUsize,
    asked: AtomicUsize,
}

impl Drop for EchoApi {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl EchoApi {
    pub(crate) async fn start(document: &Value) -> EchoApi {
        let shared = Arc::new(Shared::default());
        *shared.document.lock().expect("no handler panics") = (document.to_string(), 1);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("bound"));
        let routes = Router::new()
            .route("/openapi.json", get(send_document))
            .fallback(echo)
            .with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.expect("it serves") });
        EchoApi { base, shared, serving }
    }

    pub(crate) fn change_document(&self, document: &Value) {
        let mut kept = self.shared.document.lock().expect("no handler panics");
        *kept = (document.to_string(), kept.1 + 1);
    }

    /// How often the document was sent, and how often it was asked for.
    pub(crate) fn document_requests(&self) -> (usize, usize) {
        (self.shared.sent.load(Ordering::SeqCst), self.shared.asked.load(Ordering::SeqCst))
    }
}

async fn send_document(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    shared.asked.fetch_add(1, Ordering::SeqCst);
    let (text, revision) = shared.document.lock().expect("no handler panics").clone();
    let tag = format!("\"{revision}\"");
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    shared.sent.fetch_add(1, Ordering::SeqCst);
    ([(header::ETAG, tag)], text).into_response()
}

async fn echo(request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    let said = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let told = json!({
        "request": format!("{} {}", head.method, head.uri),
        "body": String::from_utf8_lossy(&body),
        "type": said("content-type"),
        "authorization": said("authorization"),
        "key": said("x-key"),
        "cookie": said("cookie"),
    });
    axum::Json(told).into_response()
}

/// Opens a source of a table, with `secret NAME` for every secret of an environment variable.
pub(crate) fn open(table: Value, folder: &Path) -> Result<Arc<dyn Source>, OpenError> {
    let kind = SOURCES.iter().find(|known| known.kind == "openapi").expect("registered");
    let secrets = |setting: &SecretSetting| match setting {
        SecretSetting::Env { env } => Ok(Secret::new(format!("secret {env}"))),
        SecretSetting::File { .. } | SecretSetting::Text(_) => Err("only variables here".to_owned()),
    };
    (kind.open)(&Opening { name: "Api", table, folder, secrets: &secrets })
}

/// A gateway in front of a source, whose tools have their own names.
pub(crate) async fn gateway_of(source: Arc<dyn Source>) -> Arc<Gateway> {
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("Api", "Api", Naming::Bare, source));
    gateway.sources().settled(SETTLE).await;
    gateway
}

/// A gateway in front of an API that this document describes.
pub(crate) async fn gateway_for(document: &Value, more: Value) -> (Arc<Gateway>, EchoApi) {
    let api = EchoApi::start(document).await;
    let mut table = json!({ "document": format!("{}/openapi.json", api.base) });
    table.as_object_mut().expect("a table").extend(more.as_object().cloned().unwrap_or_default());
    let source = open(table, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
    (gateway_of(source).await, api)
}

pub(crate) async fn call(gateway: &Arc<Gateway>, tool: &str, arguments: Value) -> Result<Outcome, Refusal> {
    let caller = gateway.admit(Credential::None, None).expect("nobody needs a key");
    let Value::Object(map) = arguments else { panic!("arguments are an object") };
    let request = CallRequest::new(ToolRef::flat(tool), Arguments::from_map(map));
    gateway.call(&caller, request, &Progress::unheard()).await
}

/// What the API says that it was asked.
pub(crate) async fn told(gateway: &Arc<Gateway>, tool: &str, arguments: Value) -> Value {
    match call(gateway, tool, arguments).await {
        Ok(Outcome::Returned(output)) => serde_json::from_str(output.value.get()).expect("JSON"),
        other => panic!("{tool}: {other:?}; not served: {:?}", gateway.catalog().unserved()),
    }
}
