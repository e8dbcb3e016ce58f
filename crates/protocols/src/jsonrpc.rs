//! The only JSON-RPC 2.0 envelope. Ids, parameters and results are carried as they came.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolmux_core::json_text::{optional_text, read_object};

/// A request, read without looking into its parameters. The `jsonrpc` member is not checked: a public SDK
/// writes "2.0.0".
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub struct RequestEnvelope<'a> {
    /// What is asked.
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    /// The parameters of the method.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// To be echoed; absent and `null` are the same.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
}

/// A text of JSON in three parts: a value that goes on as it came, and what stands around it.
type Parts<'a> = [&'a str; 3];

/// An answer. Members stand in the order in which the OpenTool specification shows them.
#[derive(Debug)]
pub struct Response<'a> {
    id: Option<&'a RawValue>,
    result: Option<Parts<'a>>,
    error: Option<Error<'a>>,
    both: bool,
}

/// What went wrong.
#[derive(Debug, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Error<'a> {
    /// A number whose meaning the protocol gives.
    pub code: i64,
    /// The error in one sentence.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    /// More, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

/// One message on a line where both sides ask.
#[derive(Debug)]
pub enum RpcMessage<'a> {
    /// It wants an answer.
    Request {
        /// To be echoed.
        id: &'a RawValue,
        /// What is asked.
        method: Cow<'a, str>,
        /// The parameters of the method.
        params: Option<&'a RawValue>,
    },
    /// It wants none.
    Notification {
        /// What is told.
        method: Cow<'a, str>,
        /// The parameters of the notification.
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

impl<'a> RpcMessage<'a> {
    /// Reads one message. An id is a text or a number; `null` is none.
    pub fn read(bytes: &'a [u8]) -> Result<Self, NotAMessage> {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(borrow, default, deserialize_with = "optional_text")]
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
        let members: Members<'a> = read_object(bytes).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => NotAMessage::NotRpc,
            _ => NotAMessage::NotJson(error),
        })?;
        let Members { method, params, id, result, error } = members;
        let written =
            |id: &RawValue| id.get().starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit());
        match (method, id) {
            (Some(method), Some(id)) if written(id) => Ok(RpcMessage::Request { id, method, params }),
            (Some(method), None) => Ok(RpcMessage::Notification { method, params }),
            (None, Some(id)) => match (result, error) {
                (Some(result), None) => Ok(RpcMessage::Answer { id, answer: Ok(result) }),
                (_, Some(error)) => Ok(RpcMessage::Answer { id, answer: Err(error) }),
                (None, None) => Err(NotAMessage::NotRpc),
            },
            _ => Err(NotAMessage::NotRpc),
        }
    }
}

/// Why bytes are not the answer to a request.
#[derive(Debug, thiserror::Error)]
pub enum NotTheAnswer {
    /// They are no answer at all.
    #[error("the answer is not JSON-RPC")]
    Unreadable,
    /// They answer another request.
    #[error("the answer is to request `{0}`, which is not the one that was sent")]
    Foreign(String),
}

/// Reads the answer to the only request of an exchange. `is_ours` is given the id as text, without quotes: some
/// servers write a number as a text. An error without an id is taken as the answer: a server that cannot read a
/// request cannot know its id (JSON-RPC 2.0, section 5), and nothing else was asked on this exchange. A result without
/// one is not: whoever has a result has read the id.
pub fn read_answer(
    bytes: &[u8],
    is_ours: impl FnOnce(&str) -> bool,
) -> Result<Result<&RawValue, &RawValue>, NotTheAnswer> {
    #[derive(Deserialize)]
    struct WithoutId<'a> {
        #[serde(borrow)]
        error: &'a RawValue,
        #[serde(default, rename = "id")]
        _id: (),
        #[serde(default, rename = "method")]
        _method: (),
    }
    match RpcMessage::read(bytes) {
        Ok(RpcMessage::Answer { id, .. }) if !is_ours(id.get().trim_matches('"')) => {
            Err(NotTheAnswer::Foreign(id.get().chars().take(64).collect()))
        }
        Ok(RpcMessage::Answer { answer, .. }) => Ok(answer),
        Ok(RpcMessage::Request { .. } | RpcMessage::Notification { .. }) => Err(NotTheAnswer::Unreadable),
        Err(_) => {
            let without: Result<WithoutId<'_>, _> = read_object(bytes);
            without.map(|without| Err(without.error)).map_err(|_| NotTheAnswer::Unreadable)
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
        Response::result_in_parts(id, ["", result.get(), ""])
    }

    /// The same for a result whose text is made of three parts.
    pub fn result_in_parts(id: Option<&'a RawValue>, result: [&'a str; 3]) -> Self {
        Response { id, result: Some(result), error: None, both: false }
    }

    /// A bad answer.
    pub fn error(id: Option<&'a RawValue>, error: Error<'a>) -> Self {
        Response { id, result: None, error: Some(error), both: false }
    }

    /// The same with both members there: `error` null next to a result, `result` empty next to an error.
    pub fn with_both_members(self) -> Self {
        Response { both: true, ..self }
    }

    /// The bytes of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let result = self.result.or(self.both.then_some(["", "{}", ""]));
        let error = self.error.as_ref();
        let error = error.map(|error| serde_json::to_string(error).expect("an error is always writable"));
        let error = error.as_deref().or(self.both.then_some("null"));
        let whole = |text| ["", text, ""];
        let members =
            [("result", result), ("error", error.map(whole)), ("id", Some(whole(written(self.id))))];
        write(&members.map(|(name, parts)| (name, parts.map(|parts| parts.map(str::as_bytes)))))
    }
}

