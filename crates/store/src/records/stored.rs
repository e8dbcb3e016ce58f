//! Outcomes and updates as they are kept: JSON texts whose shape is this file's own. Core may rename what it likes; a name
//! here is in every database, and servers of two versions may share one.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolmux_core::message::Message;
use toolmux_core::outcome::{Content, Outcome, Output, Retry, ToolError};
use toolmux_core::ports::store::StoreError;
use toolmux_core::progress::Update;
use toolmux_core::task::result_not_kept;
use toolmux_core::tool::Passthrough;

/// The text of an outcome. The same outcome always has the same text: a call that is finished twice is compared by it.
pub(crate) fn write_outcome(outcome: &Outcome) -> String {
    serde_json::to_string(&StoredOutcome::from(outcome)).expect("an outcome is always writable")
}

/// An empty text stands for a result that was removed to make room for newer ones.
pub(crate) fn read_outcome(text: &str) -> Result<Outcome, StoreError> {
    if text.is_empty() {
        return Ok(result_not_kept());
    }
    let stored: StoredOutcome<'_> = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    Ok(stored.into())
}

pub(crate) fn write_update(update: &Update) -> Result<String, StoreError> {
    // A number that is not finite has no JSON.
    serde_json::to_string(&StoredUpdate::from(update)).map_err(|error| unreadable(&error))
}

pub(crate) fn read_update(text: &str) -> Result<Update, StoreError> {
    let stored: StoredUpdate<'_> = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    Ok(stored.into())
}

pub(crate) fn unreadable(error: &dyn std::error::Error) -> StoreError {
    StoreError::new(Message::public("A record cannot be read").caused_by(error))
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredOutcome<'a> {
    Returned(StoredOutput<'a>),
    Failed(StoredError<'a>),
}

#[derive(Serialize, Deserialize)]
struct StoredOutput<'a> {
    value: Cow<'a, RawValue>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    content: Vec<Cow<'a, RawValue>>,
    /// Has a form of its own in core, which keeps it with definitions and requests too.
    #[serde(default, skip_serializing_if = "Passthrough::is_empty")]
    extra: Passthrough,
}

#[derive(Serialize, Deserialize)]
struct StoredError<'a> {
    message: StoredMessage<'a>,
    #[serde(default)]
    retry: StoredRetry,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    content: Vec<Cow<'a, RawValue>>,
    #[serde(default, skip_serializing_if = "Passthrough::is_empty")]
    extra: Passthrough,
}

#[derive(Serialize, Deserialize)]
struct StoredMessage<'a> {
    public: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    developer: Option<Cow<'a, str>>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredRetry {
    #[default]
    Never,
    Now,
    After(Duration),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredUpdate<'a> {
    Progress { done: f64, total: Option<f64>, message: Option<Cow<'a, str>> },
    Data(Cow<'a, RawValue>),
    Log { level: Cow<'a, str>, data: Cow<'a, RawValue> },
}

impl<'a> From<&'a Outcome> for StoredOutcome<'a> {
    fn from(outcome: &'a Outcome) -> Self {
        match outcome {
            Outcome::Returned(output) => StoredOutcome::Returned(StoredOutput {
                value: Cow::Borrowed(&output.value),
                content: write_content(&output.content),
                extra: output.extra.clone(),
            }),
            Outcome::Failed(error) => StoredOutcome::Failed(StoredError {
                message: StoredMessage {
                    public: error.message.public.as_str().into(),
                    developer: error.message.developer.as_deref().map(Cow::Borrowed),
                },
                retry: error.retry.into(),
                prompt: error.prompt.as_deref().map(Cow::Borrowed),
                content: write_content(&error.content),
                extra: error.extra.clone(),
            }),
        }
    }
}

impl From<StoredOutcome<'_>> for Outcome {
    fn from(stored: StoredOutcome<'_>) -> Self {
        match stored {
            StoredOutcome::Returned(output) => Outcome::Returned(Output {
                value: output.value.into_owned(),
                content: read_content(output.content),
                extra: output.extra,
            }),
            StoredOutcome::Failed(error) => Outcome::Failed(ToolError {
                message: Message {
                    public: error.message.public.into_owned(),
                    developer: error.message.developer.map(Cow::into_owned),
                },
                retry: error.retry.into(),
                prompt: error.prompt.map(Cow::into_owned),
                content: read_content(error.content),
                extra: error.extra,
            }),
        }
    }
}

impl From<Retry> for StoredRetry {
    fn from(retry: Retry) -> Self {
        match retry {
            Retry::Never => StoredRetry::Never,
            Retry::Now => StoredRetry::Now,
            Retry::After(pause) => StoredRetry::After(pause),
        }
    }
}

impl From<StoredRetry> for Retry {
    fn from(stored: StoredRetry) -> Self {
        match stored {
            StoredRetry::Never => Retry::Never,
            StoredRetry::Now => Retry::Now,
            StoredRetry::After(pause) => Retry::After(pause),
        }
    }
}

