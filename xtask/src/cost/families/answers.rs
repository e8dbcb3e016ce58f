//! What an upstream answers to a call: bodies, streams of events, challenges. Sizes count bytes.

use crate::cost::{Case, Input};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "answer-blocks",
        about: "many blocks of content",
        smallest: 2_000,
        input: Input::Answer(blocks),
    },
    Case {
        name: "answer-event",
        about: "one event of one long line",
        smallest: 128 << 10,
        input: Input::Answer(event),
    },
    Case {
        name: "answer-lines",
        about: "one event of many lines",
        smallest: 16 << 10,
        input: Input::Answer(lines),
    },
    Case {
        name: "answer-events",
        about: "many events before the answer",
        smallest: 1_000,
        input: Input::Answer(events),
    },
    Case {
        name: "answer-challenge",
        about: "a long WWW-Authenticate",
        smallest: 4 << 10,
        input: Input::Answer(challenge),
    },
];

fn result(id: &str, content: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{content}]}}}}")
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}

fn stream(body: &str) -> Vec<u8> {
    answer("200 OK", "content-type: text/event-stream", body)
}

fn blocks(n: usize, id: &str) -> Vec<u8> {
    let content = vec!["{\"type\":\"text\",\"text\":\"a word\"}"; n].join(",");
    answer("200 OK", "content-type: application/json", &result(id, &content))
}

fn event(n: usize, id: &str) -> Vec<u8> {
    let block = format!("{{\"type\":\"text\",\"text\":\"{}\"}}", "a".repeat(n));
    stream(&format!("data: {}\n\n", result(id, &block)))
}

fn lines(n: usize, _: &str) -> Vec<u8> {
    stream(&format!("{}\n", "data: \r\n".repeat(n)))
}

fn events(n: usize, id: &str) -> Vec<u8> {
    let note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n";
    stream(&format!("{}data: {}\n\n", note.repeat(n), result(id, "")))
}

fn challenge(n: usize, _: &str) -> Vec<u8> {
    let header = format!("www-authenticate: Bearer {}", "a=\"b\\\"\", Basic ".repeat(n / 16));
    answer("401 Unauthorized", &header, "")
}
