//! A hostile MCP server inside this process: its lists and answers are as large as a case says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

/// What it lists and answers.
#[derive(Clone, Default)]
pub(super) struct Script {
    pub(super) tools: Vec<Value>,
    pub(super) templates: Vec<Value>,
    /// How calls are answered, and at which size; absent means a short text.
    pub(super) called: Option<(Answer, usize)>,
}

/// The whole answer to a call, head and body, of a size, for the id that was asked with.
pub(super) type Answer = fn(usize, &str) -> Vec<u8>;

pub(super) struct Upstream {
    pub(super) base: String,
    script: Arc<Mutex<Script>>,
}

impl Upstream {
    /// Listens until this process ends.
    pub(super) fn start(script: Script) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let base = format!("http://{}/mcp", listener.local_addr()?);
        let script = Arc::new(Mutex::new(script));
        let shared = Arc::clone(&script);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = Arc::clone(&shared);
                thread::spawn(move || serve(BufReader::new(stream), &script));
            }
        });
        Ok(Self { base, script })
    }

    /// Answers calls so from now on.
    pub(super) fn answer_calls(&self, answer: Answer, size: usize) {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).called = Some((answer, size));
    }
}

fn serve(mut reader: BufReader<TcpStream>, script: &Mutex<Script>) -> Option<()> {
    loop {
        let asked: Value = serde_json::from_slice(&request(&mut reader)?).unwrap_or_default();
        let script = script.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let (Some("tools/call"), Some((answer, size))) = (asked["method"].as_str(), script.called) {
            reader.get_mut().write_all(&answer(size, &asked["id"].to_string())).ok()?;
            continue;
        }
        let result = match asked["method"].as_str().unwrap_or_default() {
            "server/discover" => {
                let capabilities = json!({ "tools": {}, "resources": {}, "completions": {} });
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities })
            }
            "tools/list" => json!({ "tools": script.tools }),
            "resources/list" => json!({ "resources": [] }),
            "resources/templates/list" => json!({ "resourceTemplates": script.templates }),
            _ => json!({ "content": [{ "type": "text", "text": "done" }] }),
        };
        let body = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        reader.get_mut().write_all(head.as_bytes()).ok()?;
        reader.get_mut().write_all(body.as_bytes()).ok()?;
    }
}

/// The body of the next request.
fn request(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(said) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = said.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}
