//! Invariants of what OXP reads: calls, and lists and answers of other servers.

use http::StatusCode;
use serde_json::{Value, json};
use toolmux_core::outcome::Outcome;
use toolmux_core::refusal::Refusal;
use toolmux_http::client::StatusAnswer;

use super::upstream::{self, ToolCall};
use super::wire::{Form, decode};
use crate::fuzz_targets::{Target, examples};

pub(crate) const TARGETS: &[Target] =
    &[("oxp_call", call_examples, call), ("oxp_upstream", upstream_examples, upstream)];

/// Stands for a credential in the examples.
const TOKEN: &str = "fuzzed-token-value";

fn call_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"tool_id":"Kit.add@1.2.3","call_id":"c-1","trace_id":"t","input":{"a":1.50},"context":{"authorization":[{"id":"github","token":"fuzzed-token-value"}],"secrets":[{"id":"KEY","value":"fuzzed-token-value"}],"user_id":"bob"}}"#,
        r#"{"$schema":"urn:oxp:1.0","request":{"tool_id":"Kit.add","inputs":{},"call_id":"x"}}"#,
        r#"{"more":1,"request":{"tool_id":"Kit.add","input":null,"context":{"user_id":""}}}"#,
    ])
}

/// A call that was read is written as one that is read as the same; no refusal shows a credential.
fn call(data: &[u8]) {
    let decoded = decode(data);
    let request = match decoded.request {
        Ok(request) => request,
        Err(refusal) => return hides_credentials(data, &refusal),
    };
    let call = ToolCall {
        tool_id: request.tool.to_string(),
        call_id: None,
        trace_id: request.trace.as_deref().map(str::to_owned),
        input: request.arguments.text().to_owned(),
        grants: request.grants.clone(),
    };
    let id = request.id.as_deref().unwrap_or("new");
    assert!(id.len() <= 256 && request.grants.user_id.as_ref().is_none_or(|user| user.len() <= 256));
    let bytes = upstream::encode(decoded.form, id, &call);
    let again = decode(&bytes);
    assert_eq!(again.form, decoded.form);
    let again = again.request.expect("what is written is read");
    assert_eq!((&again.tool, again.id.as_deref()), (&request.tool, Some(id)));
    assert_eq!(again.arguments.text().get(), request.arguments.text().get());
    assert_eq!((again.trace, again.grants.user_id), (request.trace, request.grants.user_id));
    let shown = format!("{:?}", (&request.grants.secrets, &request.grants.authorization));
    assert!(!shown.contains(TOKEN), "{shown}");
}

/// A token that stands nowhere but among the credentials is not told in the refusal.
fn hides_credentials(data: &[u8], refusal: &Refusal) {
    let Ok(Value::Object(mut said)) = serde_json::from_slice::<Value>(data) else { return };
    let context = said.remove("context").is_some_and(|context| {
        context["authorization"][0]["token"] == TOKEN || context["secrets"][0]["value"] == TOKEN
    });
    if context && !Value::Object(said).to_string().contains(TOKEN) {
        assert!(!refusal.message().public.contains(TOKEN), "{}", refusal.message().public);
    }
}

fn upstream_examples() -> Vec<Vec<u8>> {
    let good = json!({ "call_id": "c-1", "duration": 12.5, "success": true, "value": { "a": [1.0] } });
    let failed = json!({ "$schema": "urn:oxp:1.0", "result": { "call_id": "c-1", "success": false, "error": {
        "message": "m", "developer_message": "d", "can_retry": true, "retry_after_ms": 1e300, "additional_prompt_content": "p" } } });
    let refused = json!({ "message": "m", "developer_message": "d", "parameter_errors": { "a": "no", "b": [1] },
        "missing_requirements": { "authorization": [{ "id": "g", "url": "", "check_url": "u" }], "secrets": [{ "id": "S" }], "user_id": true } });
    let list = json!({ "$schema": "urn:oxp:1.0", "items": [
        { "id": "Kit.add@1.0.0", "description": "d", "version": "1.0.0", "input_schema": { "parameters": { "type": "object" } },
          "output_schema": null, "requirements": { "authorization": [{ "id": "g", "oauth2": { "scopes": ["s"] } }], "secrets": [{ "id": "S" }], "user_id": true } },
        { "id": "no name" }] });
    [good, failed, refused, list].map(|document| document.to_string().into_bytes()).to_vec()
}

/// Nothing is read that was not said: as many tools as are listed, values as they came, a success only where it is one.
fn upstream(data: &[u8]) {
    let said: Value = serde_json::from_slice(data).unwrap_or_default();
    if let Ok((list, _)) = upstream::decode_list(data) {
        let items = ["items", "tools"].into_iter().find_map(|name| said[name].as_array()).map_or(0, Vec::len);
        assert_eq!(list.tools.len() + list.unusable.len(), items);
        for tool in &list.tools {
            assert!(toolmux_core::names::ToolRef::id(&tool.id()).is_ok(), "{}", tool.id());
        }
    }
    if let Ok((form, answered)) = upstream::decode(data, "asked") {
        let body = if form == Form::Enveloped { &said["result"] } else { &said };
        assert_eq!(answered.call_id, body["call_id"].as_str().unwrap_or("asked"));
        match answered.outcome {
            Outcome::Returned(output) => {
                assert_ne!(body["success"], Value::Bool(false), "a failure is taken as a success");
                let value: Value = serde_json::from_str(output.value.get()).expect("a value");
                assert_eq!(value, body["value"]);
            }
            Outcome::Failed(_) => assert_ne!(body["success"], Value::Bool(true)),
        }
    }
    for status in [400, 401, 422] {
        let status = StatusCode::from_u16(status).expect("a status");
        let _ = upstream::decode_refusal(StatusAnswer { status, retry_after: None }, data).message();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
