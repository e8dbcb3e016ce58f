//! The columns of the answer grid: how each protocol asks, and what of its answers is worth comparing. Whatever differs
//! from call to call (ids, durations, the version of this crate) is taken out.

use std::fmt;

use http::{HeaderMap, Method};
use serde_json::{Value, json};

use crate::grid::{Ask, Row};
use crate::mcp_client::{MODERN, modern_as, rpc};
use crate::opentool::send;
use crate::oxp::Server;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Protocol {
    Oxp,
    OpenTool,
    OpenToolStream,
    Ats,
    Mcp2025,
    Mcp2026,
    Rest,
    Model,
}

impl Protocol {
    pub(crate) const EVERY: [Protocol; 8] = [
        Protocol::Oxp,
        Protocol::OpenTool,
        Protocol::OpenToolStream,
        Protocol::Ats,
        Protocol::Mcp2025,
        Protocol::Mcp2026,
        Protocol::Rest,
        Protocol::Model,
    ];

    fn name(self) -> &'static str {
        match self {
            Protocol::Oxp => "OXP",
            Protocol::OpenTool => "OpenTool",
            Protocol::OpenToolStream => "OpenTool stream",
            Protocol::Ats => "ATS",
            Protocol::Mcp2025 => "MCP 2025",
            Protocol::Mcp2026 => "MCP 2026",
            Protocol::Rest => "REST",
            Protocol::Model => "model",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.pad(self.name())
    }
}

/// A request as it goes over the wire.
struct Wire {
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// One cell: the answer of a protocol to what a row asks.
pub(crate) async fn over(server: &Server, protocol: Protocol, row: &Row) -> String {
    let wire = match &row.ask {
        Ask::NotJson => wire(protocol, "{"),
        Ask::NotACall => wire(protocol, not_a_call(protocol)),
        Ask::Call(tool, arguments) => call(protocol, tool, arguments),
        Ask::Reused(tool, arguments) => {
            let id = format!("used-over-{}", protocol.name().replace(' ', "-"));
            let under_id = |mut wire: Wire| {
                wire.headers.push(("idempotency-key".to_owned(), id.clone()));
                wire
            };
            let mut first = Vec::new();
            for _ in 0..2 {
                let (status, _, body) =
                    answer(server, under_id(call(protocol, tool, &json!({}))), row.key).await;
                first.push((status, essence(server, protocol, row, &body).await));
            }
            assert_eq!(first[0], first[1], "{protocol}: the same again gets what is recorded");
            under_id(call(protocol, tool, arguments))
        }
    };
    let (status, headers, body) = answer(server, wire, row.key).await;
    let told = ["retry-after", "www-authenticate"]
        .into_iter()
        .filter_map(|name| Some(format!("{name}: {} ", headers.get(name)?.to_str().expect("a text"))));
    format!("{status} {}{}", told.collect::<String>(), essence(server, protocol, row, &body).await)
}

async fn answer(server: &Server, mut wire: Wire, key: Option<&str>) -> (u16, HeaderMap, String) {
    wire.headers.extend(key.map(|key| ("authorization".to_owned(), format!("Bearer {key}"))));
    let headers: Vec<(&str, &str)> = wire.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let answer = send(&server.base, Method::POST, &wire.path, &headers, &wire.body).await;
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let body = answer.body().await.expect("a whole body").to_vec();
    (status, headers, String::from_utf8(body).expect("text"))
}

/// JSON that is no call, with an id where the protocol has one. The body of ATS and REST is the arguments alone.
fn not_a_call(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Oxp | Protocol::OpenTool | Protocol::OpenToolStream | Protocol::Model => r#"{"id":"1"}"#,
        Protocol::Ats | Protocol::Rest => "[1]",
        Protocol::Mcp2025 | Protocol::Mcp2026 => r#"{"jsonrpc":"2.0","id":1}"#,
    }
}

/// A body at the place where a protocol takes calls.
fn wire(protocol: Protocol, body: impl Into<String>) -> Wire {
    let path = match protocol {
        Protocol::Oxp => "/tools/call",
        Protocol::OpenTool => "/opentool/call",
        Protocol::OpenToolStream => "/opentool/streamCall",
        Protocol::Ats => "/call_tool/Kit_Add",
        Protocol::Rest => "/rest/Kit_Add",
        Protocol::Mcp2025 | Protocol::Mcp2026 => "/mcp",
        Protocol::Model => "/model/anthropic/run",
    };
    let revision = match protocol {
        Protocol::Mcp2025 => Some("2025-11-25"),
        Protocol::Mcp2026 => Some(MODERN),
        _ => None,
    };
    let accept = ("accept", "application/json, text/event-stream");
    let of_mcp = revision.into_iter().flat_map(|revision| [accept, ("mcp-protocol-version", revision)]);
    let headers = of_mcp.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Wire { path: path.to_owned(), headers, body: body.into() }
}

