//! Invariants of the stored form of a request, for any text.

use std::time::Duration;

use serde_json::{Value, json};

use super::stored_request::{ReadRequest, StoredRequest};
use crate::fuzz_targets::Target;
use crate::ports::store::ClaimedTask;
use crate::task::TaskId;

pub(crate) const TARGETS: &[Target] = &[("core_kept_request", stored_examples, stored_request)];

fn stored_examples() -> Vec<Vec<u8>> {
    let kept = json!({
        "caller": { "name": "fuzz", "user": null, "toolsets": ["some", null] }, "id": "call-1", "is_record": true,
        "tool": "Kit.open@1.0.0", "arguments": { "a": [1.50, "x"] }, "user_id": "bob", "trace": "t",
        "patience": { "secs": 3, "nanos": 5 }, "answers": true,
    });
    let short = json!({
        "caller": { "name": "jwt:alice", "user": "alice", "toolsets": ["some", null], "act_as": ["*"] }, "id": null,
        "is_record": false, "tool": "Kit.hidden", "arguments": {}, "user_id": null, "trace": null, "patience": null,
    });
    [kept, short].map(|kept| kept.to_string().into_bytes()).to_vec()
}

/// A stored request is read as who asked and what was asked, or not at all.
fn stored_request(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let read = |request: &str| {
        let task =
            ClaimedTask { id: TaskId::new("task"), request: request.to_owned(), waited: Duration::ZERO };
        StoredRequest::read(&task).ok()
    };
    let Some(ReadRequest { caller, request, record }) = read(text) else { return };
    let said: Value = serde_json::from_str(text).expect("it was read");
    assert_eq!(said["caller"]["name"], caller.name(), "another caller");
    let named: Vec<&str> =
        said["caller"]["toolsets"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert_eq!(caller.toolsets().map(|toolset| &**toolset).collect::<Vec<_>>(), named, "other toolsets");
    assert!(request.grants.authorization.is_empty() && request.grants.secrets.is_empty());
    assert_eq!(said["user_id"].as_str(), request.grants.user_id.as_deref(), "another user");
    assert_eq!(said["id"].as_str(), request.id.as_deref(), "the id is lost");
    assert_eq!(said["is_record"], record.is_some());
    let kept: StoredRequest = serde_json::from_str(text).expect("it was read");
    let again =
        read(&serde_json::to_string(&kept).expect("it is writable")).expect("what is kept can be read");
    assert_eq!(
        (again.caller, again.request.arguments.text().get()),
        (caller, request.arguments.text().get())
    );
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
