//! One HTTP/1.1 request as bytes and the check of its answer: all the HTTP that a benchmark needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail};

/// An answer that takes longer is a server that hangs.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A request, and the piece that the body of a good answer contains.
pub(crate) struct Exchange {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// All but `Content-Length`.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// All of it, as it is sent.
    pub(crate) request: Vec<u8>,
    expect: &'static [u8],
}

/// Where the answer at the start of a buffer ends, and whether it is a good one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) length: usize,
    pub(crate) good: bool,
}

impl Exchange {
    pub(crate) fn get(path: &str, expect: &'static str) -> Self {
        Self::new("GET", path, &[("Accept", "application/json")], "").expecting(expect)
    }

    pub(crate) fn post(path: &str, body: &str, expect: &'static str) -> Self {
        Self::post_with(path, &[("Accept", "application/json")], body, expect)
    }

    /// The same with headers of its own.
    pub(crate) fn post_with(path: &str, headers: &[(&str, &str)], body: &str, expect: &'static str) -> Self {
        let headers = [headers, &[("Content-Type", "application/json")]].concat();
        Self::new("POST", path, &headers, body).expecting(expect)
    }

    fn new(method: &'static str, path: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let headers: Vec<(String, String)> = [("Host", "127.0.0.1")]
            .iter()
            .chain(headers)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let lines: String = headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let request = format!("{method} {path} HTTP/1.1\r\n{lines}{length}\r\n{body}").into_bytes();
        Self { method, path: path.to_owned(), headers, body: body.to_owned(), request, expect: b"" }
    }

    fn expecting(self, expect: &'static str) -> Self {
        Self { expect: expect.as_bytes(), ..self }
    }

    /// `None` while the answer is not complete.
    pub(crate) fn read(&self, received: &[u8]) -> anyhow::Result<Option<Answer>> {
        let Some(head) = find(received, b"\r\n\r\n") else { return Ok(None) };
        let length = head + 4 + content_length(&received[..head])?;
        let Some(body) = received.get(head + 4..length) else { return Ok(None) };
        let good = received.starts_with(b"HTTP/1.1 200") && find(body, self.expect).is_some();
        Ok(Some(Answer { length, good }))
    }

    /// Asks once over a connection of its own.
    pub(crate) fn ask(&self, address: SocketAddr) -> anyhow::Result<()> {
        let mut stream = TcpStream::connect_timeout(&address, ANSWER_TIMEOUT)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.write_all(&self.request)?;
        let mut received = Vec::new();
        let mut part = [0; 4096];
        loop {
            let count = stream.read(&mut part)?;
            if count == 0 {
                bail!("the connection was closed before the answer was complete");
            }
            received.extend_from_slice(&part[..count]);
            match self.read(&received)? {
                Some(answer) if answer.good => return Ok(()),
                Some(_) => bail!("not the expected answer: {}", String::from_utf8_lossy(&received)),
                None => {}
            }
        }
    }
}

fn content_length(head: &[u8]) -> anyhow::Result<usize> {
    let name = b"content-length:";
    let lines = head.split(|byte| *byte == b'\n');
    let mut values = lines.filter_map(|line| {
        let (start, value) = line.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
    });
    let value = values.next().context("an answer without `Content-Length`")?;
    str::from_utf8(value)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .context("a `Content-Length` that is no number")
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    text.windows(piece.len()).position(|window| window == piece)
}

#[cfg(test)]
mod tests {
    use super::{Answer, Exchange};

    fn check(received: &str, expect: Result<Option<Answer>, &str>) {
        let exchange = Exchange::post("/opentool/call", "{}", ":3");
        let found = exchange.read(received.as_bytes()).map_err(|error| error.to_string());
        assert_eq!(found, expect.map_err(str::to_owned), "{received}");
    }

    #[test]
    fn an_answer_is_good_by_status_and_body() {
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"r\":3}",
            Ok(Some(Answer { length: 45, good: true })),
        );
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"r\":4}",
            Ok(Some(Answer { length: 45, good: false })),
        );
        check(
            "HTTP/1.1 500 No\r\nContent-Length: 7\r\n\r\n{\"r\":3}",
            Ok(Some(Answer { length: 45, good: false })),
        );
    }

    #[test]
    fn an_answer_in_pieces_is_waited_for() {
        check("HTTP/1.1 200 OK\r\n", Ok(None));
        check("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"r\"", Ok(None));
    }

    #[test]
    fn an_answer_of_unknown_length_is_an_error() {
        check("HTTP/1.1 200 OK\r\n\r\n", Err("an answer without `Content-Length`"));
        check("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", Err("a `Content-Length` that is no number"));
    }

    #[test]
    fn a_request_has_the_length_of_its_body() {
        let request = String::from_utf8(Exchange::post("/x", "{\"a\":1}", "").request).unwrap();
        assert!(request.starts_with("POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\n"));
        assert!(request.ends_with("Content-Length: 7\r\n\r\n{\"a\":1}"));
    }
}
