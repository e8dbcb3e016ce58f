//! A source that is slow to start, seen from outside: probes, lists and calls, and what is kept for the next start.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use serde_json::{Value, json};

use crate::process::{ECHO, Serving, folder, stderr, toolmux, until};

/// An MCP server that answers nothing before the file `go` is there.
const LATE: &str = r#"
import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    while not os.path.exists("go"):
        time.sleep(0.01)
    if "id" not in asked:
        continue
    method = asked["method"]
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "late", "version": "1.0.0"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "greet", "description": "Greets late", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "good evening"}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

fn config(store: &str) -> String {
    format!(
        r#"
store = "{store}"

[limits]
start_wait = "2m"

[sources.Late]
kind = "mcp"
command = ["python3", "late.py"]
"#
    )
}

fn late(store: &str) -> tempfile::TempDir {
    let folder = folder(&config(store));
    std::fs::write(folder.path().join("late.py"), LATE).expect("written");
    folder
}

fn go(folder: &Path) {
    std::fs::write(folder.join("go"), "").expect("written");
}

#[test]
fn lists_and_calls_wait_for_a_source_that_starts_slowly() {
    let folder = late("memory");
    let serving = Serving::listening(folder.path());
    assert_eq!(serving.get("/health", ""), (503, r#"{"status":"unready"}"#.to_owned()));
    assert_eq!(serving.get("/health?live", "").0, 200);
    std::thread::scope(|scope| {
        let listed = scope.spawn(|| serving.get("/tools", ""));
        let called = scope.spawn(|| serving.call("Late_greet", &json!({})));
        assert_eq!(serving.get("/health", "").0, 503);
        go(folder.path());
        assert!(listed.join().expect("answered").1.contains("Greets late"));
        assert!(called.join().expect("answered").contains("good evening"));
    });
    assert_eq!(serving.get("/health", "").0, 200);
}

#[test]
fn tools_of_the_last_run_are_served_at_once_and_calls_wait() {
    let folder = late("sqlite:records.db");
    go(folder.path());
    let mut first = Serving::start(folder.path());
    assert!(first.call("Late_greet", &json!({})).contains("good evening"));
    first.signal("TERM");
    assert_eq!(first.ended(), Some(0));
    std::fs::remove_file(folder.path().join("go")).expect("removed");
    let serving = Serving::listening(folder.path());
    until("the server to be ready", || (serving.get("/health", "").0 == 200).then_some(()));
    assert!(serving.get("/tools", "").1.contains("Greets late"));
    assert!(!folder.path().join("go").exists());
    std::thread::scope(|scope| {
        let called = scope.spawn(|| serving.call("Late_greet", &json!({})));
        assert!(serving.get("/get_tool", "").1.contains("Greets late"));
        go(folder.path());
        assert!(called.join().expect("answered").contains("good evening"));
    });
}

#[test]
fn the_health_command_tells_by_its_exit_code_whether_a_server_is_ready() {
    let folder = late("memory");
    let serving = Serving::listening(folder.path());
    let url = format!("http://{}", serving.address);
    let asked = || toolmux(folder.path(), &["health", "--url", &url]);
    let unready = asked();
    assert_eq!(unready.status.code(), Some(2), "{}", stderr(&unready));
    assert!(stderr(&unready).contains("is not ready"), "{}", stderr(&unready));
    go(folder.path());
    until("the server to be ready", || asked().status.success().then_some(()));
    drop(serving);
    assert_eq!(asked().status.code(), Some(2), "nobody listens");
}

/// One message to the service manager, if there is any yet.
fn notified(manager: &UnixDatagram) -> Option<String> {
    let mut message = [0; 64];
    match manager.recv(&mut message) {
        Ok(count) => Some(String::from_utf8_lossy(&message[..count]).into_owned()),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn systemd_is_told_when_the_server_is_ready_and_when_it_stops() {
    let folder = late("memory");
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("bound");
    manager.set_nonblocking(true).expect("a socket");
    let mut serving =
        Serving::listening_with(folder.path(), "NOTIFY_SOCKET", socket.to_str().expect("plain"));
    assert_eq!(serving.get("/health", "").0, 503);
    assert_eq!(notified(&manager), None);
    go(folder.path());
    assert_eq!(until("a message", || notified(&manager)), "READY=1");
    assert_eq!(serving.get("/health", "").0, 200);
    serving.signal("TERM");
    assert_eq!(until("a message", || notified(&manager)), "STOPPING=1");
    assert_eq!(serving.ended(), Some(0));
    assert_eq!(notified(&manager), None);
}

#[test]
fn a_server_whose_store_is_gone_is_unready_and_live() {
    let folder = folder(&ECHO.replace("store = \"memory\"", "store = \"sqlite:records.db\""));
    let serving = Serving::start(folder.path());
    assert_eq!(serving.get("/health", "").0, 200);
    std::fs::remove_file(folder.path().join("records.db")).expect("removed");
    let (status, body) = serving.get("/health", "");
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((status, &body["status"]), (503, &json!("unready")));
    let store = body["store"].as_str().expect("it names the store");
    assert!(store.contains("record store") && store.contains("restarted"), "{store}");
    assert!(!store.contains("records.db"), "a probe needs no key, so it learns no path: {store}");
    assert_eq!(serving.get("/health?live", ""), (200, r#"{"status":"ok"}"#.to_owned()));
}
