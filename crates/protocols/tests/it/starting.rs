//! Every protocol while a source has not listed its tools yet: lists and calls wait for it, an unknown name is not
//! said to be unknown, and probes are told.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::sources::{Mount, Naming};

use crate::mcp_client::{ask, modern, rpc};
use crate::oxp::{SETTLE, Server};
use crate::scripted_source::Scripted;

/// Lists its tools once it is let.
struct Late(Arc<Scripted>, Semaphore);

impl Source for Late {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async {
            let _let = self.1.acquire().await.expect("never closed");
            self.0.tools().await
        })
    }

    fn call<'a>(&'a self, call: &'a Call, told: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        self.0.call(call, told)
    }
}

async fn server(start_wait: Duration) -> (Arc<Late>, Server) {
    let limits = Limits { start_wait, ..Limits::default() };
    let gateway = Gateway::new(Settings { limits, ..Settings::default() }, Arc::new(MemoryStore::default()));
    let late = Arc::new(Late(Scripted::new(), Semaphore::new(0)));
    gateway.sources().mount(Mount::new("late", "Kit", Naming::Prefixed, late.clone()));
    (late, Server::serve(gateway).await)
}

/// What one request over each protocol is answered.
async fn over(server: &Server, protocol: &str, tool: &str) -> (u16, Value) {
    let mcp = format!("{}/mcp", server.base);
    let call = json!({ "name": tool, "arguments": {} });
    let read = |(status, body): (u16, String)| (status, serde_json::from_str(&body).unwrap_or(json!(body)));
    let web = async |method, path: &str, body: String| {
        let (status, _, body) = server.ask(method, path, &[], &body).await;
        (status.as_u16(), body)
    };
    match protocol {
        "OpenTool" => {
            let body = json!({ "jsonrpc": "2.0", "method": tool, "params": {}, "id": "1" });
            web(Method::POST, "/opentool/call", body.to_string()).await
        }
        "OXP" => {
            let body = json!({ "tool_id": tool.replacen('_', ".", 1), "input": {} });
            web(Method::POST, "/tools/call", body.to_string()).await
        }
        "ATS" => web(Method::POST, &format!("/call_tool/{tool}"), "{}".to_owned()).await,
        "MCP 2025" => read(ask(&mcp, (Vec::new(), rpc(1, "tools/call", call))).await),
        "MCP 2026" => read(ask(&mcp, modern("tools/call", call)).await),
        "OpenTool list" => web(Method::GET, "/opentool/load", String::new()).await,
        "OXP list" => web(Method::GET, "/tools", String::new()).await,
        "ATS list" => web(Method::GET, "/get_tool", String::new()).await,
        "model list" => web(Method::GET, "/model/anthropic/tools", String::new()).await,
        "MCP 2025 list" => read(ask(&mcp, (Vec::new(), rpc(1, "tools/list", json!({})))).await),
        "MCP 2026 list" => read(ask(&mcp, modern("tools/list", json!({}))).await),
        other => panic!("no protocol {other}"),
    }
}

const CALLS: [&str; 5] = ["OpenTool", "OXP", "ATS", "MCP 2025", "MCP 2026"];
const LISTS: [&str; 6] =
    ["OpenTool list", "OXP list", "ATS list", "model list", "MCP 2025 list", "MCP 2026 list"];

/// What a request is answered that is made before the source lists its tools.
async fn early(protocol: &str, tool: &str) -> (u16, Value) {
    let (late, server) = server(SETTLE).await;
    let listing = async {
        // By the time these are answered, the request has been made.
        for _ in 0..3 {
            assert_eq!(server.ask(Method::GET, "/health", &[], "").await.0, StatusCode::SERVICE_UNAVAILABLE);
        }
        late.1.add_permits(1);
    };
    tokio::join!(over(&server, protocol, tool), listing).0
}

#[tokio::test]
async fn calls_wait_for_a_source_that_is_connecting() {
    for protocol in CALLS {
        let (status, body) = early(protocol, "Kit_Nothing").await;
        assert_eq!(status, 200, "{protocol}: {body}");
        let failed = body["error"].is_object() || body["result"]["isError"] == true;
        assert!(!failed, "{protocol}: {body}");
    }
}

#[tokio::test]
async fn lists_wait_for_a_source_that_is_connecting() {
    for protocol in LISTS {
        let (status, body) = early(protocol, "").await;
        assert_eq!(status, 200, "{protocol}: {body}");
        assert!(body.to_string().contains("Does Nothing"), "{protocol}: {body}");
        if protocol == "MCP 2026 list" {
            assert_eq!(body["result"]["ttlMs"], 60_000, "{body}");
        }
    }
}

#[tokio::test]
async fn a_session_waits_to_hear_what_it_can_offer() {
    let (late, server) = server(SETTLE).await;
    let mcp = format!("{}/mcp", server.base);
    let greet = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let greeting = ask(&mcp, (Vec::new(), rpc(1, "initialize", greet)));
    let listing = async {
        assert_eq!(server.ask(Method::GET, "/health", &[], "").await.0, StatusCode::SERVICE_UNAVAILABLE);
        late.1.add_permits(1);
    };
    let ((status, _), ()) = tokio::join!(greeting, listing);
    assert_eq!(status, 200);
    assert!(server.gateway.sources().is_complete());
}

#[tokio::test]
async fn an_unknown_name_is_unavailable_while_a_source_has_not_been_heard_of() {
    let (_late, server) = server(Duration::ZERO).await;
    for protocol in CALLS {
        let (status, body) = over(&server, protocol, "Kit_Nothing").await;
        let text = body.to_string();
        assert!(text.contains("is not known yet"), "{protocol}: {text}");
        let told = match protocol {
            "OpenTool" => (status, body["error"]["code"].clone()),
            "OXP" => (status, json!(null)),
            "ATS" => (status, body["error"]["can_retry"].clone()),
            _ => (200, body["error"]["code"].clone()),
        };
        let expect = match protocol {
            "OpenTool" => (200, json!(503)),
            "OXP" => (400, json!(null)),
            "ATS" => (503, json!(true)),
            _ => (200, json!(-32603)),
        };
        assert_eq!(told, expect, "{protocol}: {text}");
    }
    let (_, body) = over(&server, "MCP 2026 list", "").await;
    assert_eq!((&body["result"]["ttlMs"], &body["result"]["tools"]), (&json!(0), &json!([])), "{body}");
}

#[tokio::test]
async fn a_list_made_too_early_is_not_kept() {
    let (late, server) = server(Duration::ZERO).await;
    for protocol in LISTS {
        over(&server, protocol, "").await;
    }
    late.1.add_permits(1);
    server.gateway.sources().settled(SETTLE).await;
    for protocol in LISTS {
        let (_, body) = over(&server, protocol, "").await;
        assert!(body.to_string().contains("Does Nothing"), "{protocol}: {body}");
    }
}

#[tokio::test]
async fn health_is_unready_until_sources_have_listed_and_live_at_once() {
    let (late, server) = server(SETTLE).await;
    let health = async |path: &str| {
        let (status, _, body) = server.ask(Method::GET, path, &[], "").await;
        (status.as_u16(), body["status"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(health("/health").await, (503, "unready".to_owned()));
    assert_eq!(health("/health?live").await, (200, "ok".to_owned()));
    late.1.add_permits(1);
    server.gateway.sources().settled(SETTLE).await;
    assert_eq!(health("/health").await, (200, "ok".to_owned()));
    server.gateway.background().announce_closing();
    assert_eq!(health("/health").await, (503, "unready".to_owned()));
    assert_eq!(health("/health?live").await, (200, "ok".to_owned()));
}
