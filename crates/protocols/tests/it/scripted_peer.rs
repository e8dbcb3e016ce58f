//! Servers of every protocol over HTTP that answer lists and greetings as they should, and calls as they are told to;
//! they count how often the tool ran.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How much of a call is read before the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Read {
    Nothing,
    HalfTheHead,
    HalfTheBody,
    Whole,
}

/// What becomes of a call.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) read: Read,
    pub(crate) runs: bool,
    /// What is written before the connection is closed, with [`ID`] for the id of the request.
    pub(crate) answer: String,
    /// What is told on the stream, by a server that has one.
    pub(crate) event: Option<&'static str>,
}

impl Script {
    /// Reads the whole call, runs the tool and writes this.
    pub(crate) fn runs(answer: impl Into<String>) -> Self {
        Script { read: Read::Whole, runs: true, answer: answer.into(), event: None }
    }
}

/// A protocol, as its servers speak it.
#[derive(Clone, Copy)]
pub(crate) struct Dialect {
    pub(crate) kind: &'static str,
    /// Below the base of the server.
    pub(crate) path: &'static str,
    pub(crate) tool: &'static str,
    /// How calls are known among requests.
    pub(crate) calls: &'static str,
    /// The body of a good answer to a call.
    pub(crate) good: &'static str,
    /// Answers whatever is not a call.
    pub(crate) other: fn(&ReceivedRequest) -> String,
}

/// A request as it came.
pub(crate) struct ReceivedRequest {
    pub(crate) text: String,
    body: Value,
}

impl ReceivedRequest {
    pub(crate) fn says(&self, part: &str) -> bool {
        self.text.contains(part)
    }

    fn fill(&self, answer: &str) -> String {
        answer.replace(ID, &format!("{:<1$}", self.body["id"].to_string(), ID.len()))
    }

    /// An answer of JSON-RPC to it.
    pub(crate) fn rpc(&self, result: &Value) -> String {
        json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result }).to_string()
    }
}

/// An answer with a length, after which the connection closes.
pub(crate) fn http(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// Stands for the id of a request, which is filled up to the same length.
pub(crate) const ID: &str = "IDENTITY";

pub(crate) const JSON: &str = "content-type: application/json\r\n";
pub(crate) const EVENTS: &str = "content-type: text/event-stream\r\n";
pub(crate) const HTML: &str = "content-type: text/html\r\n";

#[derive(Default)]
struct State {
    script: Mutex<Option<Script>>,
    ran: AtomicUsize,
    /// Where a server of 2024-11-05 tells its answers.
    stream: Mutex<Option<mpsc::UnboundedSender<String>>>,
}

/// A server that lives as long as this.
pub(crate) struct Peer {
    pub(crate) base: String,
    state: Arc<State>,
    serving: JoinHandle<()>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Peer {
    pub(crate) async fn start(dialect: Dialect) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("bound"));
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        let serving = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(serve(stream, dialect, Arc::clone(&shared)));
            }
        });
        Peer { base, state, serving }
    }

    /// What becomes of calls from now on.
    pub(crate) fn follow(&self, script: Script) {
        *self.state.script.lock().expect("not poisoned") = Some(script);
        self.state.ran.store(0, Ordering::SeqCst);
    }

    /// Goes away: nobody listens there any more.
    pub(crate) async fn leave(&mut self) {
        self.serving.abort();
        (&mut self.serving).await.ok();
    }

    pub(crate) fn ran(&self) -> usize {
        self.state.ran.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, dialect: Dialect, state: Arc<State>) {
    let script = state.script.lock().expect("not poisoned").clone();
    let read = script.as_ref().map_or(Read::Whole, |script| script.read);
    let Some(asked) = read_request(&mut stream, read).await else { return };
    if asked.says("GET /sse") {
        return stream_events(stream, &state).await;
    }
    let answer = match script.filter(|_| asked.says(dialect.calls)) {
        Some(script) => {
            if script.runs {
                state.ran.fetch_add(1, Ordering::SeqCst);
            }
            tell(&state, script.event, &asked);
            asked.fill(&script.answer)
        }
        None => (dialect.other)(&asked),
    };
    if asked.says("POST /messages") && !asked.says(dialect.calls) {
        tell(&state, Some(&answer), &asked);
        stream.write_all(http(202, "", "").as_bytes()).await.ok();
    } else {
        stream.write_all(answer.as_bytes()).await.ok();
    }
    stream.shutdown().await.ok();
}

fn tell(state: &State, event: Option<&str>, asked: &ReceivedRequest) {
    let stream = state.stream.lock().expect("not poisoned");
    if let (Some(event), Some(stream)) = (event, &*stream) {
        stream.send(asked.fill(event)).ok();
    }
}

async fn stream_events(mut stream: TcpStream, state: &State) {
    let (sender, mut events) = mpsc::unbounded_channel();
    *state.stream.lock().expect("not poisoned") = Some(sender);
    let head = format!("HTTP/1.1 200 OK\r\n{EVENTS}\r\nevent: endpoint\ndata: /messages\n\n");
    stream.write_all(head.as_bytes()).await.ok();
    while let Some(event) = events.recv().await {
        stream.write_all(format!("data: {event}\n\n").as_bytes()).await.ok();
    }
}

/// A request, or none when the connection is to be closed before it is whole.
async fn read_request(stream: &mut TcpStream, read: Read) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    if read == Read::Nothing {
        return None;
    }
    loop {
        bytes.push(stream.read_u8().await.ok()?);
        if read == Read::HalfTheHead && bytes.len() == 40 {
            return None;
        }
        let Some(head) = bytes.windows(4).position(|end| end == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let length = text.to_ascii_lowercase();
        let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let length: usize = length.unwrap_or(0);
        let here = bytes.len() - head - 4;
        if read == Read::HalfTheBody && here == length / 2 {
            return None;
        }
        if here == length {
            let body = serde_json::from_slice(&bytes[head + 4..]).unwrap_or_default();
            return Some(ReceivedRequest { text, body });
        }
    }
}
