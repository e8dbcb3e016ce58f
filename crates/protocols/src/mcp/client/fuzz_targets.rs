//! Invariants of what servers say to us: challenges in headers, listed tools and results.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::Value;
use serde_json::value::RawValue;
use toolmux_core::json_text::RawJson;
use toolmux_core::outcome::Outcome;

use crate::fuzz_targets::{Target, examples};
use crate::mcp::client::auth::authorization::TokenWanted;
use crate::mcp::client::decode::{Called, asked, error, result, tool, unsigned};
use crate::mcp::wire::SERVER_INFO;

pub(crate) const TARGETS: &[Target] = &[
    ("mcp_www_authenticate", challenge_examples, challenge),
    ("mcp_listed_tool", tool_examples, listed_tool),
    ("mcp_result", result_examples, results),
];

fn challenge_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"Bearer resource_metadata="https://a.example/b?c=d", scope="x y", error="insufficient_scope""#,
        "Bearer scope=x, error=insufficient_scope",
        r#"Basic realm="x""#,
        r#"Bearer realm="a\"b", scope="" "#,
    ])
}

/// Nothing is read out of a challenge that does not stand in it, and only refusals for want of a token are any.
fn challenge(data: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(data) else { return };
    let headers: HeaderMap = [(header::WWW_AUTHENTICATE, value)].into_iter().collect();
    let value = String::from_utf8_lossy(data);
    for status in [StatusCode::OK, StatusCode::FORBIDDEN, StatusCode::UNAUTHORIZED] {
        let Some(wanted) = TokenWanted::read(status, &headers) else {
            assert_ne!(status, StatusCode::UNAUTHORIZED);
            continue;
        };
        assert_ne!(status, StatusCode::OK);
        assert!(wanted.metadata.is_none_or(|metadata| value.contains(&metadata)));
        assert!(wanted.scopes.iter().all(|scope| value.contains(scope)));
        assert!(wanted.scopes.iter().map(String::len).sum::<usize>() <= data.len());
    }
}

fn tool_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"name":"add","title":"Add","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"A"}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":null},"execution":{"taskSupport":"optional"}}"#,
        r#"{"name":"plain"}"#,
    ])
}

/// A tool is listed under the name that the server gives it, with the item kept as it came.
fn listed_tool(data: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<RawJson>(data) else { return };
    let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    match tool(&raw) {
        Ok(tool) => {
            assert!(value.is_null() || !value.is_object() || value["name"] == *tool.name);
            assert_eq!(tool.extra.of_protocol(crate::mcp::MCP).map(RawValue::get), Some(raw.get()));
        }
        Err((name, reason)) => assert!(!reason.is_empty() && name.len() <= data.len() + 1),
    }
}

fn result_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"content":[{"type":"text","text":"5"}],"structuredContent":{"sum":5.0},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"},"own":1e2}}"#,
        r#"{"isError":true,"content":[{"type":"text","text":"no"},{"type":"image","data":"AA==","mimeType":"image/png"}]}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}},"requestState":"s"}"#,
        r#"{"code":-32042,"message":"open","data":{"elicitations":[]}}"#,
    ])
}

/// A failure is never a success, a result is kept as it came, and the name of the software behind us is not passed on.
fn results(data: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<RawJson>(data) else { return };
    let Ok(value) = serde_json::from_str::<Value>(raw.get()) else { return };
    let asks = asked(&raw).is_some();
    match result(raw.clone()) {
        Called::Ended(Outcome::Returned(output)) => {
            assert_ne!(value["isError"], true, "a failure is taken as a success");
            assert_eq!(output.extra.of_protocol(crate::mcp::MCP).map(RawValue::get), Some(raw.get()));
        }
        Called::Ended(Outcome::Failed(_)) => assert_eq!(value["isError"], true),
        Called::InputRequired { whole, .. } => assert!(asks && whole.get() == raw.get()),
    }
    assert!(matches!(error(raw.clone()), Outcome::Failed(_)));
    let passed = unsigned(raw.clone());
    assert!(passed.get().len() <= raw.get().len());
    let passed: Value = serde_json::from_str(passed.get()).unwrap_or_default();
    assert!(passed["_meta"].get(SERVER_INFO).is_none(), "{passed}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
