//! The only JSON-RPC 2.0 envelope. Ids, parameters and results are carried as they came.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};
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
#[derive(Debug, Serialize)]
pub struct Response<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Member::is_absent")]
    error: Member<Error<'a>>,
    id: Option<&'a RawValue>,
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

impl<'a> Response<'a> {
    /// A good answer.
    pub fn result(id: Option<&'a RawValue>, result: &'a RawValue) -> Self {
        Response { jsonrpc: "2.0", result: Some(result), error: Member::Absent, id }
    }

    /// A bad answer.
    pub fn error(id: Option<&'a RawValue>, error: Error<'a>) -> Self {
        Response { jsonrpc: "2.0", result: None, error: Member::Present(error), id }
    }

    /// The same with both members there: `error` null beside a result, `result` empty beside an error.
    pub fn with_both_members(mut self, empty: &'a RawValue) -> Self {
        if matches!(self.error, Member::Absent) {
            self.error = Member::Null;
        }
        self.result = self.result.or(Some(empty));
        self
    }

    /// The bytes of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an envelope around raw JSON is always writable")
    }
}

#[derive(Debug)]
enum Member<T> {
    Absent,
    Null,
    Present(T),
}

impl<T> Member<T> {
    fn is_absent(&self) -> bool {
        matches!(self, Member::Absent)
    }
}

impl<T: Serialize> Serialize for Member<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Member::Absent | Member::Null => serializer.serialize_none(),
            Member::Present(value) => value.serialize(serializer),
        }
    }
}
