//! One request of JSON-RPC 2.0 over HTTP, and what its answer means for a call.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::value::RawValue;
use toolmux_core::json_text::RawJson;
use toolmux_core::message::Message;
use toolmux_core::outcome::{Content, ToolError};
use toolmux_core::ports::source::SourceError;
use toolmux_core::redact::redacted;
use toolmux_core::refusal::Refusal;
use toolmux_http::client::{HttpClient, HttpError, StatusAnswer, Target};
use url::Url;

use crate::jsonrpc::{Error, ask, read_answer};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// JSON-RPC says nothing of statuses. What HTTP itself says of missing credentials remains: the request "has not been
/// applied" (RFC 9110, 15.5.2).
const NOT_EXECUTED: [StatusCode; 1] = [StatusCode::UNAUTHORIZED];

/// A server that methods are called at.
#[derive(Debug)]
pub(super) struct RpcServer {
    client: HttpClient,
    target: Target,
    next: AtomicU64,
}

/// What a method is asked for.
#[derive(Debug)]
pub(super) struct RpcCall<'a> {
    pub(super) method: &'a str,
    pub(super) params: &'a str,
    /// Absent for a notification, which has no answer.
    pub(super) id: Option<u64>,
    /// Credentials of the call.
    pub(super) headers: HeaderMap,
}

impl RpcServer {
    pub(super) fn new(client: HttpClient, url: &Url, mut headers: HeaderMap) -> Result<Self, HttpError> {
        headers.insert(header::CONTENT_TYPE, JSON);
        headers.entry(header::ACCEPT).or_insert(JSON);
        let target = client.target(url, headers)?;
        Ok(RpcServer { client, target, next: AtomicU64::new(1) })
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The result of a method, or the error that the server answers with. Dropping the future closes the exchange.
    pub(super) async fn call(&self, call: RpcCall<'_>) -> Result<Result<RawJson, RawJson>, SourceError> {
        let id = call.id.map(|id| id.to_string());
        let body = ask(id.as_deref(), call.method, Some(call.params));
        let mut headers = self.target.headers.clone();
        headers.extend(call.headers);
        let answer = self.client.send_to(Method::POST, &self.target, headers, Bytes::from(body)).await?;
        let (status, host) = (StatusAnswer::of(&answer), answer.host().to_owned());
        let body = answer.body().await;
        let Some(id) = id else {
            return if status.status.is_success() {
                Ok(Ok(RawValue::NULL.to_owned()))
            } else {
                Err(not_answered(status, &host))
            };
        };
        // A server may answer with an error of JSON-RPC under a status of failure.
        let body = if status.status.is_success() { body? } else { body.unwrap_or_default() };
        match read_answer(&body, |answered| answered == id) {
            Ok(answer) => Ok(answer.map(ToOwned::to_owned).map_err(ToOwned::to_owned)),
            Err(_) if !status.status.is_success() => Err(not_answered(status, &host)),
            Err(error) => {
                let words = format!("`{host}` did not answer with JSON-RPC for this call");
                Err(SourceError::Lost(Message::public(words).caused_by(&error)))
            }
        }
    }
}

fn not_answered(status: StatusAnswer, host: &str) -> SourceError {
    status
        .error(&NOT_EXECUTED, Message::public(format!("`{host}` answered {} and no JSON-RPC", status.status)))
}

/// What an error means: only those by which JSON-RPC itself says that nothing ran are refusals.
pub(super) fn failure(error: &RawValue, tool: &str) -> Result<ToolError, SourceError> {
    let Ok(Error { code, message, data }) = serde_json::from_str(error.get()) else {
        return Ok(ToolError::new(format!("The server answered with an error: {}", redacted(error.get()))));
    };
    let words = format!("{} (JSON-RPC error {code})", redacted(&message));
    match code {
        -32601 => Err(SourceError::Refused(Refusal::UnknownTool {
            tool: tool.to_owned(),
            nearest: None,
            developer: Some(format!("its server says: {words}")),
        })),
        -32700 | -32600 => {
            let public = "The server could not read the request";
            Err(SourceError::Refused(Refusal::Internal(Message::public(public).developer(words))))
        }
        _ => {
            let data = data.filter(|data| data.get() != "null");
            let content = data.map(|data| vec![Content::text(&words), Content::text(&redacted(data.get()))]);
            let words = match &content {
                Some(content) => {
                    let texts: Vec<String> = content.iter().filter_map(Content::as_text).collect();
                    texts.join(": ")
                }
                None => words,
            };
            Ok(ToolError { content: content.unwrap_or_default(), ..ToolError::new(words) })
        }
    }
}
