//! An orderly end: probes and clients are told, calls finish, one bound holds for all of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use toolmux::{Server, ToolError, Toolkit, tool};
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::Credential;
use toolmux_core::limits::Limits;
use toolmux_core::names::ToolRef;

use crate::life::SLOW;
use crate::process::{Serving, folder, request, until};

/// Long enough that nothing ends by itself.
const LONG: &str = "[limits]\ndrain = \"10m\"\nstop_grace = \"10m\"\n";

/// A call that goes on until the file `go` is there.
fn begin_call(serving: &Serving, folder: &std::path::Path) -> TcpStream {
    let mut stream = serving.connect();
    let body = br#"{"jsonrpc":"2.0","method":"Slow_wait","id":"1"}"#;
    stream.write_all(&request("POST /opentool/call", "", body)).expect("sent");
    until("the tool to start", || folder.join("started").exists().then_some(()));
    stream
}

fn until_unready(serving: &Serving) {
    until("the server to be unready", || (serving.get("/health", "").0 == 503).then_some(()));
}

/// Asks over a connection that stays; the head of the answer.
fn ask_again(stream: &TcpStream) -> String {
    (&*stream).write_all(b"GET /opentool/version HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("sent");
    let mut lines = BufReader::new(stream);
    let (mut head, mut body) = (String::new(), vec![0; 0]);
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(lines.read_line(&mut head).expect("a line"), 0, "{head}");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    body.resize(length.expect("a length"), 0);
    lines.read_exact(&mut body).expect("a body");
    head
}

#[test]
fn a_stopping_server_answers_on_and_says_that_connections_end() {
    let folder = folder(&format!("{SLOW}\n{LONG}"));
    let mut serving = Serving::start(folder.path());
    let mut idle = serving.connect();
    assert!(!ask_again(&idle).contains("connection: close"));
    let mut called = begin_call(&serving, folder.path());
    serving.signal("TERM");
    until_unready(&serving);
    let head = ask_again(&idle);
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("connection: close"), "{head}");
    assert_eq!(idle.read(&mut [0]).expect("an end"), 0, "the connection ends after it was told");
    let head = ask_again(&serving.connect());
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("connection: close"), "{head}");
    assert_eq!(serving.get("/health?live", "").0, 200);
    std::fs::write(folder.path().join("go"), "").expect("written");
    let mut answer = String::new();
    called.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains(r#"{"result":"done"}"#) && answer.contains("connection: close"), "{answer}");
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let folder = folder(&format!("{SLOW}\n{LONG}"));
    let mut serving = Serving::start(folder.path());
    let _called = begin_call(&serving, folder.path());
    serving.signal("INT");
    // No probe before it: the connection of a probe would be counted too.
    serving.told("stopping within 600s: calls in flight: 1, connections in use: 1");
    serving.signal("INT");
    assert_eq!(serving.ended(), Some(0));
}

#[test]
fn a_server_that_nobody_uses_ends_at_once() {
    let folder = folder(&format!("{SLOW}\n{LONG}"));
    let mut serving = Serving::start(folder.path());
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
}

#[test]
fn a_server_in_use_ends_when_every_idle_connection_was_told() {
    let folder = folder(&format!("{SLOW}\n[limits]\ndrain = \"10m\"\nstop_grace = \"100ms\"\n"));
    let mut serving = Serving::start(folder.path());
    let mut idle = serving.connect();
    ask_again(&idle);
    serving.signal("TERM");
    // Long after the grace the connection is still there, and told.
    serving.told("stopping within 600s");
    let late = Instant::now() + Duration::from_millis(300);
    until("the grace to be over", || (Instant::now() > late).then_some(()));
    assert!(ask_again(&idle).contains("connection: close"));
    assert_eq!(idle.read(&mut [0]).expect("an end, not a reset"), 0);
    assert_eq!(serving.ended(), Some(0));
}

async fn hang() -> Result<(), ToolError> {
    std::future::pending().await
}

#[tokio::test]
async fn one_bound_holds_for_calls_and_tasks_together() {
    let never = Toolkit::new("Kit").tool(tool("hang", "Never ends", hang));
    let drain = Duration::from_secs(6);
    let limits = Limits { drain, ..Limits::default() };
    let running = Server::new().listen("127.0.0.1:0").limits(limits).toolkit(never).start().await;
    let running = running.expect("it starts");
    let mut called = tokio::net::TcpStream::connect(running.address()).await.expect("it listens");
    let body = br#"{"jsonrpc":"2.0","method":"Kit_hang","id":"1"}"#;
    called.write_all(&request("POST /opentool/call", "", body)).await.expect("sent");
    let gateway = running.gateway().clone();
    let caller = gateway.admit(Credential::None, None).expect("anybody may call");
    let asked = Request::new(ToolRef::flat("Kit_hang"), Arguments::from_map(serde_json::Map::new()));
    gateway.tasks().submit(&caller, asked, None).await.expect("accepted");
    while gateway.sources().calls_in_flight() < 2 {
        tokio::task::yield_now().await;
    }
    // Twice the bound is what one for calls and another for tasks would take.
    let twice = drain.saturating_mul(2).saturating_sub(Duration::from_secs(1));
    tokio::time::timeout(twice, running.stop()).await.expect("one bound");
}
