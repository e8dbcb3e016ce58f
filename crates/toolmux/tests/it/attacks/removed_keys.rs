//! What goes on after a key was removed or replaced: streams that it opened, calls and tasks that wait.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::process::{Serving, folder, request, until, write};

/// One tool that waits for a file, one that leaves one.
const TOOLS: &str = r#"
store = "memory"

[limits]
task_concurrency = 1

[sources.Shell]
kind = "command"

[sources.Shell.tools.wait]
description = "Waits for a file"
command = ["sh", "-c", "touch started; while [ ! -e go ]; do sleep 0.01; done; echo done"]

[sources.Shell.tools.touch]
description = "Makes a file"
command = ["touch", "{file}"]
parameters.file = { type = "string" }

[tools."Shell.*"]
concurrency = 1

[keys.ops]
key = "ops-key"
"#;

const ALICE: &str = "authorization: Bearer alice-key\r\n";
const OPS: &str = "authorization: Bearer ops-key\r\n";

fn with_alice(key: &str) -> String {
    format!("{TOOLS}\n[keys.alice]\nkey = \"{key}\"\n")
}

/// Opens a stream and reads its head.
fn stream(serving: &Serving, line: &str, headers: &str, body: &[u8]) -> TcpStream {
    let mut stream = serving.connect();
    let headers = format!("{headers}accept: text/event-stream, application/json\r\n");
    stream.write_all(&request(line, &headers, body)).expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).expect("open"), 1, "{}", String::from_utf8_lossy(&head));
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{line}: {head}");
    stream
}

fn streams_of_alice(serving: &Serving, task: &str) -> Vec<TcpStream> {
    let call = json!({ "jsonrpc": "2.0", "id": "1", "method": "Shell_wait", "params": {} }).to_string();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
    let modern = format!("{ALICE}mcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\n");
    vec![
        stream(serving, "GET /sse", ALICE, b""),
        stream(serving, "GET /mcp", ALICE, b""),
        stream(serving, "POST /mcp", &modern, listen.to_string().as_bytes()),
        stream(serving, &format!("GET /callback/{task}"), ALICE, b""),
        stream(serving, "POST /opentool/streamCall", ALICE, call.as_bytes()),
    ]
}

fn check_ended(mut streams: Vec<TcpStream>) {
    for (place, stream) in streams.iter_mut().enumerate() {
        let mut rest = Vec::new();
        // Shorter than the time between two signs of life of an open stream.
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
        let ended = stream.read_to_end(&mut rest);
        assert!(ended.is_ok(), "stream {place} goes on: {}", String::from_utf8_lossy(&rest));
    }
}

fn is_open(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a socket");
    loop {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

fn submit(serving: &Serving, tool: &str, key: &str, arguments: &str) -> String {
    let (status, body) = serving.post(&format!("/call_tool/{tool}"), key, arguments.as_bytes());
    assert_eq!(status, 200, "{body}");
    body.split('"').nth(3).expect("a task id").to_owned()
}

fn touch(folder: &Path, file: &str) {
    std::fs::write(folder.join(file), "").expect("written");
}

/// Waits until the server has taken up that a key lets in, or no longer does.
fn until_status(serving: &Serving, key: &str, expect: u16) {
    until("the new keys", || (serving.get("/opentool/version", key).0 == expect).then_some(()));
}

#[test]
fn a_removed_key_does_not_keep_its_streams() {
    let folder = folder(&with_alice("alice-key"));
    let serving = Serving::start(folder.path());
    let task = submit(&serving, "Shell_wait", ALICE, "{}");
    let streams = streams_of_alice(&serving, &task);
    let mut other = stream(&serving, "GET /sse", OPS, b"");
    write(folder.path(), TOOLS);
    check_ended(streams);
    assert!(is_open(&mut other), "the streams of others go on");
}

#[test]
fn a_replaced_key_does_not_keep_its_streams() {
    let folder = folder(&with_alice("alice-key"));
    let serving = Serving::start(folder.path());
    let streams = vec![stream(&serving, "GET /sse", ALICE, b""), stream(&serving, "GET /mcp", ALICE, b"")];
    write(folder.path(), &with_alice("another-key"));
    check_ended(streams);
    assert_eq!(serving.get("/opentool/version", ALICE).0, 401);
}

#[test]
fn a_removed_key_does_not_hear_how_its_task_ended() {
    let folder = folder(&with_alice("alice-key"));
    let serving = Serving::start(folder.path());
    let task = submit(&serving, "Shell_wait", ALICE, "{}");
    let mut waiting = serving.connect();
    waiting.write_all(&request(&format!("GET /callback/{task}"), ALICE, b"")).expect("sent");
    until("the tool to start", || folder.path().join("started").exists().then_some(()));
    write(folder.path(), TOOLS);
    until_status(&serving, ALICE, 401);
    touch(folder.path(), "go");
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 401") && !answer.contains("done"), "{answer}");
}

#[test]
fn a_removed_key_does_not_run_its_waiting_tasks() {
    let folder = folder(&with_alice("alice-key"));
    let serving = Serving::start(folder.path());
    submit(&serving, "Shell_wait", OPS, "{}");
    until("the tool to start", || folder.path().join("started").exists().then_some(()));
    let waiting = submit(&serving, "Shell_touch", ALICE, r#"{"file":"ran"}"#);
    let last: Vec<String> =
        (0..3).map(|_| submit(&serving, "Shell_touch", OPS, r#"{"file":"ops"}"#)).collect();
    write(folder.path(), TOOLS);
    until_status(&serving, ALICE, 401);
    touch(folder.path(), "go");
    for task in last {
        let (_, told) = serving.get(&format!("/callback/{task}"), OPS);
        assert!(told.contains("completed"), "{told}");
    }
    write(folder.path(), &with_alice("alice-key"));
    until_status(&serving, ALICE, 200);
    let (_, told) = serving.get(&format!("/callback/{waiting}"), ALICE);
    assert!(told.contains("failed") && told.contains("no longer authorized"), "{told}");
    assert!(folder.path().join("ops").exists() && !folder.path().join("ran").exists());
}

#[test]
fn a_removed_key_does_not_run_its_waiting_calls() {
    let folder = folder(&with_alice("alice-key"));
    let serving = Serving::start(folder.path());
    let body = json!({ "jsonrpc": "2.0", "id": "1", "method": "Shell_wait", "params": {} }).to_string();
    let call = |key: &str| {
        let mut call = serving.connect();
        call.write_all(&request("POST /opentool/call", key, body.as_bytes())).expect("sent");
        call
    };
    let mut running = call(OPS);
    until("the tool to start", || folder.path().join("started").exists().then_some(()));
    let mut waiting = call(ALICE);
    until("the call to wait", || {
        serving
            .get("/metrics", OPS)
            .1
            .lines()
            .any(|line| line == "toolmux_calls_waiting{tool=\"Shell.wait\"} 1")
            .then_some(())
    });
    std::fs::remove_file(folder.path().join("started")).expect("it started");
    write(folder.path(), TOOLS);
    until_status(&serving, ALICE, 401);
    touch(folder.path(), "go");
    let mut answers = [String::new(), String::new()];
    running.read_to_string(&mut answers[0]).expect("an answer");
    waiting.read_to_string(&mut answers[1]).expect("an answer");
    assert!(answers[0].contains("done") && answers[1].contains("no longer authorized"), "{answers:?}");
    assert!(!folder.path().join("started").exists(), "the tool ran again");
}
