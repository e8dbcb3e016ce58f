//! One receipt: what is known of a call after it ended. Its JSON form is what stores keep and what people are shown;
//! a literal text in the tests pins it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::{NoContext, Timestamp, Uuid};

use super::timestamp::millis;
use crate::hex::{from_hex, to_hex};
use crate::trace_context::CallSpan;

/// The id of a receipt. Ids sort by the time at which their calls began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiptId(Uuid);

impl ReceiptId {
    /// A new one. Not [`Uuid::now_v7`], which takes a lock that all threads share. The twelve bits after the milliseconds
    /// are a fraction of one, as RFC 9562 allows, so that calls one after the other sort in their order.
    pub(crate) fn now() -> Self {
        let (now, random) = (SystemTime::now(), Uuid::new_v4().into_bytes());
        let nanos = now.duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos() % 1_000_000;
        let [.., high, low] = (u64::from(nanos) * 4_096 / 1_000_000).to_be_bytes();
        let mut tail = [high, low, 0, 0, 0, 0, 0, 0, 0, 0];
        tail[2..6].copy_from_slice(&random[..4]);
        tail[6..].copy_from_slice(&random[12..]);
        ReceiptId::at_millis(millis(now), &tail)
    }

    /// The least id of a call that began at a time.
    pub fn first_at(time: SystemTime) -> Self {
        ReceiptId::at_millis(millis(time), &[0; 10])
    }

    fn at_millis(millis: u64, tail: &[u8; 10]) -> Self {
        ReceiptId(uuid::Builder::from_unix_timestamp_millis(millis, tail).into_uuid())
    }

    /// When the call began, in whole milliseconds.
    pub fn at(&self) -> SystemTime {
        let (seconds, nanos) =
            self.0.get_timestamp().unwrap_or(Timestamp::from_unix(NoContext, 0, 0)).to_unix();
        UNIX_EPOCH + Duration::new(seconds, nanos)
    }

    /// The same in nanoseconds since 1970, with the fraction of the millisecond that the id has.
    pub fn at_nanos(&self) -> u64 {
        let [_, _, _, _, _, _, high, low, ..] = *self.0.as_bytes();
        let fraction = u64::from(high & 0xf) << 8 | u64::from(low);
        millis(self.at()).saturating_mul(1_000_000).saturating_add(fraction * 1_000_000 / 4_096)
    }
}

impl fmt::Display for ReceiptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ReceiptId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(ReceiptId)
    }
}

impl Serialize for ReceiptId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ReceiptId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a receipt is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptKind {
    /// A call of a tool.
    Call,
    /// A call that ran, or was to run, as a task.
    Task,
    /// Something else that a source was asked, such as a prompt or a resource.
    Relay,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptOutcome {
    /// The tool ran and returned.
    Returned,
    /// The tool ran, or may have run, and failed.
    Failed,
    /// The tool did not run.
    Refused,
    /// The caller left, or somebody cancelled the task.
    Cancelled,
}

impl ReceiptOutcome {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ReceiptOutcome::Returned => "returned",
            ReceiptOutcome::Failed => "failed",
            ReceiptOutcome::Refused => "refused",
            ReceiptOutcome::Cancelled => "cancelled",
        }
    }
}

/// SHA-256 and size of a text that is not kept itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentDigest {
    /// SHA-256 of the text.
    pub sha256: [u8; 32],
    /// The length of the text.
    pub bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct DigestForm {
    sha256: String,
    bytes: u64,
}

impl Serialize for ContentDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DigestForm { sha256: to_hex(&self.sha256), bytes: self.bytes }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ContentDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let DigestForm { sha256, bytes } = DigestForm::deserialize(deserializer)?;
        let sha256 = from_hex(&sha256).and_then(|bytes| bytes.try_into().ok());
        let sha256 =
            sha256.ok_or_else(|| serde::de::Error::custom("`sha256` must be 64 hexadecimal digits"))?;
        Ok(ContentDigest { sha256, bytes })
    }
}

