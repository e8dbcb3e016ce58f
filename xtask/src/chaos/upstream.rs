//! A scripted MCP server over HTTP inside xtask: it counts runs by id and survives whatever happens to toolmux.
//! The last part of the address says how it answers calls: `/mcp/hang` never does. Bytes are written by hand, because
//! half an answer is what no HTTP library will write.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::ledger::Runs;
use super::misbehaviour::{Misbehaviour, misbehave};
use super::scripted::{self, Reaction, TOOLS};

/// What a well-behaved answer takes.
#[derive(Clone, Copy)]
pub(crate) struct Script {
    pub(crate) list_after: Duration,
    pub(crate) call_takes: Duration,
    pub(crate) tools: usize,
}

impl Default for Script {
    fn default() -> Self {
        Self { list_after: Duration::ZERO, call_takes: Duration::ZERO, tools: TOOLS.len() }
    }
}

pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    _server: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    script: Script,
    runs: Mutex<Runs>,
    calls: AtomicU64,
    /// It answers as it should, whatever the address says.
    recovered: AtomicBool,
}

impl Upstream {
    pub(crate) async fn start(script: Script) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { script, ..Shared::default() });
        let mut server = JoinSet::new();
        server.spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, _server: server })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// As the source `Up` of a configuration.
    pub(crate) fn source(&self) -> String {
        format!("[sources.Up]\nkind = \"mcp\"\nurl = \"{}\"\n", self.url())
    }

    pub(crate) fn runs(&self) -> Runs {
        self.shared.runs.lock().expect("no holder of this lock panics").clone()
    }

    /// Ends every misbehaviour.
    pub(crate) fn recover(&self) {
        self.shared.recovered.store(true, Ordering::Relaxed);
    }

    /// How many calls arrived, whether or not their tool ran.
    pub(crate) fn calls(&self) -> u64 {
        self.shared.calls.load(Ordering::Relaxed)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(connection(stream, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(mut stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let mut received = Vec::new();
    while let Some((head, body)) = request(&mut stream, &mut received).await {
        if respond(&mut stream, &head, &body, &shared).await.is_none() {
            return;
        }
    }
}

/// `None` ends the connection.
async fn respond(stream: &mut TcpStream, head: &str, body: &[u8], shared: &Shared) -> Option<()> {
    let path = head.split(' ').nth(1)?;
    if !head.starts_with("POST") {
        return write(stream, "405 Method Not Allowed", "").await;
    }
    let message: Value = serde_json::from_slice(body).ok()?;
    match scripted::reaction(&message, shared.script.tools) {
        Reaction::Nothing => write(stream, "202 Accepted", "").await,
        Reaction::Known(result) => {
            sleep(shared.script.list_after).await;
            write(stream, "200 OK", &scripted::answer(&message, &result)).await
        }
        Reaction::Run { id, result } => {
            shared.calls.fetch_add(1, Ordering::Relaxed);
            let named = path.rsplit('/').next().and_then(Misbehaviour::named);
            let misbehaviour = named.filter(|_| !shared.recovered.load(Ordering::Relaxed));
            if misbehaviour.is_none_or(Misbehaviour::runs) {
                *shared.runs.lock().expect("no holder of this lock panics").entry(id).or_default() += 1;
            }
            sleep(shared.script.call_takes).await;
            let good = scripted::answer(&message, &result);
            match misbehaviour {
                Some(misbehaviour) => misbehave(stream, misbehaviour, &good).await,
                None => write(stream, "200 OK", &good).await,
            }
        }
    }
}

/// A whole answer; `None` when the other side is gone.
pub(crate) async fn write(stream: &mut TcpStream, status: &str, body: &str) -> Option<()> {
    let kind = "content-type: application/json";
    let head = format!("HTTP/1.1 {status}\r\n{kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await.ok()
}

/// Head and body of the next request; `None` when the other side is gone.
async fn request(stream: &mut TcpStream, received: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    loop {
        if let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&received[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            let all = end + 4 + length.unwrap_or(0);
            while received.len() < all {
                read(stream, received).await?;
            }
            let body = received[end + 4..all].to_vec();
            received.drain(..all);
            return Some((head, body));
        }
        read(stream, received).await?;
    }
}

async fn read(stream: &mut TcpStream, received: &mut Vec<u8>) -> Option<()> {
    match stream.read_buf(received).await {
        Ok(count) if count > 0 => Some(()),
        _ => None,
    }
}
