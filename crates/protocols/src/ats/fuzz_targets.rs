//! Invariants of what ATS reads: calls, and documents of other servers.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::wire::{AtsTool, RefusalDocument, TaskDocument, decode};
use crate::fuzz_targets::{Target, examples};

pub(crate) const TARGETS: &[Target] =
    &[("ats_call", call_examples, call), ("ats_documents", document_examples, documents)];

fn call_examples() -> Vec<Vec<u8>> {
    examples(&[r#"{"a":1.50,"b":[{"c":null}]}"#, " {} ", "", "null", r#"{"a":1,"a":2}"#])
}

/// The arguments of a call are the text that came; what is no object is no call.
fn call(data: &[u8]) {
    let Ok(request) = decode("Kit.add@1", data) else { return };
    assert_eq!(request.tool.to_string(), "Kit.add@1.0.0");
    let said = data.trim_ascii();
    let nothing = said.is_empty() || said == b"null";
    assert_eq!(request.arguments.text().get().as_bytes(), if nothing { b"{}" } else { said });
    assert!(request.id.is_none() && request.grants.user_id.is_none());
}

fn document_examples() -> Vec<Vec<u8>> {
    let task = json!({
        "status": "completed", "result": [{ "type": "text", "text": "5" }], "error": null, "value": 5.0,
        "update": null, "error_details": { "message": "m", "can_retry": true, "retry_after_ms": 5 },
    });
    let refusal = json!({
        "detail": [{ "loc": ["body", "a", 0], "msg": "no" }], "parameter_errors": [{ "parameter": "a", "message": "m" }],
        "authorization": [{ "id": "github", "authorization_url": "https://a.example" }],
    });
    let tool = json!({ "name": "add", "description": "d", "input_schema": { "type": "object" } });
    [task, refusal, tool].map(|document| document.to_string().into_bytes()).to_vec()
}

/// A task document is written as one that says the same; a refusal tells no more faults than it has.
fn documents(data: &[u8]) {
    if let Ok(task) = serde_json::from_slice::<TaskDocument>(data) {
        let written = serde_json::to_string(&task).expect("it was read");
        let again: TaskDocument = serde_json::from_str(&written).expect("what is written is read");
        assert_eq!(again.status, task.status);
        let value = |task: &TaskDocument| task.value.as_deref().map(RawValue::get).map(str::to_owned);
        assert_eq!(value(&again), value(&task), "the value is another");
        assert_eq!(again.error.map(|error| error.message), task.error.map(|error| error.message));
    }
    if let Ok(refusal) = serde_json::from_slice::<RefusalDocument>(data) {
        let faults = refusal.faults();
        let told = refusal.parameter_errors.len() + refusal.detail.as_array().map_or(0, Vec::len);
        assert_eq!(faults.len(), told);
        assert!(faults.iter().map(|fault| fault.message.len()).sum::<usize>() <= 8 * data.len());
    }
    if let Ok(tool) = serde_json::from_slice::<AtsTool<'_>>(data) {
        let said: Value = serde_json::from_slice(data).expect("it was read");
        assert_eq!((said["name"].as_str(), &said["input_schema"]), (Some(&*tool.name), &*tool.input_schema));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
