//! A server that an attacker runs, or that keeps something an attacker wants: it remembers every request and answers
//! as a test says. It ends with the test's process.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::http_request::read_request;

/// A request as it came.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    /// The first line and the headers.
    pub(super) head: String,
    pub(super) body: String,
}

impl Heard {
    /// The body as JSON.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The token in `Authorization`.
    pub(super) fn token(&self) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = headers.find(|(name, _)| name.eq_ignore_ascii_case("authorization"))?;
        value.trim().strip_prefix("Bearer ")
    }
}

/// How a request is answered: a status, more headers, a body.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: &'static str,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn good(body: Value) -> Self {
        Answer { status: 200, headers: "", body }
    }
}

pub(super) struct Upstream {
    pub(super) base: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Upstream {
    pub(super) fn start(answer: fn(&Heard) -> Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let hearing = Arc::clone(&hearing);
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream);
                    while let Some(request) = read(&mut reader) {
                        let Answer { status, headers, body } = answer(&request);
                        hearing.lock().expect("no panic").push(request);
                        let body = body.to_string();
                        let head = format!(
                            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {}",
                            body.len()
                        );
                        reader.get_mut().write_all(format!("{head}\r\n\r\n{body}").as_bytes()).ok();
                    }
                });
            }
        });
        Upstream { base, heard }
    }

    /// Every request so far.
    pub(super) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("no panic").clone()
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Heard> {
    read_request(reader).map(|(head, body)| Heard { head, body })
}
