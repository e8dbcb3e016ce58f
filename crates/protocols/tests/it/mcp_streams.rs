//! MCP on a pair of streams, as `toolmux mcp` serves it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Credential, Settings};
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_protocols::mcp::serve_streams;

use crate::mcp_client::{modern_as, rpc};
use crate::mcp_fixture::{Kit, Served, serve};

/// The client's ends of a conversation.
struct StdioClient {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    served: Served,
}

impl StdioClient {
    async fn begin() -> Self {
        StdioClient::with(Arc::new(Kit)).await
    }

    async fn with(kit: Arc<dyn Source>) -> Self {
        let served = serve(Settings::default(), vec![("Kit", kit)]).await;
        let caller = served.gateway.admit(Credential::None, None).expect("everybody may");
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        tokio::spawn(serve_streams(served.gateway.clone(), caller, input, output));
        let (read, write) = tokio::io::split(ours);
        StdioClient { read: BufReader::new(read), write, served }
    }

    async fn say(&mut self, text: &str) {
        self.write.write_all(format!("{text}\n").as_bytes()).await.expect("somebody reads");
    }

    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.read.read_line(&mut line).await.expect("somebody writes");
        serde_json::from_str(&line).expect("one message a line")
    }
}

#[tokio::test]
async fn both_eras_share_a_pair_of_streams() {
    let mut talk = StdioClient::begin().await;
    talk.say("not json").await;
    assert_eq!(talk.hear().await["error"]["code"], -32700);
    let (_, call) =
        modern_as("tools/call", json!({ "name": "Kit_echo", "arguments": { "text": "hi" } }), json!({}));
    talk.say(&call).await;
    assert_eq!(talk.hear().await["result"]["resultType"], "complete");
    talk.say(&rpc(1, "initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {} }))).await;
    assert_eq!(talk.hear().await["result"]["protocolVersion"], "2025-06-18");
    talk.say(&rpc(2, "tools/call", json!({ "name": "Kit_echo", "arguments": { "text": "ho" } }))).await;
    assert_eq!(talk.hear().await["result"], json!({ "content": [{ "type": "text", "text": "ho" }] }));
}

#[tokio::test]
async fn a_long_call_is_busy_while_there_is_no_memory() {
    let mut talk = StdioClient::begin().await;
    talk.served.gateway.memory().resize(Some(1 << 20));
    let others = talk.served.gateway.memory().hold((1 << 20) - 1);
    let text = "x".repeat(200_000);
    let call = rpc(2, "tools/call", json!({ "name": "Kit_echo", "arguments": { "text": text } }));
    talk.say(&call).await;
    let refused = talk.hear().await;
    assert_eq!((&refused["id"], &refused["error"]["data"]["retryAfterMs"]), (&json!(2), &json!(1_000)));
    drop(others);
    talk.say(&call).await;
    assert_eq!(talk.hear().await["result"]["content"][0]["text"], text);
}

#[tokio::test]
async fn questions_and_answers_go_both_ways() {
    let mut talk = StdioClient::begin().await;
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} } });
    talk.say(&rpc(1, "initialize", params)).await;
    talk.hear().await;
    talk.say(&rpc(2, "tools/call", json!({ "name": "Kit_ask" }))).await;
    let question = talk.hear().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["_meta"]["toolmux/requestId"], 2, "the call it belongs to");
    let said = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "cancel" } });
    talk.say(&said.to_string()).await;
    assert_eq!(talk.hear().await["result"]["structuredContent"]["result"]["action"], "cancel");
}

#[tokio::test]
async fn a_cancelled_request_gets_no_answer() {
    let mut talk = StdioClient::begin().await;
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} } });
    talk.say(&rpc(1, "initialize", params)).await;
    talk.hear().await;
    talk.say(&rpc(2, "tools/call", json!({ "name": "Kit_ask" }))).await;
    talk.hear().await;
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    talk.say(&note.to_string()).await;
    talk.say(&rpc(3, "ping", json!({}))).await;
    assert_eq!(talk.hear().await["id"], 3);
}

static KIT: Kit = Kit;

/// Notes the sessions of its calls, and those that have ended.
#[derive(Default)]
struct Noting {
    called: Mutex<Vec<Option<String>>>,
    ended: Mutex<Vec<String>>,
}

impl Source for Noting {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        KIT.tools()
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        self.called.lock().expect("nobody panics with it").push(call.session().map(ToString::to_string));
        KIT.call(call, progress)
    }

    fn session_ended(&self, _caller: &str, session: &str) {
        self.ended.lock().expect("nobody panics with it").push(session.to_owned());
    }
}

#[tokio::test]
async fn the_session_ends_with_the_streams() {
    let noting = Arc::new(Noting::default());
    let mut talk = StdioClient::with(Arc::clone(&noting) as Arc<dyn Source>).await;
    let echo = json!({ "name": "Kit_echo", "arguments": { "text": "hi" } });
    talk.say(&modern_as("tools/call", echo.clone(), json!({})).1).await;
    talk.hear().await;
    talk.say(&rpc(2, "tools/call", echo)).await;
    talk.hear().await;
    assert!(noting.ended.lock().expect("nobody panics with it").is_empty());
    talk.write.shutdown().await.expect("it is open");
    let mut rest = String::new();
    talk.read.read_line(&mut rest).await.expect("it ends");
    let called = noting.called.lock().expect("nobody panics with it").clone();
    let ended = noting.ended.lock().expect("nobody panics with it").clone();
    assert!(called[0].is_none(), "2026-07-28 has no sessions");
    assert!(called[1].is_some());
    assert_eq!(called[1].as_ref(), ended.first());
}
