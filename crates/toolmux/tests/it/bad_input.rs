//! Bad input gets a clear answer, and the process goes on.

use serde_json::json;

use crate::process::{ECHO, Serving, folder, request};

fn check(body: &[u8], status: u16, words: &str) {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    let (answered, answer) = serving.post("/opentool/call", "", body);
    assert_eq!(answered, status, "{answer}");
    assert!(answer.contains(words), "{answer}");
    assert!(serving.call("Shell_echo", &json!({ "text": "alive" })).contains("alive"));
}

#[test]
fn a_body_of_20_megabytes_is_refused() {
    check(&vec![b' '; 20 << 20], 400, "larger than");
}

#[test]
fn a_body_without_length_is_bounded_too() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    let head = b"POST /opentool/call HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = [b"100000\r\n".as_slice(), &vec![b' '; 0x10_0000], b"\r\n"].concat();
    let answer = serving.exchange(&[head.as_slice(), &chunk.repeat(20), b"0\r\n\r\n"].concat());
    assert!(answer.is_empty() || answer.contains("larger than"), "{answer}");
    assert!(serving.call("Shell_echo", &json!({ "text": "alive" })).contains("alive"));
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","method":"Shell_echo","id":"1","params":{{"text":{}}}}}"#,
        "[".repeat(100_000)
    );
    check(deep.as_bytes(), 400, "not a JSON-RPC request");
}

#[test]
fn duplicate_keys_are_refused() {
    check(
        br#"{"jsonrpc":"2.0","method":"Shell_echo","id":"1","params":{"text":"a","text":"b"}}"#,
        200,
        "duplicate key `text`",
    );
    check(br#"{"method":"Shell_echo","method":"x","id":"1"}"#, 400, "duplicate field");
}

#[test]
fn wrong_types_name_the_parameter() {
    check(
        br#"{"method":"Shell_echo","id":"1","params":{"text":7}}"#,
        200,
        "`text` must be a string, got integer 7",
    );
    check(br#"{"method":"Shell_echo","id":"1","params":[1]}"#, 200, "`params` must be an object, got array");
}

#[test]
fn nul_bytes_and_broken_text_are_refused() {
    check(b"\0\0\0", 400, "not a JSON-RPC request");
    check(b"{\"method\":\"\xff\xfe\",\"id\":1}", 400, "not a JSON-RPC request");
    check(
        br#"{"method":"Shell_echo","id":"1","params":{"text":"a\u0000b"}}"#,
        200,
        "cannot be a command-line argument",
    );
}

#[test]
fn garbage_instead_of_http_costs_one_connection() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    for garbage in [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b"GET\r\n\r\n", &[0xff; 4096]] {
        serving.exchange(&[garbage, b"\r\n\r\n"].concat());
    }
    let half = serving.connect();
    assert!(serving.call("Shell_echo", &json!({ "text": "alive" })).contains("alive"));
    drop(half);
}

#[test]
fn a_page_elsewhere_cannot_reach_us() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    let (status, answer) = serving.get("/metrics", "origin: https://evil.example\r\n");
    assert_eq!(status, 403);
    assert!(answer.contains("add it to `origins`"), "{answer}");
    let evil = String::from_utf8(request("GET /metrics", "", b""))
        .expect("text")
        .replace("localhost", "evil.example");
    assert!(serving.exchange(evil.as_bytes()).contains("add it to `hosts`"));
}

#[test]
fn every_refusal_shows_the_version_of_oxp() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    for asked in
        ["POST /health", "POST /openapi.json", "GET /nowhere", "GET /sets/none/tools", "PUT /opentool/call"]
    {
        let answer = serving.exchange(&request(asked, "", b"")).to_ascii_lowercase();
        assert!(answer.starts_with("http/1.1 4") && answer.contains("oxp-version: 1.0"), "{asked}: {answer}");
    }
}

#[test]
fn what_cannot_be_read_is_told_in_words_of_json() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    let params = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}"#;
    for (path, body) in [("/opentool/call", "5"), ("/tools/call", "\"x\""), ("/mcp", params)] {
        let (_, told) = serving.post(path, "content-type: application/json\r\n", body.as_bytes());
        assert!(told.contains("expected an object"), "{path} {body}: {told}");
        assert!(!told.contains("struct") && !told.contains("enum"), "{path} {body}: {told}");
    }
}
