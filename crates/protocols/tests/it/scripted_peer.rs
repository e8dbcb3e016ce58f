//! Servers of every protocol over HTTP that answer lists and greetings as they should, and calls as a script says. They
//! run the tool for every call that they read whole, unless the status which they answer with is one by which the
//! protocol says that a call was not executed; and they count the runs.

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
    /// What is written before the connection is closed, with [`ID`] for the id of the request.
    pub(crate) answer: String,
    /// The data of an event on the stream, by a server that has one.
    pub(crate) event: Option<&'static str>,
    /// What is written on the stream before it is closed.
    pub(crate) cut: Option<&'static str>,
}

impl Script {
    /// Reads the whole call and writes this.
    pub(crate) fn answer(answer: impl Into<String>) -> Self {
        Script { read: Read::Whole, answer: answer.into(), event: None, cut: None }
    }

    /// Whether a server of this protocol runs the tool before it answers so.
    pub(crate) fn runs(&self, dialect: &Dialect) -> bool {
        let status = self.answer.get(9..12).and_then(|status| status.parse().ok());
        // Too many requests (RFC 6585, 4) says the same in every protocol.
        let says_not = |status: u16| status == 429 || dialect.not_executed.contains(&status);
        self.read == Read::Whole && !status.is_some_and(says_not)
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
    /// Statuses by which the specification says that a call was not executed. Written down here a second time, not taken
    /// from the client: a status that only the client takes for one of these is found by the tool's run.
    pub(crate) not_executed: &'static [u16],
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

/// What is written on the stream of a server of 2024-11-05.
enum StreamWrite {
    Event(String),
    /// The last bytes of it.
    Cut(String),
}

#[derive(Default)]
struct State {
    script: Mutex<Option<Script>>,
    ran: AtomicUsize,
    /// Where a server of 2024-11-05 writes its answers.
    stream: Mutex<Option<mpsc::UnboundedSender<StreamWrite>>>,
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
            if script.runs(&dialect) {
                state.ran.fetch_add(1, Ordering::SeqCst);
            }
            stream_write(&state, script.event.map(|event| StreamWrite::Event(asked.fill(event))));
            stream_write(&state, script.cut.map(|text| StreamWrite::Cut(asked.fill(text))));
            asked.fill(&script.answer)
        }
        None => (dialect.other)(&asked),
    };
    if asked.says("POST /messages") && !asked.says(dialect.calls) {
        stream_write(&state, Some(StreamWrite::Event(answer)));
        stream.write_all(http(202, "", "").as_bytes()).await.ok();
    } else {
        stream.write_all(answer.as_bytes()).await.ok();
    }
    stream.shutdown().await.ok();
}

fn stream_write(state: &State, write: Option<StreamWrite>) {
    let stream = state.stream.lock().expect("not poisoned");
    if let (Some(write), Some(stream)) = (write, &*stream) {
        stream.send(write).ok();
    }
}

async fn stream_events(mut stream: TcpStream, state: &State) {
    let (sender, mut events) = mpsc::unbounded_channel();
    *state.stream.lock().expect("not poisoned") = Some(sender);
    let head = format!("HTTP/1.1 200 OK\r\n{EVENTS}\r\nevent: endpoint\ndata: /messages\n\n");
    stream.write_all(head.as_bytes()).await.ok();
    while let Some(write) = events.recv().await {
        match write {
            StreamWrite::Event(event) => {
                stream.write_all(format!("data: {event}\n\n").as_bytes()).await.ok();
            }
            StreamWrite::Cut(text) => {
                stream.write_all(text.as_bytes()).await.ok();
                return;
            }
        }
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
