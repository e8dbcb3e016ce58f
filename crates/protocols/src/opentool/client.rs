//! A client of OpenTool servers: pooled, bounded, over `http` and `https`.

use std::collections::VecDeque;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolmux_core::answer_memory::answer_takes;
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::ports::figures::ConnectionFigures;
use toolmux_core::secret::Secret;
use toolmux_http::client::{Answer, ClientTls, HttpClient, HttpError, HttpLimits, StatusAnswer, sensitive};
use toolmux_http::sse::{Decoder, EVENT_STREAM};
use url::Url;

use super::client_wire::{self, FunctionCall, RawCall, ServerEvent, ToolReturn};
use super::document::{OpenTool, read_leniently};
use super::exception::ClientError;

/// Where OpenTool is below a server's address.
const PREFIX: &str = "/opentool";

/// A client of one server. Cloning shares the connections.
///
/// ```no_run
/// # use toolmux_core::secret::Secret;
/// # use toolmux_protocols::opentool::{Client, ClientError, FunctionCall};
/// # async fn example() -> Result<(), ClientError> {
/// let client = Client::new("http://127.0.0.1:9627")?.key(&Secret::new("secret"))?;
/// let call = FunctionCall::new("1", "add", serde_json::from_str(r#"{"a": 1, "b": 2}"#).unwrap_or_default());
/// println!("{:?}", client.call(&call).await?.result);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    http: HttpClient,
    limits: HttpLimits,
    base: Url,
    headers: HeaderMap,
}

/// What a server has by way of a document.
#[derive(Debug)]
pub(super) enum Loaded {
    /// The same as the last time.
    Same,
    Nothing,
    /// This text, under this tag.
    Text(String, Option<HeaderValue>),
}

impl Client {
    /// What was counted of the connections to the server.
    pub(crate) fn connections(&self) -> ConnectionFigures {
        self.http.connections()
    }

    /// A client of the server at an address, to which `/opentool` is added where it is missing.
    pub fn new(url: &str) -> Result<Self, ClientError> {
        let unusable = |why: &dyn std::fmt::Display| ClientError::Unusable(format!("`{url}`: {why}"));
        let mut base: Url = url.parse().map_err(|error| unusable(&error))?;
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(unusable(&"not an address of the form http://host:port"));
        }
        let path = base.path().trim_end_matches('/').to_owned();
        base.set_path(&if path.ends_with(PREFIX) { path } else { path + PREFIX });
        base.set_query(None);
        let limits = HttpLimits::default();
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Client { http: HttpClient::new(limits), limits, base, headers })
    }

    /// The same with a key on every request.
    pub fn key(mut self, key: &Secret) -> Result<Self, ClientError> {
        let value = sensitive(&format!("Bearer {}", key.expose())).ok_or_else(|| {
            ClientError::Unusable("the key has characters that a header cannot carry".to_owned())
        })?;
        self.headers.insert(header::AUTHORIZATION, value);
        Ok(self)
    }

    /// The same with other bounds of time and size.
    pub fn limits(mut self, limits: HttpLimits) -> Self {
        self.http = self.http.with_limits(limits);
        self.limits = limits;
        self
    }

    /// The same with TLS of its own; nothing leaves it to the system.
    pub fn tls(mut self, tls: Option<ClientTls>) -> Self {
        self.http = self.http.with_tls(tls);
        self
    }

    /// The version of the server.
    pub async fn version(&self) -> Result<String, ClientError> {
        let answer = self.ask(Method::GET, "/version").await?;
        if !answer.status().is_success() {
            return Err(ClientError::NoAccess { cause: None });
        }
        let body = answer.body().await?;
        client_wire::version(&body)
            .ok_or_else(|| ClientError::call(None, "The server did not report a version"))
    }

    /// Calls a function. Dropping the future closes the connection.
    pub async fn call(&self, call: &FunctionCall) -> Result<ToolReturn, ClientError> {
        let params = raw(&call.arguments);
        let result = self.call_raw(raw_call(call, &params)).await?;
        Ok(ToolReturn::new(call.id.as_str(), map(&result)?))
    }

    /// Calls a function and follows it. Dropping what this gives closes the connection.
    pub async fn stream_call(&self, call: &FunctionCall) -> Result<Events, ClientError> {
        let params = raw(&call.arguments);
        let inner = self.stream_raw(raw_call(call, &params)).await?;
        Ok(Events { inner, id: call.id.clone() })
    }

    /// What the server can do; `None` when it does not say. Functions with faults are left out.
    pub async fn load(&self) -> Result<Option<OpenTool>, ClientError> {
        match self.load_since(None).await? {
            Loaded::Text(text, _) => Ok(read_leniently(&text).ok().map(|(document, _)| document)),
            Loaded::Same | Loaded::Nothing => Ok(None),
        }
    }

    /// Asks the server to end itself; true when it says that it will.
    pub async fn stop(&self) -> Result<bool, ClientError> {
        let answer = self.ask(Method::POST, "/stop").await?;
        Ok(answer.status().is_success())
    }

    /// Calls a function with JSON as it is, and gives the result as it came.
    pub(super) async fn call_raw(&self, call: RawCall<'_>) -> Result<RawJson, ClientError> {
        let headers = self.headers_of(&call, "application/json");
        let answer = self.send(Method::POST, "/call", headers, call.body()).await?;
        let told = StatusAnswer::of(&answer);
        client_wire::answer(told, call.id, &answer.body().await?)
    }

    /// The same, followed.
    pub(super) async fn stream_raw(&self, call: RawCall<'_>) -> Result<RawEvents, ClientError> {
        let headers = self.headers_of(&call, EVENT_STREAM);
        let answer = self.send(Method::POST, "/streamCall", headers, call.body()).await?;
        let told = StatusAnswer::of(&answer);
        if !told.status.is_success() {
            let body = answer.body().await?;
            return Err(client_wire::answer(told, call.id, &body)
                .err()
                .unwrap_or_else(|| client_wire::status_error(told, &body)));
        }
        Ok(RawEvents {
            answer,
            call: call.id.to_owned(),
            decoder: Decoder::new(self.limits.body_bytes),
            ready: VecDeque::new(),
            limits: self.limits,
        })
    }

    pub(super) async fn load_since(&self, known: Option<HeaderValue>) -> Result<Loaded, ClientError> {
        let mut headers = self.accepting("application/json");
        if let Some(tag) = known {
            headers.insert(header::IF_NONE_MATCH, tag);
        }
        let answer = self.send(Method::GET, "/load", headers, Vec::new()).await?;
        let (told, tag) = (StatusAnswer::of(&answer), answer.headers().get(header::ETAG).cloned());
        if told.status == StatusCode::NOT_MODIFIED {
            return Ok(Loaded::Same);
        }
        let body = answer.body().await?;
        if !told.status.is_success() {
            return Err(client_wire::status_error(told, &body));
        }
        Ok(describes(&body).map_or(Loaded::Nothing, |text| Loaded::Text(text, tag)))
    }

    async fn ask(&self, method: Method, path: &str) -> Result<Answer, ClientError> {
        self.send(method, path, self.accepting("application/json"), Vec::new()).await
    }

    fn headers_of(&self, call: &RawCall<'_>, accept: &'static str) -> HeaderMap {
        let mut headers = self.accepting(accept);
        headers.extend(call.headers.clone());
        headers
    }

    fn accepting(&self, accept: &'static str) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        headers
    }

    /// An answer of whoever is an OpenTool server and knows us.
    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Answer, ClientError> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path()));
        let answer = self.http.send(method, &url, headers, body).await?;
        match answer.status() {
            StatusCode::UNAUTHORIZED => Err(ClientError::Unauthorized),
            StatusCode::NOT_FOUND => Err(ClientError::NoAccess { cause: None }),
            _ => Ok(answer),
        }
    }
}

