//! "It did not run" is only said when it is true: what becomes of a call when its server, whichever protocol it speaks,
//! is gone, closes the connection at any point, or answers with any status or with nonsense.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::sources::{Mount, Naming};
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::Opening;

use crate::scripted_peer::{Dialect, EVENTS, HTML, ID, JSON, Peer, Read, ReceivedRequest, Script, http};

pub(crate) const GOOD_RPC: &str =
    r#"{"jsonrpc":"2.0","id":IDENTITY,"result":{"content":[{"type":"text","text":"ok"}]}}"#;

pub(crate) const MCP: Dialect = Dialect {
    kind: "mcp",
    path: "/mcp",
    tool: "t",
    calls: r#""method":"tools/call""#,
    good: GOOD_RPC,
    // Streamable HTTP: 400 for a message that cannot be accepted, 401 and 403 by its authorization (403 also for a
    // foreign origin), 404 for an unknown session or method, 405 where posts are not taken.
    not_executed: &[400, 401, 403, 404, 405],
    other: |asked| http(200, JSON, &mcp_result(asked, "2026-07-28")),
};

/// A session of 2025-11-25: `initialize`, then every request under its id.
pub(crate) const MCP_SESSION: Dialect = Dialect {
    other: |asked| {
        if asked.says("server/discover") {
            return http(400, HTML, "what?");
        }
        let headers = format!("{JSON}mcp-session-id: s1\r\n");
        http(200, &headers, &mcp_result(asked, "2025-11-25"))
    },
    ..MCP
};

pub(crate) const MCP_EVENTS: Dialect = Dialect {
    path: "/sse",
    // 2024-11-05 says nothing of statuses; that of HTTP for missing credentials remains (RFC 9110, 15.5.2).
    not_executed: &[401],
    other: |asked| {
        if asked.says("POST /sse") {
            return http(405, HTML, "what?");
        }
        mcp_result(asked, "2024-11-05")
    },
    ..MCP
};

pub(crate) const OPENTOOL: Dialect = Dialect {
    kind: "opentool",
    path: "",
    tool: "t",
    calls: "POST /opentool/call",
    good: r#"{"jsonrpc":"2.0","result":{"ok":1},"id":IDENTITY}"#,
    // Section 6: 401 is a key that is not valid, 404 is no server at the address.
    not_executed: &[401, 404],
    other: |_| {
        let function = json!({ "name": "t", "description": "d", "parameters": [] });
        let info = json!({ "title": "T", "version": "1.0.0" });
        http(200, JSON, &json!({ "opentool": "1.1.0", "info": info, "functions": [function] }).to_string())
    },
};

pub(crate) const OXP: Dialect = Dialect {
    kind: "oxp",
    path: "",
    tool: "t",
    calls: "POST /tools/call",
    good: r#"{"call_id":"c","success":true,"value":1}"#,
    // "Errors that occur before the tool is called" are 400, "Input Validation Errors" are 422, and 401 is
    // authentication. All others are 200.
    not_executed: &[400, 401, 422],
    other: |_| {
        let tool = json!({ "id": "K.t@1.0.0", "name": "K_t", "description": "d", "version": "1.0.0",
            "input_schema": { "type": "object" } });
        http(200, JSON, &json!({ "items": [tool] }).to_string())
    },
};

pub(crate) const ATS: Dialect = Dialect {
    kind: "ats",
    path: "",
    tool: "t",
    calls: "POST /call_tool/",
    good: r#"{"task_id":"1"}"#,
    // Its page says nothing of statuses; that of HTTP for missing credentials remains (RFC 9110, 15.5.2).
    not_executed: &[401],
    other: |asked| {
        let tool = json!([{ "name": "t", "description": "d", "input_schema": { "type": "object" } }]);
        let ended = json!({ "status": "completed", "result": [], "error": null });
        http(200, JSON, &(if asked.says("GET /callback") { ended } else { tool }).to_string())
    },
};

pub(crate) const OPENRPC: Dialect = Dialect {
    kind: "openrpc",
    path: "/rpc",
    tool: "t",
    calls: r#""method":"t""#,
    good: r#"{"jsonrpc":"2.0","id":IDENTITY,"result":{"ok":1}}"#,
    // JSON-RPC says nothing of statuses; that of HTTP for missing credentials remains (RFC 9110, 15.5.2).
    not_executed: &[401],
    other: |asked| {
        let method = json!({ "name": "t", "params": [], "result": { "name": "r", "schema": {} } });
        http(200, JSON, &asked.rpc(&json!({ "openrpc": "1.3.2", "methods": [method] })))
    },
};

