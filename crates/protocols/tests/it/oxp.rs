//! What the OXP tests share: a source that does as it is told, a server on a free port, and one way to ask.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::json_text::raw_of;
use toolmux_core::message::Message;
use toolmux_core::mount::{Mount, Naming};
use toolmux_core::outcome::{Outcome, Output, Retry, ToolError};
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::requirements::{Authorization, Requirements};
use toolmux_core::schema::Schema;
use toolmux_core::source::{Listing, Source, SourceError};
use toolmux_core::store::MemoryStore;
use toolmux_core::tool::{Returns, Tool};
use toolmux_core::version::Version;
use toolmux_protocols::http_client::{HttpClient, HttpLimits};
use toolmux_protocols::web::{Web, WebLimits};

pub(crate) const SETTLE: Duration = Duration::from_mins(1);

/// A source whose tools do what their names say.
pub(crate) struct Scripted {
    pub(crate) runs: AtomicUsize,
    /// `Slow` waits for one of these.
    pub(crate) turns: Semaphore,
}

impl Scripted {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Scripted { runs: AtomicUsize::new(0), turns: Semaphore::new(0) })
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

fn tools() -> Vec<Tool> {
    let numbers = json!({ "type": "object", "required": ["a", "b"],
        "properties": { "a": { "$ref": "#/$defs/n" }, "b": { "$ref": "#/$defs/n" } }, "$defs": { "n": { "type": "number" } } });
    let tool = |name: &str, input: Value| Tool::new(name, format!("Does {name}"), Schema::new(input));
    let mut old = tool("Add", numbers.clone());
    old.returns = Returns::Matching(Schema::new(json!({ "type": "number" })));
    let mut new = old.clone();
    new.version = Version { major: 1, minor: 2, patch: 0 };
    let mut nothing = tool("Nothing", json!({}));
    nothing.returns = Returns::Nothing;
    let mut needy = tool("Needy", json!({}));
    needy.requires = Requirements {
        authorization: vec![Authorization::new("github", vec!["repo".into()])],
        secrets: vec!["SHOP_TOKEN".into()],
        user_id: true,
        ..Requirements::default()
    };
    let plain = ["Fail", "Stumble", "Slow", "Busy", "Broken", "Down", "Lost", "Panic"];
    let plain = plain.iter().map(|name| tool(name, json!({ "type": "object" })));
    [old, new, nothing, needy].into_iter().chain(plain).collect()
}

impl Source for Scripted {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(tools().into())))
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.run(call))
    }
}

impl Scripted {
    async fn run(&self, call: &Call) -> Result<Outcome, SourceError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let number = |name: &str| call.arguments().value()[name].as_f64().unwrap_or_default();
        let value = match call.tool_name() {
            "Add" => json!(number("a") + number("b")),
            "Nothing" => Value::Null,
            "Needy" => json!({
                "token": call.grants().token("github").map(|token| token.expose().len()),
                "secret": call.grants().secret("SHOP_TOKEN").map(|secret| secret.expose().len()),
                "user": call.grants().user_id,
            }),
            "Slow" => {
                self.turns.acquire().await.expect("open").forget();
                json!(self.runs())
            }
            "Fail" => return Ok(Outcome::Failed(ToolError::from(full_message()))),
            "Stumble" => return Ok(Outcome::Failed(stumble())),
            "Busy" => return Err(SourceError::Refused(busy())),
            "Broken" => {
                return Err(SourceError::Refused(Refusal::Internal(Message::public("Something broke"))));
            }
            "Down" => return Err(SourceError::NotReached(Message::public("Cannot reach it"))),
            "Lost" => return Err(SourceError::Lost(Message::public("The line went dead"))),
            other => panic!("no tool {other}"),
        };
        Ok(Outcome::Returned(Output::value(raw_of(&value))))
    }
}

fn full_message() -> Message {
    Message::public("It is not there").developer("row 7 of table doors")
}

fn stumble() -> ToolError {
    ToolError::new("Doorbell ID not found")
        .retry(Retry::After(Duration::from_millis(500)))
        .prompt("ids: doorbell42,doorbell84")
}

fn busy() -> Refusal {
    Refusal::Busy { message: Message::public("Too many at once"), retry_after: Duration::from_millis(1_500) }
}

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
        gateway.mount(Mount::new("scripted", "Kit", Naming::Prefixed, source));
        gateway.settled(SETTLE).await;
        Server::serve(gateway).await
    }

    pub(crate) async fn serve(gateway: Arc<Gateway>) -> Self {
        let limits = WebLimits { body_bytes: 64 << 10, ..WebLimits::default() };
        let web = Arc::new(Web { gateway: Arc::clone(&gateway), limits, stop: None });
        let router = toolmux_protocols::SERVED
            .iter()
            .fold(Router::new(), |router, served| router.merge((served.routes)().into_router()))
            .with_state(web);
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