/// The text of an answer with its id first, as MCP shows it: with the text of a result, or an error object.
pub fn reply(id: Option<&RawValue>, answer: Result<&[u8], &RawValue>) -> Vec<u8> {
    let (member, text) = match answer {
        Ok(result) => ("result", result),
        Err(error) => ("error", error.get().as_bytes()),
    };
    write(&[("id", Some([b"", written(id).as_bytes(), b""])), (member, Some([b"", text, b""]))])
}

fn written(id: Option<&RawValue>) -> &str {
    id.map_or("null", RawValue::get)
}

/// The one writer of answers, with the members in this order. By hand: nearly all of it is text that goes on as it came.
fn write(members: &[(&str, Option<[&[u8]; 3]>)]) -> Vec<u8> {
    let there = || members.iter().filter_map(|(name, parts)| Some((name, (*parts)?)));
    let length = |parts: [&[u8]; 3]| parts.iter().map(|part| part.len()).sum::<usize>();
    let size: usize = there().map(|(name, parts)| name.len() + length(parts) + r#","":"#.len()).sum();
    let mut bytes = Vec::with_capacity(size + r#"{"jsonrpc":"2.0"}"#.len());
    bytes.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    for (name, [before, value, after]) in there() {
        for part in [b",\"".as_slice(), name.as_bytes(), b"\":", before, value, after] {
            bytes.extend_from_slice(part);
        }
    }
    bytes.push(b'}');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let told = match read_answer(text.as_bytes(), |id| id == "7") {
            Ok(Ok(result)) => format!("result {}", result.get()),
            Ok(Err(error)) => format!("error {}", error.get()),
            Err(error) => error.to_string(),
        };
        assert_eq!(told, expect, "{text}");
    }

    #[test]
    fn members_of_an_answer_stand_in_the_order_of_their_protocol() {
        let result: &RawValue = serde_json::from_str("{}").unwrap();
        let id: Option<&RawValue> = serde_json::from_str("7").ok();
        let error = || Error { code: 5, message: "no".into(), data: None };
        let bytes = |text: &str| text.as_bytes().to_vec();
        assert_eq!(reply(id, Ok(b"[]")), bytes(r#"{"jsonrpc":"2.0","id":7,"result":[]}"#));
        assert_eq!(reply(None, Err(result)), bytes(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#));
        let good = Response::result(id, result);
        assert_eq!(good.to_bytes(), bytes(r#"{"jsonrpc":"2.0","result":{},"id":7}"#));
        let both = bytes(r#"{"jsonrpc":"2.0","result":{},"error":null,"id":7}"#);
        assert_eq!(good.with_both_members().to_bytes(), both);
        let bad = bytes(r#"{"jsonrpc":"2.0","error":{"code":5,"message":"no"},"id":null}"#);
        assert_eq!(Response::error(None, error()).to_bytes(), bad);
        let both = bytes(r#"{"jsonrpc":"2.0","result":{},"error":{"code":5,"message":"no"},"id":null}"#);
        assert_eq!(Response::error(None, error()).with_both_members().to_bytes(), both);
    }

    #[test]
    fn only_the_answer_to_our_request_is_one() {
        check(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "result {}");
        check(r#"{"id":"7","error":{"code":1}}"#, r#"error {"code":1}"#);
        check(r#"{"id":null,"error":{"code":1}}"#, r#"error {"code":1}"#);
        check(r#"{"error":{"code":1}}"#, r#"error {"code":1}"#);
        let foreign =
            |id: &str| format!("the answer is to request `{id}`, which is not the one that was sent");
        check(r#"{"id":8,"result":{}}"#, &foreign("8"));
        check(r#"{"id":"8","error":{}}"#, &foreign("\"8\""));
        let unreadable = "the answer is not JSON-RPC";
        for text in [r#"{"id":null,"result":{}}"#, r#"{"result":{}}"#, "{}", "[]", "", "<html>", "null"] {
            check(text, unreadable);
        }
        check(r#"{"id":7,"method":"ping"}"#, unreadable);
    }
}