/// An API without a protocol of its own: each status is what its tool answers.
pub(crate) const API: Dialect = Dialect {
    kind: "http",
    path: "/api",
    tool: "t",
    calls: "POST /api/t",
    good: r#"{"ok":1}"#,
    not_executed: &[],
    other: |_| http(404, HTML, "what?"),
};

pub(crate) const EVERY: [Dialect; 8] = [MCP, MCP_SESSION, MCP_EVENTS, OPENTOOL, OXP, ATS, OPENRPC, API];

fn mcp_result(asked: &ReceivedRequest, revision: &str) -> String {
    let tool = json!({ "name": "t", "inputSchema": { "type": "object" } });
    asked.rpc(&if asked.says("server/discover") {
        json!({ "supportedVersions": [revision], "capabilities": { "tools": {} } })
    } else if asked.says(r#""method":"initialize""#) {
        json!({ "protocolVersion": revision, "capabilities": { "tools": {} } })
    } else {
        json!({ "tools": [tool] })
    })
}

/// How long a call may take that is answered, one way or the other.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A gateway in front of one source, whose breaker never opens.
pub(crate) async fn gateway(kind: &str, table: Value, call_timeout: Duration) -> Arc<Gateway> {
    let limits = Limits { breaker_failures: u32::MAX, call_timeout, ..Limits::default() };
    let gateway = Gateway::new(Settings { limits, ..Settings::default() }, Arc::new(MemoryStore::default()));
    let kind = SOURCES.iter().find(|known| known.kind == kind).expect("registered");
    let folder = std::env::temp_dir();
    let secrets = |_: &_| Err("no secrets here".to_owned());
    let opening = Opening { name: "Up", table, folder: &folder, secrets: &secrets };
    let source = (kind.open)(&opening).unwrap_or_else(|error| panic!("{error}"));
    gateway.sources().mount(Mount::new("Up", "Up", Naming::Bare, source));
    gateway.sources().settled(Duration::from_mins(1)).await;
    gateway
}

/// What a call ends with.
pub(crate) async fn outcome(gateway: &Arc<Gateway>, tool: &str) -> Result<Outcome, Refusal> {
    let caller = gateway.admit(Credential::None, None).expect("open");
    let request = Request::new(ToolRef::flat(tool), Arguments::from_map(serde_json::Map::new()));
    gateway.call(&caller, request, &Progress::unheard()).await
}

/// What a caller is told.
pub(crate) async fn told(gateway: &Arc<Gateway>, tool: &str) -> &'static str {
    match outcome(gateway, tool).await {
        Ok(Outcome::Returned(_)) => "returned",
        Ok(Outcome::Failed(error)) if error.message.public.ends_with("may have run") => "lost",
        Ok(Outcome::Failed(_)) => "failed",
        Err(Refusal::Busy { retry_after, .. }) if retry_after.as_secs() == 7 => "busy for 7 s",
        Err(Refusal::Busy { .. }) => "busy",
        Err(_) => "refused",
    }
}

/// A caller is told one of these, never that a tool did not run which did; and nothing runs twice.
pub(crate) fn judge(what: &str, told: &str, ran: usize, expect: &[&str]) {
    assert!(expect.contains(&told), "{what}: {told} instead of {expect:?}, ran {ran} times");
    assert!(ran <= 1, "{what}: {told}, ran {ran} times");
    assert!(ran == 0 || matches!(told, "returned" | "lost" | "failed"), "{what}: {told}, but ran");
}

/// The table of a source that the peer is the server of.
pub(crate) fn table(dialect: Dialect, peer: &Peer) -> Value {
    let mut table = json!({ "url": format!("{}{}", peer.base, dialect.path) });
    if dialect.kind == API.kind {
        table["tools"] = json!({ "t": { "description": "d", "request": "POST /t" } });
    }
    table
}

/// One source, and many calls that its server treats like this.
pub(crate) async fn check(dialect: Dialect, rows: Vec<(Script, &[&str])>) {
    let peer = Peer::start(dialect).await;
    let gateway = gateway(dialect.kind, table(dialect, &peer), LONG).await;
    assert_eq!(gateway.catalog().len(), 1, "{} lists", dialect.kind);
    for (script, expect) in rows {
        peer.follow(script.clone());
        let told = told(&gateway, dialect.tool).await;
        let name = format!("{}{} {script:?}", dialect.kind, dialect.path);
        judge(&name, told, peer.ran(), expect);
        assert_eq!(peer.ran() == 1, script.runs(&dialect), "{name}: the script is followed");
    }
}

/// The way a good answer to a call leaves, and what a stream is told with it.
pub(crate) fn good(dialect: Dialect) -> Script {
    if dialect.path == "/sse" {
        return Script { event: Some(dialect.good), ..Script::answer(http(202, "", "")) };
    }
    Script::answer(http(200, JSON, dialect.good))
}