/// A followed call.
#[derive(Debug)]
pub struct Events {
    inner: RawEvents,
    id: String,
}

/// One thing told by a followed call.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// The server has begun.
    Start,
    /// A part of what the function gives, or all of it.
    Data(ToolReturn),
    /// The function has ended well.
    Done,
}

impl Events {
    /// What is told next. After `Done` and after an error comes nothing.
    pub async fn next(&mut self) -> Result<Option<StreamEvent>, ClientError> {
        loop {
            return Ok(Some(match self.inner.next().await? {
                None => return Ok(None),
                Some(ServerEvent::Other) => continue,
                Some(ServerEvent::Start) => StreamEvent::Start,
                Some(ServerEvent::Data(part)) => {
                    StreamEvent::Data(ToolReturn::new(self.id.as_str(), map(&part)?))
                }
                Some(ServerEvent::Done) => StreamEvent::Done,
            }));
        }
    }
}

/// A followed call, as the server wrote it.
#[derive(Debug)]
pub(super) struct RawEvents {
    answer: Answer,
    /// The id of the call.
    call: String,
    decoder: Decoder,
    ready: VecDeque<toolmux_http::sse::Event>,
    limits: HttpLimits,
}

impl RawEvents {
    /// The next event; `None` when the server has closed the stream, which for one public server is the
    /// only sign that the function has ended.
    pub(super) async fn next(&mut self) -> Result<Option<ServerEvent>, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return client_wire::event(&event, &self.call).map(Some);
            }
            let piece = tokio::time::timeout(self.limits.timeout, self.answer.piece()).await;
            let Some(piece) = piece.map_err(|_| self.late())?? else {
                let cut = || ClientError::call(None, "The stream ended in the middle of an event");
                return if self.decoder.is_between_events() { Ok(None) } else { Err(cut()) };
            };
            let events = self.decoder.push(&piece);
            self.ready.extend(events.map_err(|error| ClientError::call(None, error.to_string()))?);
            answer_takes(self.decoder.held()).map_err(|error| ClientError::call(None, error.to_string()))?;
        }
    }

    fn late(&self) -> ClientError {
        let host = self.answer.host().to_owned();
        ClientError::TimedOut(HttpError::TimedOut { host, after: self.limits.timeout })
    }
}

fn raw_call<'a>(call: &'a FunctionCall, params: &'a RawValue) -> RawCall<'a> {
    RawCall { id: &call.id, method: &call.name, params, headers: HeaderMap::new() }
}

fn raw(arguments: &Map<String, Value>) -> RawJson {
    to_raw(arguments).expect("a map of JSON values is always writable")
}

fn map(result: &RawValue) -> Result<Map<String, Value>, ClientError> {
    serde_json::from_str(result.get())
        .map_err(|error| ClientError::call(None, format!("The result cannot be read: {error}")))
}

/// The text of a document. `{}`, nothing at all, and what public servers answer instead describe nothing.
fn describes(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let value: Value = serde_json::from_str(text).ok()?;
    value.get("functions").is_some_and(Value::is_array).then(|| text.to_owned())
}