/// How long one step of the path took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTime {
    /// The name of the step.
    pub step: Cow<'static, str>,
    /// How long, in microseconds.
    pub us: u64,
}

/// What happened to one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The id, which sorts by the time at which the call began.
    pub id: ReceiptId,
    /// When the call began, as RFC 3339 has it.
    pub time: String,
    /// Whether it is about a call, a task or something else.
    pub kind: ReceiptKind,
    /// The name of the caller who asked.
    pub caller: Arc<str>,
    /// The user that the call acted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Arc<str>>,
    /// By which protocol; empty when the program called by itself.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub protocol: Cow<'static, str>,
    /// The tool with its version; as the caller wrote it when there is no such tool for the caller.
    pub tool: Arc<str>,
    /// The source of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Arc<str>>,
    /// What was asked, for a relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Box<str>>,
    /// The idempotency key that the caller gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Arc<str>>,
    /// The task that the call ran as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Arc<str>>,
    /// `allowed`, or why the call was refused.
    pub verdict: Cow<'static, str>,
    /// How the call ended.
    pub outcome: ReceiptOutcome,
    /// The answer is that of an earlier call with the same idempotency key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// How often the source was asked.
    pub attempts: u32,
    /// Why attempts gave no outcome, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Cow<'static, str>>,
    /// How long all took, in microseconds.
    pub us: u64,
    /// How long each step took, in their order.
    pub steps: Vec<StepTime>,
    /// Of the arguments as the caller gave them; absent when they are not known here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<ContentDigest>,
    /// Of what the tool returned or failed with; absent when it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ContentDigest>,
    /// The caller's trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<str>>,
    /// The span of the call, where calls are traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<CallSpan>,
    /// The arguments without secrets, where the configuration wants them kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument_values: Option<Box<str>>,
}

impl Receipt {
    /// True for what did not end well.
    pub fn is_failed(&self) -> bool {
        self.outcome != ReceiptOutcome::Returned
    }

    /// Its JSON text, on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a receipt has a JSON form")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = concat!(
        r#"{"id":"019e0000-0000-7000-8000-000000000001","time":"2026-05-06T19:12:19.712Z","kind":"task","caller":"alice","#,
        r#""user":"ann","protocol":"mcp","tool":"Kit.add@1.0.0","source":"Kit","call_id":"7","task":"t","verdict":"allowed","#,
        r#""outcome":"failed","repeated":true,"attempts":2,"errors":["not_reached"],"us":12,"steps":[{"step":"run","us":9}],"#,
        r#""arguments":{"sha256":"00000000000000000000000000000000000000000000000000000000000000ff","bytes":2},"#,
        r#""result":{"sha256":"00000000000000000000000000000000000000000000000000000000000000ff","bytes":3},"#,
        r#""trace":"00-1-2-01","span":{"context":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},"argument_values":"{}"}"#,
    );

    const SHORT: &str = concat!(
        r#"{"id":"019e0000-0000-7000-8000-000000000001","time":"","kind":"call","caller":"a","tool":"x","#,
        r#""verdict":"unknown_tool","outcome":"refused","attempts":0,"us":1,"steps":[]}"#,
    );

    /// What is in databases: a rename in this program must not make it unreadable.
    #[test]
    fn the_form_that_is_kept_has_not_changed() {
        for text in [WHOLE, SHORT] {
            let receipt: Receipt = serde_json::from_str(text).expect("it is read");
            assert_eq!(receipt.to_json(), text);
        }
    }

    #[test]
    fn an_id_tells_when_its_call_began() {
        let time = UNIX_EPOCH + Duration::from_millis(1_795_000_000_123);
        let first = ReceiptId::first_at(time);
        assert_eq!(first.at(), time);
        assert!(first > ReceiptId::first_at(time - Duration::from_millis(1)));
        assert!(ReceiptId::now() > first || SystemTime::now() < time);
    }
}
