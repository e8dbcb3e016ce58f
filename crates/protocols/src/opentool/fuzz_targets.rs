//! Invariants of what OpenTool reads: calls, and answers and events of other servers.

use http::StatusCode;
use serde_json::Value;
use serde_json::value::RawValue;
use toolmux_http::client::StatusAnswer;
use toolmux_http::sse::Event;

use super::client_wire::{RawCall, ServerEvent, answer, event, version};
use super::exception::ClientError;
use super::wire::decode;
use crate::fuzz_targets::{Target, examples};

pub(crate) const TARGETS: &[Target] =
    &[("opentool_call", call_examples, call), ("opentool_answer", answer_examples, answers)];

fn call_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"jsonrpc":"2.0.0","method":"Kit_add","params":{"a":1.50},"id":"x-1"}"#,
        r#"{"method":"add@1","id":-7,"params":null}"#,
        r#"{"id":"only","params":{}}"#,
        r#"{"method":"add","params":[1],"id":1.0}"#,
    ])
}

/// The id is kept, in a call and in a refusal, and the arguments are the text that came.
fn call(data: &[u8]) {
    let Ok(said) = serde_json::from_slice::<Value>(data) else { return };
    let same = |id: &RawValue| serde_json::from_str::<Value>(id.get()).ok().as_ref() == said.get("id");
    match decode(data) {
        Ok(asked) => {
            assert!(same(asked.id), "{} is not the id", asked.id);
            let params = asked.request.arguments.text();
            let call = RawCall { id: "x", method: &asked.method, params, headers: http::HeaderMap::new() };
            let body = call.body();
            let again = decode(&body).ok().expect("what is written is read");
            assert_eq!((&again.method, again.id.get()), (&asked.method, "\"x\""));
            assert_eq!(again.request.arguments.text().get(), params.get());
        }
        Err(refused) => assert!(refused.id.is_none_or(same)),
    }
}

fn answer_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"jsonrpc":"2.0","result":{"sum":5.0},"error":null,"id":"call-1"}"#,
        r#"{"error":{"code":500,"message":"m","data":{"a":1}},"id":""}"#,
        r#"{"result":{},"id":"another"}"#,
        r#"{"error":{"message":{"a":1}}}"#,
        r#"{"version":"1.0.0","versionNumber":"2"}"#,
        "<html>no</html>",
    ])
}

/// An answer to another call is never taken as ours, a result is the text that came, and words stay short.
fn answers(data: &[u8]) {
    let said: Value = serde_json::from_slice(data).unwrap_or_default();
    for status in [200, 404, 500] {
        let status = StatusCode::from_u16(status).expect("a status");
        let read = answer(StatusAnswer { status, retry_after: None }, "call-1", data);
        check(&said, data, read);
    }
    let Ok(text) = str::from_utf8(data) else { return };
    for kind in ["data", "error", "done", "other"] {
        let told = event(&Event { event: kind.to_owned(), data: text.to_owned(), id: None }, "call-1");
        match told {
            Ok(ServerEvent::Data(result)) => check(&said, data, Ok(result)),
            Ok(ServerEvent::Start | ServerEvent::Done | ServerEvent::Other) => {}
            Err(error) => check(&said, data, Err(error)),
        }
    }
    if let Some(version) = version(data) {
        assert!([&said["version"], &said["versionNumber"]].contains(&&Value::from(version)));
    }
}

fn check(said: &Value, data: &[u8], read: Result<toolmux_core::json_text::RawJson, ClientError>) {
    match read {
        Ok(result) => {
            let foreign = said["id"].as_str().is_some_and(|id| !id.is_empty() && id != "call-1");
            assert!(!foreign, "the answer is to another call");
            assert_eq!(serde_json::from_str::<Value>(result.get()).ok().as_ref(), said.get("result"));
            assert!(result.get().starts_with('{'));
        }
        Err(error) => assert!(error.to_string().len() <= 1_024 + 2 * data.len()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
