//! A conversation with a model that was recorded, in both forms, streamed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::process::{ECHO, Serving, folder, stderr, stdout, toolmux};

/// Answers requests in turn with recorded events; gives the bodies it was sent.
fn replay(answers: Vec<String>) -> (String, mpsc::Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a line");
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                if line.trim().is_empty() {
                    break;
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            sender.send((head, serde_json::from_slice(&body).expect("JSON"))).expect("the test listens");
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).expect("written");
            stream.write_all(answer.as_bytes()).expect("written");
        }
    });
    (format!("http://{address}"), received)
}

fn events(events: &[Value]) -> String {
    let text = |event: &Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(text).collect::<Vec<_>>().concat()
}

fn check(vendor: &str, answers: Vec<String>) -> Vec<(String, Value)> {
    let folder = folder(ECHO);
    let (base, received) = replay(answers);
    let arguments = ["chat", "Say hello", "--model-url", &base, "--model", "m1", "--vendor", vendor];
    let output = toolmux(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "Let me see.\nIt says hello.\n");
    assert!(stderr(&output).contains(r#"[Shell_echo {"text":"hello"}]"#), "{}", stderr(&output));
    received.try_iter().collect()
}

#[test]
fn anthropic_streams_its_blocks() {
    let first = events(&[
        json!({ "type": "message_start", "message": { "role": "assistant", "content": [] } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Let me " } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "see." } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "toolu_1", "name": "Shell_echo", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"text\":" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "\"hello\"}" } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "message_stop" }),
    ]);
    let second = events(&[
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "It says hello." } }),
        json!({ "type": "message_stop" }),
    ]);
    let asked = check("anthropic", vec![first, second]);
    assert!(asked[0].0.starts_with("POST /v1/messages "), "{}", asked[0].0);
    assert!(asked[0].0.contains("anthropic-version: 2023-06-01"));
    let (tools, messages) = (&asked[0].1["tools"], &asked[1].1["messages"]);
    assert_eq!(tools[0]["name"], "Shell_echo");
    assert_eq!(messages[1]["content"][1]["input"], json!({ "text": "hello" }));
    let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": [{ "type": "text", "text": "hello" }] });
    assert_eq!(messages[2], json!({ "role": "user", "content": [result] }));
}

#[test]
fn openai_streams_its_chunks() {
    let chunk =
        |delta: Value| format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }));
    let piece = |id: Value, name: &str, arguments: &str| {
        chunk(
            json!({ "tool_calls": [{ "index": 0, "id": id, "function": { "name": name, "arguments": arguments } }] }),
        )
    };
    let first = [
        chunk(json!({ "role": "assistant", "content": "Let me " })),
        chunk(json!({ "content": "see." })),
        piece(json!("call_1"), "Shell_echo", ""),
        piece(Value::Null, "", "{\"text\":"),
        piece(Value::Null, "", "\"hello\"}"),
        "data: [DONE]\n\n".to_owned(),
    ];
    let second = [chunk(json!({ "content": "It says hello." })), "data: [DONE]\n\n".to_owned()];
    let asked = check("openai", vec![first.concat(), second.concat()]);
    assert!(asked[0].0.starts_with("POST /v1/chat/completions "), "{}", asked[0].0);
    let messages = &asked[1].1["messages"];
    assert_eq!(messages[1]["tool_calls"][0]["function"]["arguments"], "{\"text\":\"hello\"}");
    assert_eq!(messages[2], json!({ "role": "tool", "tool_call_id": "call_1", "content": "hello" }));
}

#[test]
fn tools_of_a_running_server_are_offered_and_the_model_is_told_first() {
    let folder = folder(&format!("{ECHO}\n[keys.ann]\nkey = \"ann-key\"\n"));
    std::fs::write(folder.path().join("key.txt"), "ann-key\n").expect("written");
    let serving = Serving::start(folder.path());
    let url = format!("http://{}", serving.address);
    let chunk =
        |delta: Value| format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }));
    let call = json!([{ "index": 0, "id": "call_1", "function": { "name": "Shell_echo", "arguments": "{\"text\":\"hello\"}" } }]);
    let answers = vec![chunk(json!({ "tool_calls": call })), chunk(json!({ "content": "It says hello." }))];
    let (base, received) = replay(answers);
    let arguments = ["chat", "Say hello", "--model-url", &base, "--model", "m1", "--vendor", "openai"];
    let more = ["--system", "Be brief.", "--url", &url, "--key-file", "key.txt"];
    let output = toolmux(folder.path(), &[&arguments[..], &more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked: Vec<(String, Value)> = received.try_iter().collect();
    let messages = &asked[1].1["messages"];
    assert_eq!(messages[0], json!({ "role": "system", "content": "Be brief." }));
    assert_eq!(messages[3], json!({ "role": "tool", "tool_call_id": "call_1", "content": "hello" }));
    let refused = toolmux(folder.path(), &[&arguments[..], &["--url", &url]].concat());
    assert_eq!(refused.status.code(), Some(2), "without the key");
    assert!(stderr(&refused).contains("no tools were found at"), "{}", stderr(&refused));
}
