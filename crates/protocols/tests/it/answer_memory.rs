//! Answers of servers and commands count against the memory for all requests while they are read. One for which there
//! is no memory is dropped, and its caller hears that the tool may have run.

use std::sync::Arc;

use serde_json::json;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Outcome, Retry};
use toolmux_core::progress::Progress;

use crate::did_not_run::{GOOD_RPC, LONG, MCP, MCP_EVENTS, OPENTOOL, OXP, gateway};
use crate::scripted_peer::{Dialect, EVENTS, JSON, Peer, Script, http};

const MEMORY: usize = 1 << 20;
const ANSWER: usize = MEMORY / 2;

async fn call(gateway: &Arc<Gateway>, tool: &str) -> Outcome {
    let caller = gateway.admit(Credential::None, None).expect("open");
    let request = Request::new(ToolRef::flat(tool), Arguments::none());
    gateway.call(&caller, request, &Progress::unheard()).await.expect("it is not refused")
}

/// Calls a tool with a long answer: alone, beside others that leave no memory for it, and alone again.
async fn check(what: &str, gateway: &Arc<Gateway>, tool: &str) {
    let memory = gateway.memory();
    memory.resize(Some(MEMORY));
    for held in [0, MEMORY - ANSWER / 2, 0] {
        let others = memory.hold(held);
        match call(gateway, tool).await {
            Outcome::Returned(output) => {
                assert!(held == 0 && output.value.get().len() > ANSWER, "{what}: beside {held} bytes");
            }
            Outcome::Failed(error) => {
                let said = &error.message.public;
                assert!(
                    held > 0
                        && said.contains("did not fit into `limits.memory`")
                        && said.ends_with("may have run"),
                    "{what}: {said}"
                );
                assert_eq!(error.retry, Retry::Never, "{what}: it may not be called twice");
            }
        }
        drop(others);
        assert_eq!(memory.used(), 0, "{what}: nothing stays counted");
    }
}

async fn check_server(dialect: Dialect, headers: &str, body: &str) {
    check_scripted(dialect, headers, Script::answer(http(200, headers, body))).await;
}

async fn check_scripted(dialect: Dialect, what: &str, script: Script) {
    let peer = Peer::start(dialect).await;
    let table = json!({ "url": format!("{}{}", peer.base, dialect.path) });
    let gateway = gateway(dialect.kind, table, LONG).await;
    peer.follow(script);
    check(&format!("{}{} {what}", dialect.kind, dialect.path), &gateway, dialect.tool).await;
    assert_eq!(peer.ran(), 3, "{}: an answer that was dropped is not asked for again", dialect.kind);
}

#[tokio::test]
async fn answers_of_servers_are_dropped_when_there_is_no_memory() {
    let text = "x".repeat(ANSWER);
    let rpc = GOOD_RPC.replace("ok", &text);
    check_server(MCP, JSON, &rpc).await;
    check_server(MCP, EVENTS, &format!("event: message\ndata: {rpc}\n\n")).await;
    check_server(OXP, JSON, &OXP.good.replace('1', &format!("\"{text}\""))).await;
    check_server(OPENTOOL, JSON, &OPENTOOL.good.replace(":1", &format!(":\"{text}\""))).await;
}

#[tokio::test]
async fn answers_on_a_stream_of_many_are_dropped_when_there_is_no_memory() {
    let event = GOOD_RPC.replace("ok", &"x".repeat(ANSWER)).leak();
    let script = Script { event: Some(event), ..Script::answer(http(202, "", "")) };
    check_scripted(MCP_EVENTS, "one stream", script).await;
}

#[tokio::test]
async fn answers_of_a_server_on_standard_streams_are_dropped_when_there_is_no_memory() {
    let script = format!(
        r#"import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    text = {{"type": "text", "text": "x" * {ANSWER}}}
    answers = {{
        "initialize": {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}}}},
        "tools/list": {{"tools": [{{"name": "t", "inputSchema": {{"type": "object"}}}}]}},
        "tools/call": {{"content": [text]}},
    }}
    if asked.get("method") in answers:
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": answers[asked["method"]]}}), flush=True)
"#
    );
    let table = json!({ "command": ["python3", "-c", script], "era": "legacy" });
    let gateway = gateway("mcp", table, LONG).await;
    check("mcp on standard streams", &gateway, "t").await;
    gateway.close(LONG).await;
}

#[tokio::test]
async fn the_output_of_a_command_is_dropped_when_there_is_no_memory() {
    let command = ["sh", "-c", "head -c 524288 /dev/zero | tr '\\0' x"];
    let table = json!({ "tools": { "t": { "description": "prints much", "command": command } } });
    let gateway = gateway("command", table, LONG).await;
    check("command", &gateway, "t").await;
    gateway.close(LONG).await;
}
