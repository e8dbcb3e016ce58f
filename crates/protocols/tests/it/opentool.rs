//! What the OpenTool tests share: a source that does as it is told, a server on a free port, a server that
//! answers prepared bytes, and one way to ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::message::Message;
use toolmux_core::mount::{Mount, Naming};
use toolmux_core::outcome::{Content, Outcome, Output, Retry, ToolError};
use toolmux_core::progress::{Progress, Update};
use toolmux_core::refusal::{Challenge, ParameterError, Refusal};
use toolmux_core::schema::Schema;
use toolmux_core::source::{Listing, Source, SourceError};
use toolmux_core::store::MemoryStore;
use toolmux_core::tool::{Returns, Tool};
use toolmux_protocols::http_client::{HttpClient, HttpLimits};
use toolmux_protocols::web::{Web, WebLimits};

pub(crate) const SETTLE: Duration = Duration::from_mins(1);

/// A source whose tools do what their names say.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) runs: AtomicUsize,
}

pub(crate) fn raw(text: &str) -> RawJson {
    serde_json::from_str(text).expect("JSON")
}

fn tools() -> Vec<Tool> {
    let tool = |name: &str, input: Value| Tool::new(name, format!("Does {name}"), Schema::new(input));
    let any = json!({ "type": "object" });
    let numbers = json!({ "type": "object", "required": ["a", "b"],
        "properties": { "a": { "type": "number" }, "b": { "type": "number" } } });
    let mut add = tool("add", numbers);
    add.returns = Returns::Matching(Schema::new(json!({ "type": "number" })));
    let mut nothing = tool("nothing", any.clone());
    nothing.returns = Returns::Nothing;
    let mut needy = tool("needy", any.clone());
    needy.requires.secrets = vec!["TOKEN".into()];
    let plain = [
        "echo",
        "text",
        "list",
        "exact",
        "pretty",
        "blocks",
        "slow",
        "parts",
        "fail",
        "stumble",
        "picky",
        "busy",
        "broken",
        "down",
        "lost",
        "challenge",
    ];
    let plain = plain.iter().map(|name| tool(name, any.clone()));
    [add, nothing, needy].into_iter().chain(plain).collect()
}

impl Source for Scripted {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(tools().into())))
    }

    fn call<'a>(&'a self, call: &'a Call, to: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        Box::pin(run(call, to))
    }
}

async fn run(call: &Call, progress: &Progress) -> Result<Outcome, SourceError> {
    let number = |name: &str| call.arguments().value()[name].as_f64().unwrap_or_default();
    let value = match call.tool_name() {
        "add" => raw_of(&json!(number("a") + number("b"))),
        "nothing" => raw("null"),
        "needy" => raw(r#"{"ok":true}"#),
        "echo" => call.arguments().text().to_owned(),
        "text" => raw(r#""plain""#),
        "list" => raw("[1, 2]"),
        "exact" => raw(r#"{"big":123456789012345678901234567890,"spaced" : [1.50, 1e400]}"#),
        "pretty" => raw("{\n  \"a\": [\r\n    1\n  ]\n}"),
        "blocks" => {
            let content = vec![Content::text("one"), Content::text("two")];
            return Ok(Outcome::Returned(Output { content, ..Output::value(raw("null")) }));
        }
        "slow" => {
            for done in [1.0, 2.5] {
                let message = (done > 2.0).then(|| "nearly".to_owned());
                progress.send(Update::Progress { done, total: Some(3.0), message }).await;
            }
            progress.send(Update::Log { level: "info".into(), data: raw(r#"{"x": 1}"#) }).await;
            raw(r#"{"done": true}"#)
        }
        "parts" => {
            progress.send(Update::Data(raw(r#"{"n": 1}"#))).await;
            progress.send(Update::Data(raw("2"))).await;
            raw(r#"{"n": 3}"#)
        }
        failing => return fail(failing),
    };
    Ok(Outcome::Returned(Output::value(value)))
}

fn fail(tool: &str) -> Result<Outcome, SourceError> {
    let public = Message::public;
    let refusal = match tool {
        "fail" => return Ok(Outcome::Failed(public("It is not there").developer("row 7").into())),
        "stumble" => {
            let error = ToolError::new("No such door").retry(Retry::After(Duration::from_millis(500)));
            return Ok(Outcome::Failed(error.prompt("doors: 42, 84")));
        }
        "picky" => Refusal::Invalid {
            parameters: vec![ParameterError { parameter: "door".into(), message: "is locked".into() }],
        },
        "challenge" => Refusal::Challenged {
            authorization: vec![Challenge {
                id: "github".into(),
                url: Some("https://allow.example/1".into()),
                check_url: None,
            }],
            secrets: Vec::new(),
            user_id: false,
        },
        "busy" => {
            Refusal::Busy { message: public("Too many at once"), retry_after: Duration::from_millis(1500) }
        }
        "broken" => Refusal::Internal(public("Something broke")),
        "down" => return Err(SourceError::NotReached(public("Cannot reach it"))),
        "lost" => return Err(SourceError::Lost(public("The line went dead"))),
        other => panic!("no tool {other}"),
    };
    Err(SourceError::Refused(refusal))
}

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
        gateway.mount(Mount::new("Kit", "Kit", Naming::Bare, source));
        gateway.settled(SETTLE).await;
        Server::over(gateway).await
    }

    pub(crate) async fn over(gateway: Arc<Gateway>) -> Server {
        let tcp = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", tcp.local_addr().expect("bound"));
        let stopped = CancellationToken::new();
        let web =
            Web { gateway: Arc::clone(&gateway), limits: WebLimits::default(), stop: Some(stopped.clone()) };
        let routes = toolmux_protocols::SERVED
            .iter()
            .fold(Router::new(), |all, served| all.merge((served.routes)().into_router()))
            .with_state(Arc::new(web));
        let serving = tokio::spawn(async move { axum::serve(tcp, routes).await.expect("serves") });
        Server { base, gateway, stopped, serving }
    }

    pub(crate) async fn scripted() -> Server {
        Server::start(Settings::default(), Arc::new(Scripted::default())).await
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
) -> toolmux_protocols::http_client::Answer {
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
