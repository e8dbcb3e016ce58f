//! Results of MCP servers, as clients of each revision may read them.

use std::sync::Arc;

use http::Method;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::Settings;
use toolmux_core::json_text::{raw_of, to_raw};
use toolmux_core::outcome::{Content, Outcome, Output, ToolError};
use toolmux_core::ports::source::{Listing, Relay, Relayed, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::requirements::Grants;
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Passthrough, Tool};

use crate::mcp_client::{ask, modern, rpc, send, session, text};
use crate::mcp_fixture::{Served, serve, upstream};

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// An MCP server of 2026-07-28 with content of every kind.
struct Newest;

fn link() -> Value {
    json!({ "type": "resource_link", "uri": "file:///a", "name": "a", "description": "A file" })
}

fn audio() -> Value {
    json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav" })
}

/// A result with all that 2026-07-28 has in it.
fn result(mut result: Value) -> Value {
    result["resultType"] = "complete".into();
    result["_meta"] = json!({ SERVER_INFO: { "name": "upstream", "version": "9" }, "own/key": [1] });
    result
}

impl Source for Newest {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let tool = |name: &str| Tool {
            extra: Passthrough::of(
                "mcp",
                raw_of(&json!({ "name": name, "inputSchema": { "type": "object" } })),
            ),
            ..Tool::new(name, name, Schema::no_parameters())
        };
        let native = |name: &str| Tool::new(name, name, Schema::no_parameters());
        let tools = vec![tool("links"), tool("structured"), native("native"), native("failing")];
        Box::pin(std::future::ready(Ok(tools.into())))
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        let content = || vec![Content::raw(raw_of(&link())), Content::raw(raw_of(&audio()))];
        let said = |said: Value| {
            let extra = Passthrough::of("mcp", raw_of(&result(said)));
            Outcome::Returned(Output { extra, ..Output::value(raw_of(&Value::Null)) })
        };
        Box::pin(std::future::ready(Ok(match call.tool_name() {
            "links" => said(json!({ "content": [link(), audio()] })),
            "structured" => said(json!({ "structuredContent": { "n": 1 } })),
            "native" => {
                Outcome::Returned(Output { content: content(), ..Output::value(raw_of(&Value::Null)) })
            }
            _ => Outcome::Failed(ToolError { content: content(), ..ToolError::new("no") }),
        })))
    }

    fn offered(&self) -> Passthrough {
        Passthrough::of("mcp", raw_of(&json!({ "prompts": [{ "name": "p" }] })))
    }

    fn relay<'a>(
        &'a self,
        _: &'a Relay,
        _: &'a Grants,
        _: &'a Progress,
    ) -> BoxFuture<'a, Result<Relayed, SourceError>> {
        let messages = json!([{ "role": "user", "content": link() }, { "role": "user", "content": audio() }]);
        let said: Box<RawValue> = to_raw(&result(json!({ "messages": messages }))).expect("writable");
        Box::pin(std::future::ready(Ok(Ok(said))))
    }
}

async fn newest() -> Served {
    serve(Settings::default(), vec![("New", Arc::new(Newest))]).await
}

/// The result that a client of a revision gets.
async fn heard(served: &Served, revision: &str, method: &str, name: &str) -> Value {
    let params = json!({ "name": name });
    let body = if HANDSHAKES.contains(&revision) {
        let (session, _) = session(&served.url, revision, json!({})).await;
        let headers = [("mcp-session-id", session.as_str())];
        text(send(&served.url, Method::POST, &headers, rpc(1, method, params)).await).await.1
    } else {
        ask(&served.url, modern(method, params)).await.1
    };
    let body: Value = serde_json::from_str(&body).expect("JSON");
    body["result"].clone()
}

fn told(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Content of both newer kinds, as a revision knows it.
fn known(revision: &str) -> [Value; 2] {
    let link_told = told("Resource: a, A file, file:///a");
    match revision {
        "2024-11-05" => [link_told, told("Audio that this client cannot take: audio/wav")],
        "2025-03-26" => [link_told, audio()],
        _ => [link(), audio()],
    }
}

#[tokio::test]
async fn content_of_newer_kinds_is_told_in_texts() {
    let served = newest().await;
    for revision in HANDSHAKES.into_iter().chain(["2026-07-28"]) {
        let blocks = json!(known(revision));
        for tool in ["New_links", "New_native", "New_failing"] {
            let result = heard(&served, revision, "tools/call", tool).await;
            let content = result["content"].as_array().expect("blocks");
            assert_eq!(json!(content[..2]), blocks, "{revision} {tool}");
        }
        let prompt = heard(&served, revision, "prompts/get", "New_p").await;
        let content = json!([prompt["messages"][0]["content"], prompt["messages"][1]["content"]]);
        assert_eq!(content, blocks, "{revision}");
        let structured = heard(&served, revision, "tools/call", "New_structured").await;
        let content = if revision < "2025-06-18" { json!([told(r#"{"n":1}"#)]) } else { Value::Null };
        assert_eq!(structured["content"], content, "{revision}");
    }
}

#[tokio::test]
async fn what_only_the_newest_revision_has_goes_to_its_clients_alone_and_names_us() {
    let served = newest().await;
    for (method, name) in [("tools/call", "New_links"), ("prompts/get", "New_p")] {
        for revision in HANDSHAKES {
            let result = heard(&served, revision, method, name).await;
            assert_eq!(result.get("resultType"), None, "{revision}: {result}");
            assert_eq!(result["_meta"], json!({ "own/key": [1] }), "{revision}");
        }
        let result = heard(&served, "2026-07-28", method, name).await;
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["_meta"][SERVER_INFO]["name"], "toolmux");
        assert_eq!(result["_meta"]["own/key"], json!([1]));
    }
}

#[tokio::test]
async fn schemas_that_had_to_be_repaired_are_shown_repaired_and_others_as_they_came() {
    let served = serve(Settings::default(), vec![("Up", upstream(&["legacy", "sloppy"], &json!({})))]).await;
    assert!(served.gateway.catalog().unserved().is_empty(), "{:?}", served.gateway.catalog().unserved());
    let (_, body) = ask(&served.url, modern("tools/list", json!({}))).await;
    let shown = r#""inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"x-kept":1"#;
    assert!(body.contains(shown), "{body}");
    assert!(body.contains(r#""name":"Up_deep""#), "{body}");
    let (_, body) =
        ask(&served.url, modern("tools/call", json!({ "name": "Up_sloppy", "arguments": {} }))).await;
    assert!(body.contains("`n` is required but missing"), "{body}");
    assert!(body.contains("isError"), "{body}");
}
