//! Bad input gets a clear answer, and the process goes on.

use std::io::{BufRead, BufReader, Read, Write};

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
fn a_client_that_sends_its_whole_body_first_sees_why_it_was_refused() {
    let folder = folder(&format!("{ECHO}[keys.alice]\nkey = \"key-of-alice\"\n"));
    let serving = Serving::start(folder.path());
    let mut connection = serving.connect();
    let head = "POST /rest/Shell_echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3000000\r\n\r\n";
    let asked = [head.as_bytes(), &vec![b' '; 3_000_000]].concat();
    for round in 0..3 {
        connection.write_all(&asked).expect("the whole body is taken");
        let mut head = [0; 12];
        connection.read_exact(&mut head).expect("an answer");
        assert_eq!(&head, b"HTTP/1.1 401", "request {round} of one connection");
        let mut rest = BufReader::new(&connection);
        let (mut line, mut length) = (String::new(), 0);
        while rest.read_line(&mut line).unwrap() > 2 {
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        rest.read_exact(&mut vec![0; length]).unwrap();
    }
}

#[test]
fn a_refused_body_without_end_closes_its_connection() {
    let folder = folder(&format!("{ECHO}[keys.alice]\nkey = \"key-of-alice\"\n"));
    let serving = Serving::start(folder.path());
    let mut connection = serving.connect();
    let head = "POST /rest/Shell_echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000000\r\n\r\n";
    connection.write_all(head.as_bytes()).unwrap();
    let pieces = (0..256).take_while(|_| connection.write_all(&vec![b' '; 1 << 20]).is_ok()).count();
    assert!(pieces < 256, "{pieces} MiB of a refused body were read");
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