#[tokio::test]
async fn a_server_that_is_gone_did_not_run_it() {
    for dialect in EVERY {
        let mut peer = Peer::start(dialect).await;
        let gateway = gateway(dialect.kind, table(dialect, &peer), LONG).await;
        peer.leave().await;
        let told = told(&gateway, dialect.tool).await;
        // A stream that ends while a message is on its way leaves open whether it arrived.
        let expect: &[&str] = if dialect.path == "/sse" { &["refused", "lost"] } else { &["refused"] };
        judge(&format!("{}{}", dialect.kind, dialect.path), told, peer.ran(), expect);
    }
}

#[tokio::test]
async fn a_connection_may_be_cut_anywhere() {
    // Not all of the request was read; that much the client cannot know.
    let either: &[&str] = &["lost", "refused"];
    for dialect in EVERY {
        let cut = |read: Read| (Script { read, ..Script::answer("") }, either);
        let mut rows = vec![(good(dialect), ["returned"].as_slice())];
        rows.extend([Read::Nothing, Read::HalfTheHead, Read::HalfTheBody].map(cut));
        let whole = http(200, JSON, dialect.good);
        let mut answers = vec![String::new(), "HTTP/1.".into(), "HTTP/1.1 200 X\r\ncontent-ty".into()];
        // A server of 2024-11-05 has taken a message with the status; its answer would be on the stream.
        if dialect.path != "/sse" {
            answers.push(format!("HTTP/1.1 200 X\r\n{JSON}content-length: 9\r\n\r\n"));
            answers.push(whole[..whole.len() - 4].to_owned());
            // A whole body whose end is not told.
            answers.push(format!("HTTP/1.1 200 X\r\n{JSON}content-length: 999\r\n\r\n{}", dialect.good));
        }
        rows.extend(answers.into_iter().map(|answer| (Script::answer(answer), ["lost"].as_slice())));
        rows.push((good(dialect), &["returned"]));
        check(dialect, rows).await;
    }
}

#[tokio::test]
async fn nonsense_may_have_run() {
    for dialect in [MCP, MCP_SESSION, OPENTOOL, OXP, ATS, OPENRPC] {
        let bodies = ["", "<html>", "\u{1}\u{2}", "{", "[]", "null", "7", "\"text\"", "{}"];
        let rows =
            bodies.into_iter().flat_map(|body| [(JSON, body), (HTML, body), ("", body), (EVENTS, body)]);
        check(
            dialect,
            rows.map(|(kind, body)| (Script::answer(http(200, kind, body)), ["lost"].as_slice())).collect(),
        )
        .await;
    }
}

#[tokio::test]
async fn an_answer_to_another_request_may_have_run_ours() {
    let foreign = |good: &str| good.replace(ID, "\"another\"");
    for dialect in [MCP, MCP_SESSION, OPENTOOL, OPENRPC] {
        let event = format!("data: {}\n\n", foreign(dialect.good));
        let mut rows = vec![(Script::answer(http(200, JSON, &foreign(dialect.good))), ["lost"].as_slice())];
        rows.push((Script::answer(http(200, EVENTS, &event)), &["lost"]));
        let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":500,"message":"m"}}"#;
        rows.push((Script::answer(http(200, JSON, error)), &["failed"]));
        check(dialect, rows).await;
    }
    let null = MCP.good.replace(ID, "null");
    let events = |text: &str| Script::answer(http(200, EVENTS, text));
    let answer = format!("data: {}\n\n", MCP.good);
    let rows: Vec<(Script, &[&str])> = vec![
        (Script::answer(http(200, JSON, &null)), &["lost"]),
        (events(&answer), &["returned"]),
        (events("data: <html>\n\n"), &["lost"]),
        (events(answer.trim_end()), &["lost"]),
        (events("data: {\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}}\n\n"), &["failed"]),
    ];
    check(MCP, rows).await;
}

#[tokio::test]
async fn a_session_that_is_gone_did_not_run_it() {
    let gone = Script::answer(http(404, HTML, "no session"));
    check(MCP_SESSION, vec![(gone, &["refused"]), (good(MCP_SESSION), &["returned"])]).await;
}

#[tokio::test]
async fn a_task_that_was_begun_may_have_run() {
    let dialect = Dialect {
        calls: "GET /callback",
        other: |asked| {
            if asked.says("POST /call_tool/") { http(200, JSON, ATS.good) } else { (ATS.other)(asked) }
        },
        ..ATS
    };
    let answers = [http(500, HTML, "no"), http(404, JSON, r#"{"detail":"no"}"#), http(200, JSON, "{}")];
    check(dialect, answers.map(|answer| (Script::answer(answer), ["lost"].as_slice())).to_vec()).await;
}
