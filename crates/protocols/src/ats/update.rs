//! An update in a task document. Its form on the wire is this file's own: a name here is known to clients, and core may rename
//! its own.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use toolmux_core::progress::Update;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireUpdate<'a> {
    Progress { done: f64, total: Option<f64>, message: Option<Cow<'a, str>> },
    Data(Cow<'a, RawValue>),
    Log { level: Cow<'a, str>, data: Cow<'a, RawValue> },
}

impl<'a> From<&'a Update> for WireUpdate<'a> {
    fn from(update: &'a Update) -> Self {
        match update {
            Update::Progress { done, total, message } => WireUpdate::Progress {
                done: *done,
                total: *total,
                message: message.as_deref().map(Cow::Borrowed),
            },
            Update::Data(data) => WireUpdate::Data(Cow::Borrowed(data)),
            Update::Log { level, data } => {
                WireUpdate::Log { level: level.as_str().into(), data: Cow::Borrowed(data) }
            }
        }
    }
}

impl From<WireUpdate<'_>> for Update {
    fn from(update: WireUpdate<'_>) -> Self {
        match update {
            WireUpdate::Progress { done, total, message } => {
                Update::Progress { done, total, message: message.map(Cow::into_owned) }
            }
            WireUpdate::Data(data) => Update::Data(data.into_owned()),
            WireUpdate::Log { level, data } => {
                Update::Log { level: level.into_owned(), data: data.into_owned() }
            }
        }
    }
}

#[expect(clippy::ref_option, reason = "serde hands over the member as it is")]
pub(super) fn write_update<S: Serializer>(update: &Option<Update>, serializer: S) -> Result<S::Ok, S::Error> {
    update.as_ref().map(WireUpdate::from).serialize(serializer)
}

pub(super) fn read_update<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Update>, D::Error> {
    Ok(Option::<WireUpdate<'_>>::deserialize(deserializer)?.map(Update::from))
}

#[cfg(test)]
mod tests {
    use crate::ats::wire::TaskDocument;

    /// A document is read and written as it was.
    fn check(document: &str) {
        let read: TaskDocument = serde_json::from_str(document).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), document);
    }

    #[test]
    fn updates_have_the_names_that_clients_know() {
        for update in [
            r#"{"progress":{"done":1.5,"total":3.0,"message":"half"}}"#,
            r#"{"progress":{"done":1.0,"total":null,"message":null}}"#,
            r#"{"data":{"n": 1}}"#,
            r#"{"log":{"level":"info","data":"x"}}"#,
        ] {
            check(&format!(r#"{{"status":"running","result":null,"error":null,"update":{update}}}"#));
        }
    }

    #[test]
    fn members_that_a_server_leaves_out_are_absent() {
        let read: TaskDocument = serde_json::from_str(r#"{"status":"running"}"#).unwrap();
        assert!(read.result.is_none() && read.update.is_none() && read.error.is_none());
    }
}