impl<'a> From<&'a Update> for StoredUpdate<'a> {
    fn from(update: &'a Update) -> Self {
        match update {
            Update::Progress { done, total, message } => StoredUpdate::Progress {
                done: *done,
                total: *total,
                message: message.as_deref().map(Cow::Borrowed),
            },
            Update::Data(data) => StoredUpdate::Data(Cow::Borrowed(data)),
            Update::Log { level, data } => {
                StoredUpdate::Log { level: level.as_str().into(), data: Cow::Borrowed(data) }
            }
        }
    }
}

impl From<StoredUpdate<'_>> for Update {
    fn from(stored: StoredUpdate<'_>) -> Self {
        match stored {
            StoredUpdate::Progress { done, total, message } => {
                Update::Progress { done, total, message: message.map(Cow::into_owned) }
            }
            StoredUpdate::Data(data) => Update::Data(data.into_owned()),
            StoredUpdate::Log { level, data } => {
                Update::Log { level: level.into_owned(), data: data.into_owned() }
            }
        }
    }
}

fn write_content(content: &[Content]) -> Vec<Cow<'_, RawValue>> {
    content.iter().map(|block| Cow::Borrowed(block.json())).collect()
}

fn read_content(stored: Vec<Cow<'_, RawValue>>) -> Vec<Content> {
    stored.into_iter().map(|block| Content::raw(block.into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use toolmux_core::json_text::RawJson;

    use super::*;

    fn raw(text: &str) -> RawJson {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    /// What databases in use hold is read as this and written as it was.
    fn check(stored: &str, expect: &Outcome) {
        let read = read_outcome(stored).unwrap();
        assert_eq!(format!("{read:?}"), format!("{expect:?}"));
        assert_eq!(write_outcome(&read), stored);
    }

    fn check_update(stored: &str, expect: &Update) {
        let read = read_update(stored).unwrap();
        assert_eq!(format!("{read:?}"), format!("{expect:?}"));
        assert_eq!(write_update(&read).unwrap(), stored);
    }

    #[test]
    fn stored_outcomes_of_earlier_versions_are_read() {
        let mut output = Output::value(raw(r#"{"sum": 3.0e0}"#));
        check(r#"{"returned":{"value":{"sum": 3.0e0}}}"#, &Outcome::Returned(output.clone()));
        output.content = vec![Content::raw(raw(r#"{"type":"text","text":"3"}"#))];
        output.extra = Passthrough::of("mcp", raw(r#"{"_meta":{"a":1}}"#));
        let text = r#"{"returned":{"value":{"sum": 3.0e0},"content":[{"type":"text","text":"3"}],"extra":{"protocol":"mcp","text":{"_meta":{"a":1}}}}}"#;
        check(text, &Outcome::Returned(output));
        check(
            r#"{"failed":{"message":{"public":"no"},"retry":"never"}}"#,
            &Outcome::Failed(ToolError::new("no")),
        );
        let mut error = ToolError::from(Message::public("no").developer("why"));
        error = error.retry(Retry::After(Duration::from_millis(1_500))).prompt("try \"x\"");
        error.content = vec![Content::raw(raw("{}"))];
        error.extra = Passthrough::of("oxp", raw("null"));
        let text = r#"{"failed":{"message":{"public":"no","developer":"why"},"retry":{"after":{"secs":1,"nanos":500000000}},"prompt":"try \"x\"","content":[{}],"extra":{"protocol":"oxp","text":null}}}"#;
        check(text, &Outcome::Failed(error));
    }

    /// Whether an outcome asks its caller for more is stored with what its protocol says.
    #[test]
    fn a_stored_question_is_read_as_one() {
        let question = Passthrough::asking("mcp", raw(r#"{"q":1}"#));
        let output = Output { extra: question, ..Output::value(raw("null")) };
        let text =
            r#"{"returned":{"value":null,"extra":{"protocol":"mcp","text":{"q":1},"purpose":"question"}}}"#;
        check(text, &Outcome::Returned(output));
    }

    #[test]
    fn members_that_an_outcome_does_not_need_may_be_missing() {
        let read = read_outcome(r#"{"failed":{"message":{"public":"no"}}}"#).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", Outcome::Failed(ToolError::new("no"))));
        let removed = read_outcome("").unwrap();
        assert_eq!(format!("{removed:?}"), format!("{:?}", result_not_kept()));
        assert!(read_outcome("{}").is_err());
    }

    #[test]
    fn stored_updates_of_earlier_versions_are_read() {
        check_update(
            r#"{"progress":{"done":1.5,"total":3.0,"message":"half"}}"#,
            &Update::Progress { done: 1.5, total: Some(3.0), message: Some("half".into()) },
        );
        check_update(
            r#"{"progress":{"done":1.0,"total":null,"message":null}}"#,
            &Update::Progress { done: 1.0, total: None, message: None },
        );
        check_update(r#"{"data":{"n": 1}}"#, &Update::Data(raw(r#"{"n": 1}"#)));
        let log = Update::Log { level: "info".into(), data: raw(r#""x""#) };
        check_update(r#"{"log":{"level":"info","data":"x"}}"#, &log);
    }
}
