//! The other ways in: a request of each protocol, batches, addresses, headers. Sizes count values, bytes or headers.

use serde_json::json;

use crate::cost::server::post;
use crate::cost::{Case, Input};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "opentool-call",
        about: "faults over OpenTool",
        smallest: 4_000,
        input: Input::Request(opentool),
    },
    Case { name: "ats-call", about: "faults over ATS", smallest: 4_000, input: Input::Request(ats) },
    Case { name: "mcp-call", about: "faults over MCP", smallest: 4_000, input: Input::Request(mcp) },
    Case {
        name: "mcp-batch",
        about: "many messages in one body",
        smallest: 500,
        input: Input::Request(batch),
    },
    Case {
        name: "mcp-not-json",
        about: "an unfinished body",
        smallest: 64 << 10,
        input: Input::Request(unfinished),
    },
    Case {
        name: "mcp-read",
        about: "a long address against templates",
        smallest: 1_000,
        input: Input::Request(read),
    },
    Case {
        name: "mcp-complete",
        about: "the same in a completion",
        smallest: 1_000,
        input: Input::Request(complete),
    },
    Case {
        name: "model-run",
        about: "an answer of a model with many blocks",
        smallest: 2_000,
        input: Input::Request(model),
    },
    Case { name: "headers", about: "many headers", smallest: 10, input: Input::Request(headers) },
    Case { name: "path", about: "a long path", smallest: 4 << 10, input: Input::Request(path) },
];

fn list(n: usize) -> String {
    format!("{{\"list\":[{}\"\"]}}", "\"\",".repeat(n))
}

fn rpc(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"{method}\",\"params\":{params}}}")
}

fn opentool(n: usize) -> Vec<u8> {
    post("/opentool/call", &rpc("Up_integers", &list(n)))
}

fn ats(n: usize) -> Vec<u8> {
    post("/call_tool/Up_integers", &list(n))
}

fn mcp(n: usize) -> Vec<u8> {
    post("/mcp", &rpc("tools/call", &format!("{{\"name\":\"Up_integers\",\"arguments\":{}}}", list(n))))
}

fn batch(n: usize) -> Vec<u8> {
    post("/mcp", &format!("[{}]", vec![rpc("ping", "{}"); n].join(",")))
}

fn unfinished(n: usize) -> Vec<u8> {
    post("/mcp", &"[{\"a\":".repeat(n / 6))
}

fn address(n: usize) -> String {
    format!("item://{}", "xy/".repeat(n / 3))
}

fn read(n: usize) -> Vec<u8> {
    post("/mcp", &rpc("resources/read", &json!({ "uri": address(n) }).to_string()))
}

fn complete(n: usize) -> Vec<u8> {
    let reference = json!({ "type": "ref/resource", "uri": address(n) });
    let params = json!({ "ref": reference, "argument": { "name": "id", "value": "1" } });
    post("/mcp", &rpc("completion/complete", &params.to_string()))
}

fn model(n: usize) -> Vec<u8> {
    let block = json!({ "type": "text", "text": "a word" });
    post("/model/anthropic/run", &json!({ "role": "assistant", "content": vec![block; n] }).to_string())
}

fn headers(n: usize) -> Vec<u8> {
    let headers: Vec<String> = (0..n).map(|at| format!("x-header-{at}: value\r\n")).collect();
    let headers = headers.concat();
    format!("GET /tools HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n").into_bytes()
}

fn path(n: usize) -> Vec<u8> {
    crate::cost::server::get(&format!("/sets/{}", "a%20/".repeat(n / 5)))
}
