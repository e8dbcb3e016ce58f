//! The only JSON-RPC 2.0 envelope. Ids, parameters and results are carried as they came.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A request, read without looking into its parameters. The `jsonrpc` member is not checked: a public SDK
/// writes "2.0.0".
#[derive(Debug, Deserialize)]
pub struct Request<'a> {
    /// What is asked.
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    /// With what.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// To be echoed; absent and `null` are the same.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
}

/// An answer. Members stand in the order in which the OpenTool specification shows them.
#[derive(Debug)]
pub struct Response<'a> {
    id: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<Error<'a>>,
    both: bool,
}

/// What went wrong.
#[derive(Debug, Serialize, Deserialize)]
pub struct Error<'a> {
    /// A number whose meaning the protocol gives.
    pub code: i64,
    /// One sentence.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    /// More, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

/// One message on a line where both sides ask.
#[derive(Debug)]
pub enum Message<'a> {
    /// It wants an answer.
    Request {
        /// To be echoed.
        id: &'a RawValue,
        /// What is asked.
        method: Cow<'a, str>,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// It wants none.
    Notification {
        /// What is told.
        method: Cow<'a, str>,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// It answers a request of ours.
    Answer {
        /// The request's id.
        id: &'a RawValue,
        /// The result, or the error.
        answer: Result<&'a RawValue, &'a RawValue>,
    },
}

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error)]
pub enum NotAMessage {
    /// They are not JSON.
    #[error("the message is not JSON: {0}")]
    NotJson(serde_json::Error),
    /// They are JSON, but neither a request, nor a notification, nor an answer.
    #[error("the message is not JSON-RPC")]
    NotRpc,
}

impl<'a> Message<'a> {
    /// Reads one message. An id is a text or a number; `null` is none.
    pub fn read(bytes: &'a [u8]) -> Result<Self, NotAMessage> {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(borrow, default)]
            method: Option<Cow<'a, str>>,
            #[serde(borrow, default)]
            params: Option<&'a RawValue>,
            #[serde(borrow, default)]
            id: Option<&'a RawValue>,
            #[serde(borrow, default)]
            result: Option<&'a RawValue>,
            #[serde(borrow, default)]
            error: Option<&'a RawValue>,
        }
        let members: Members<'a> = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => NotAMessage::NotRpc,
            _ => NotAMessage::NotJson(error),
        })?;
        let Members { method, params, id, result, error } = members;
        let written =
            |id: &RawValue| id.get().starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit());
        match (method, id) {
            (Some(method), Some(id)) if written(id) => Ok(Message::Request { id, method, params }),
            (Some(method), None) => Ok(Message::Notification { method, params }),
            (None, Some(id)) => match (result, error) {
                (Some(result), None) => Ok(Message::Answer { id, answer: Ok(result) }),
                (_, Some(error)) => Ok(Message::Answer { id, answer: Err(error) }),
                (None, None) => Err(NotAMessage::NotRpc),
            },
            _ => Err(NotAMessage::NotRpc),
        }
    }
}

/// The text of a request of ours, or of a notification when there is no id.
pub fn ask(id: Option<&str>, method: &str, params: Option<&str>) -> String {
    let method = serde_json::to_string(method).expect("a text is writable");
    let ([id_is, id], [params_are, params]) = (member(r#","id":"#, id), member(r#","params":"#, params));
    [r#"{"jsonrpc":"2.0""#, id_is, id, r#","method":"#, &method, params_are, params, "}"].concat()
}

/// Nothing for what is absent.
fn member<'a>(begin: &'a str, value: Option<&'a str>) -> [&'a str; 2] {
    value.map_or([""; 2], |value| [begin, value])
}

impl<'a> Response<'a> {
    /// A good answer.
    pub fn result(id: Option<&'a RawValue>, result: &'a RawValue) -> Self {
        Response { id, result: Some(result), error: None, both: false }
    }

    /// A bad answer.
    pub fn error(id: Option<&'a RawValue>, error: Error<'a>) -> Self {
        Response { id, result: None, error: Some(error), both: false }
    }

    /// The same with both members there: `error` null beside a result, `result` empty beside an error.
    pub fn with_both_members(self) -> Self {
        Response { both: true, ..self }
    }

    /// The bytes of it. Written by hand: nearly all of it is text that goes on as it came.
    pub fn to_bytes(&self) -> Vec<u8> {
        let result = self.result.map(RawValue::get).or(self.both.then_some("{}"));
        let mut bytes = Vec::with_capacity(64 + result.map_or(0, str::len));
        bytes.extend_from_slice(br#"{"jsonrpc":"2.0""#);
        if let Some(result) = result {
            bytes.extend_from_slice(br#","result":"#);
            bytes.extend_from_slice(result.as_bytes());
        }
        if self.error.is_some() || self.both {
            bytes.extend_from_slice(br#","error":"#);
            serde_json::to_writer(&mut bytes, &self.error).expect("an error of texts is always writable");
        }
        bytes.extend_from_slice(br#","id":"#);
        bytes.extend_from_slice(self.id.map_or("null", RawValue::get).as_bytes());
        bytes.push(b'}');
        bytes
    }
}
