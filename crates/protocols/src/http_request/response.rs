//! What an answer means: a value, a failure with the words of the server, or nothing certain.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::call::Call;
use toolmux_core::json_text::{RawJson, raw_of, read_object};
use toolmux_core::message::Message;
use toolmux_core::outcome::{Content, Outcome, Output, Retry, ToolError};
use toolmux_core::ports::source::SourceError;
use toolmux_core::redact::redacted;
use toolmux_http::client::{Answer, StatusAnswer};
use url::Url;

use super::link::next_page;
use super::media_type::{MediaKind, media_kind, text_of};
use super::operation::ResponseForm;
use super::output::OutputRule;

/// How many letters of what a server says about a failure are passed on.
const MOST_TOLD: usize = 4_000;

/// An API has no protocol that says which calls were not executed: what it answers is the result of the call.
const NOT_EXECUTED: [StatusCode; 0] = [];

/// Reads an answer. `address` is where it came from: relative addresses in it are relative to that.
pub(super) async fn read(
    answer: Answer,
    rule: &OutputRule,
    address: impl FnOnce() -> Url,
    call: &Call,
) -> Result<Outcome, SourceError> {
    if !answer.status().is_success() {
        return unsuccessful(answer).await;
    }
    let notes = next_page(answer.headers(), address).map(|next| format!("There is a next page: {next}"));
    let headers = header_of_body(answer.headers());
    let body = answer.body().await?;
    let output = match rule.form {
        ResponseForm::Body => output(headers.as_deref(), body),
        ResponseForm::GraphQl => match graphql(&body) {
            Ok(value) => Output::value(value),
            Err(error) => return Ok(Outcome::Failed(error)),
        },
    };
    Ok(rule.outcome(call.tool_name(), output, notes.into_iter().collect()))
}

fn header_of_body(headers: &HeaderMap) -> Option<String> {
    headers.get(header::CONTENT_TYPE)?.to_str().ok().map(str::to_owned)
}

/// The body as a value: JSON as it came, text, or bytes with their type.
pub(crate) fn output(content_type: Option<&str>, body: Bytes) -> Output {
    if body.is_empty() {
        return Output::value(RawValue::NULL.to_owned());
    }
    let kind = content_type.map_or(MediaKind::Unknown, media_kind);
    if matches!(kind, MediaKind::Json | MediaKind::Unknown)
        && let Some(value) = json_value(&body)
    {
        return Output::value(value);
    }
    let is_text = matches!(kind, MediaKind::Json | MediaKind::Text);
    match text_of(&body, content_type) {
        Some(text) if is_text || kind == MediaKind::Unknown => Output::value(raw_of(&text.into())),
        _ if is_text => Output::value(raw_of(&String::from_utf8_lossy(&body).into())),
        _ => bytes(content_type.unwrap_or("application/octet-stream"), &body),
    }
}

/// The text of a JSON body, without a byte order mark.
fn json_value(body: &[u8]) -> Option<RawJson> {
    let bare = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    serde_json::from_slice(bare).ok()
}

/// Bytes: as an image or a sound where it is one, and always in base64 with their type.
fn bytes(content_type: &str, body: &[u8]) -> Output {
    let bare = content_type.split(';').next().unwrap_or_default().trim();
    let base64 = STANDARD.encode(body);
    let block = match bare.split_once('/') {
        Some(("image", _)) => Some("image"),
        Some(("audio", _)) => Some("audio"),
        _ => None,
    };
    let block = block.map(|kind| json!({ "type": kind, "data": base64, "mimeType": bare }));
    let content = block.iter().map(|block| Content::raw(raw_of(block))).collect();
    let value = raw_of(&json!({ "content_type": content_type, "bytes": body.len(), "base64": base64 }));
    Output { content, ..Output::value(value) }
}

/// An answer whose status is none of success. What the server says is for the model: it is the tool that says it.
async fn unsuccessful(answer: Answer) -> Result<Outcome, SourceError> {
    let status_answer = StatusAnswer::of(&answer);
    let StatusAnswer { status, retry_after } = status_answer;
    let host = answer.host().to_owned();
    let location =
        answer.headers().get(header::LOCATION).and_then(|place| place.to_str().ok()).map(str::to_owned);
    let content_type = header_of_body(answer.headers());
    // Without its body the status is still an answer.
    let body = answer.body().await.unwrap_or_default();
    let said = match location.filter(|_| status.is_redirection()) {
        Some(place) => format!(": it redirects to `{place}`, which is not followed"),
        None => said(content_type.as_deref(), &body),
    };
    let words = format!("`{host}` answered {status}{said}");
    let failed = |retry: Retry| Ok(Outcome::Failed(ToolError::new(words.clone()).retry(retry)));
    match status.as_u16() {
        429 => Err(status_answer.error(&NOT_EXECUTED, Message::public(words))),
        400..=499 => failed(retry_after.map_or(Retry::Never, Retry::After)),
        // The server says when to ask again, and so that it knows what it did not do.
        500..=599 if retry_after.is_some() => failed(Retry::allowed(retry_after)),
        // Whatever is between us and the server lost it, or could not reach it: nothing is known of the call.
        502..=504 => Err(SourceError::Lost(Message::public(words))),
        500..=599 => failed(Retry::Never),
        _ => Err(status_answer.error(&NOT_EXECUTED, Message::public(words))),
    }
}

fn said(content_type: Option<&str>, body: &Bytes) -> String {
    if body.is_empty() {
        return String::new();
    }
    let kind = content_type.map_or(MediaKind::Unknown, media_kind);
    let text = match text_of(body, content_type) {
        Some(text) if kind != MediaKind::Bytes => text,
        _ => return format!(" with {} bytes of `{}`", body.len(), content_type.unwrap_or("an unknown type")),
    };
    let text = redacted(text.trim());
    match text.char_indices().nth(MOST_TOLD) {
        Some((end, _)) => format!(": {}…", &text[..end]),
        None => format!(": {text}"),
    }
}

/// The data of a GraphQL answer. Errors are a failure, also beside data and in an answer with status 200.
fn graphql(body: &[u8]) -> Result<RawJson, ToolError> {
    #[derive(Deserialize)]
    struct Members<'a> {
        #[serde(borrow, default)]
        data: Option<&'a RawValue>,
        #[serde(borrow, default)]
        errors: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct GraphQlError {
        message: String,
    }
    let unreadable = |_| ToolError::new("The server answered something else than GraphQL");
    let members: Members<'_> = read_object(body).map_err(unreadable)?;
    let Some(errors) = members.errors.filter(|errors| !matches!(errors.get(), "[]" | "null")) else {
        return members.data.map(ToOwned::to_owned).ok_or_else(|| {
            ToolError::new("The server answered with neither `data` nor `errors`, which is not GraphQL")
        });
    };
    let known: Vec<GraphQlError> = serde_json::from_str(errors.get()).unwrap_or_default();
    let messages: Vec<String> = known.into_iter().map(|error| error.message).collect();
    let words =
        if messages.is_empty() { "The GraphQL operation failed".to_owned() } else { messages.join("; ") };
    let whole = [Content::text(&words), Content::text(&redacted(errors.get()))];
    Err(ToolError { content: whole.into(), ..ToolError::new(words) })
}