/// A call of `Toolkit.Tool` in a protocol's words.
fn call(protocol: Protocol, tool: &str, arguments: &Value) -> Wire {
    let flat = tool.replacen('.', "_", 1);
    match protocol {
        Protocol::Oxp => wire(protocol, oxp_call(tool, arguments).to_string()),
        Protocol::OpenTool | Protocol::OpenToolStream => {
            let body = json!({ "jsonrpc": "2.0", "method": flat, "params": arguments, "id": "c1" });
            wire(protocol, body.to_string())
        }
        Protocol::Ats => Wire { path: format!("/call_tool/{flat}"), ..wire(protocol, arguments.to_string()) },
        Protocol::Rest => Wire { path: format!("/rest/{flat}"), ..wire(protocol, arguments.to_string()) },
        Protocol::Mcp2025 => {
            wire(protocol, rpc(7, "tools/call", json!({ "name": flat, "arguments": arguments })))
        }
        Protocol::Mcp2026 => {
            let can = json!({ "elicitation": { "form": {}, "url": {} } });
            let params = json!({ "name": flat, "arguments": arguments });
            let (headers, body) = modern_as("tools/call", params, can);
            let accept = ("accept".to_owned(), "application/json, text/event-stream".to_owned());
            Wire { headers: headers.into_iter().chain([accept]).collect(), ..wire(protocol, body) }
        }
        Protocol::Model => {
            let asked = json!({ "type": "tool_use", "id": "c1", "name": flat, "input": arguments });
            wire(protocol, json!({ "content": [asked] }).to_string())
        }
    }
}

/// The bare body of a call over OXP.
pub(crate) fn oxp_call(tool: &str, arguments: &Value) -> Value {
    json!({ "tool_id": tool, "input": arguments })
}

/// A body without what differs from call to call, and with what comes after it: the end of a task.
async fn essence(server: &Server, protocol: Protocol, row: &Row, body: &str) -> String {
    let read = || serde_json::from_str::<Value>(body).expect("JSON");
    match protocol {
        Protocol::OpenTool | Protocol::Rest => body.to_owned(),
        Protocol::OpenToolStream => body.replace("\n\n", "\n").trim_end().to_owned(),
        Protocol::Oxp => {
            let mut read = read();
            for volatile in ["call_id", "duration"] {
                read.as_object_mut().expect("an object").shift_remove(volatile);
            }
            read.to_string()
        }
        Protocol::Ats => match read()["task_id"].as_str() {
            Some(task) if waits(row) => format!("task that waits {}", cancelled(server, task, row).await),
            Some(task) => format!("task {}", ended(server, task, row).await),
            None => body.to_owned(),
        },
        Protocol::Mcp2025 | Protocol::Mcp2026 => {
            body.replace(concat!("\"version\":\"", env!("CARGO_PKG_VERSION"), "\""), "\"version\":\"x.y.z\"")
        }
        Protocol::Model => match read()["messages"].as_array() {
            Some(messages) => messages[1..].iter().map(Value::to_string).collect(),
            None => body.to_owned(),
        },
    }
}

/// Tools that a task waits for, because their source says when it is there again.
const WAITED_FOR: [&str; 2] = ["Kit.Busy", "Kit.Closed"];

fn waits(row: &Row) -> bool {
    matches!(row.ask, Ask::Call(tool, _) if WAITED_FOR.contains(&tool))
}

/// What a task comes to.
async fn ended(server: &Server, task: &str, row: &Row) -> Value {
    look(server, &format!("/callback/{task}"), row).await
}

/// What becomes of a task that is cancelled, which one that has ended cannot be.
async fn cancelled(server: &Server, task: &str, row: &Row) -> Value {
    look(server, &format!("/cancel/{task}"), row).await
}

async fn look(server: &Server, path: &str, row: &Row) -> Value {
    let bearer = format!("Bearer {}", row.key.unwrap_or_default());
    let headers = [("accept", "application/json"), ("authorization", bearer.as_str())];
    server.ask(Method::GET, path, &headers, "").await.2
}
