//! The only codec of server-sent events, and the head of every answer that is a stream of them.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderValue, header};

/// One event as it arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its kind; empty means `message`.
    pub event: String,
    /// All its data lines, joined by line ends.
    pub data: String,
    /// Where a client may resume.
    pub id: Option<String>,
}

/// One event as bytes. There is no blank behind the colons: a public client matches the bytes literally.
pub fn encode(event: Option<&str>, id: Option<&str>, data: &str) -> Bytes {
    let mut text = String::with_capacity(data.len() + 48);
    for (field, value) in [("event", event), ("id", id)] {
        if let Some(value) = value {
            text.extend([field, ":", value, "\n"]);
        }
    }
    // A reader ends a line at a lone CR too, and CR LF is one end: what came in one event stays in one.
    for line in data.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')) {
        // A reader takes one blank away, so a line that begins with one needs another.
        let blank = if line.starts_with(' ') { " " } else { "" };
        text.extend(["data:", blank, line, "\n"]);
    }
    text.push('\n');
    text.into()
}

/// One event whose data is JSON, always on one line: line ends between tokens become blanks, and inside texts JSON
/// has none. A public client reads only events of one `data` line.
pub fn encode_json(event: Option<&str>, id: Option<&str>, json: &str) -> Bytes {
    if json.contains(['\n', '\r']) {
        return encode(event, id, &json.replace(['\n', '\r'], " "));
    }
    encode(event, id, json)
}

/// A line that keeps a connection alive and means nothing.
pub const KEEP_ALIVE: &[u8] = b":\n\n";

/// The media type of a stream of events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// An answer that is a stream of events. Protocols differ in how they write the media type and in what caches may do.
pub fn response(body: Body, content_type: &'static str, cache_control: &'static str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache_control));
    // Proxies that gather pieces of a body would gather events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The stream holds an event that is too large.
#[derive(Debug, thiserror::Error)]
#[error("an event is larger than {0} bytes")]
pub struct TooLarge(usize);

/// Reads events from pieces of a stream, wherever it was cut.
#[derive(Debug)]
pub struct Decoder {
    pending: BytesMut,
    /// How many bytes of `pending` are known to hold no line end: a long line may come in many pieces.
    searched: usize,
    event: Event,
    has_data: bool,
    most: usize,
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl Decoder {
    /// A decoder of events of at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Decoder {
            pending: BytesMut::new(),
            searched: 0,
            event: Event::default(),
            has_data: false,
            most,
            last_id: None,
            retry: None,
        }
    }

    /// The last id there was: where to resume.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the other side wants a client to wait before it resumes.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Another stream goes on where this one ended: half an event is none.
    pub fn resume(&mut self) {
        self.pending.clear();
        self.searched = 0;
        (self.event, self.has_data) = (Event::default(), false);
    }

    /// True when no event has begun that is not complete yet.
    pub fn is_between_events(&self) -> bool {
        !self.has_data && matches!(&self.pending[..], [] | [b'\r'])
    }

    /// How many bytes of an event that is not complete yet are held.
    pub fn held(&self) -> usize {
        self.pending.len() + self.event.data.len()
    }

    /// Takes a piece of the stream; gives the events that are complete with it.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Event>, TooLarge> {
        self.pending.extend_from_slice(piece);
        let mut events = Vec::new();
        while let Some(line) = self.line() {
            self.take_line(&line, &mut events);
        }
        if self.held() > self.most {
            return Err(TooLarge(self.most));
        }
        Ok(events)
    }

    /// The next whole line, whichever way it ends. A lone CR at the end of a piece may be half a CRLF.
    fn line(&mut self) -> Option<String> {
        let found = self.pending[self.searched..].iter().position(|b| matches!(b, b'\n' | b'\r'));
        let Some(end) = found.map(|at| self.searched + at) else {
            self.searched = self.pending.len();
            return None;
        };
        self.searched = end;
        let width = match self.pending[end..] {
            [b'\r', b'\n', ..] => 2,
            [b'\r'] => return None,
            _ => 1,
        };
        let line = String::from_utf8_lossy(&self.pending[..end]).into_owned();
        self.pending.advance(end + width);
        self.searched = 0;
        Some(line)
    }

    fn take_line(&mut self, line: &str, events: &mut Vec<Event>) {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.event),
            "id" => {
                self.event.id = Some(value.to_owned());
                self.last_id = self.event.id.clone().filter(|id| !id.is_empty());
            }
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(stream: &str, expect: &[(&str, &str)]) {
        let events = Decoder::new(1024).push(stream.as_bytes()).expect("small");
        let read: Vec<(&str, &str)> = events.iter().map(|e| (e.event.as_str(), e.data.as_str())).collect();
        assert_eq!(read, expect, "{stream:?}");
    }

    #[test]
    fn events_are_read_in_every_spelling() {
        check("event:start\ndata:{}\n\n", &[("start", "{}")]);
        check("event: a\r\ndata: 1\r\ndata: 2\r\n\r\n", &[("a", "1\n2")]);
        check(":comment\n\nid:7\n\ndata\n\n", &[("", "")]);
        check("data: half", &[]);
    }

    #[test]
    fn a_stream_says_where_and_when_to_resume() {
        let mut decoder = Decoder::new(1024);
        decoder.push(b"id: 7\nretry: 500\ndata:\n\nretry: soon\ndata: half").expect("small");
        assert_eq!((decoder.last_id(), decoder.retry()), (Some("7"), Some(Duration::from_millis(500))));
        decoder.resume();
        assert_eq!(decoder.push(b"data: whole\n\n").expect("small")[0].data, "whole");
    }

    #[test]
    fn bytes_are_what_the_public_client_matches() {
        assert_eq!(encode(Some("done"), None, r#"{"done":"f"}"#), "event:done\ndata:{\"done\":\"f\"}\n\n");
    }

    #[test]
    fn a_lone_carriage_return_does_not_end_an_event_early() {
        let bytes = encode(None, None, "one\rtwo\r\nthree\r\rdata: four");
        let events = Decoder::new(1024).push(&bytes).expect("small");
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].data, "one\ntwo\nthree\n\ndata: four");
    }

    #[test]
    fn a_line_in_many_pieces_is_read_once() {
        let mut decoder = Decoder::new(1024);
        let pieces = ["da", "ta: 1", "", "\r", "\ndata", ": 2\n", "\n"];
        let events: Vec<Event> =
            pieces.iter().flat_map(|piece| decoder.push(piece.as_bytes()).expect("small")).collect();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].data, "1\n2");
    }

    #[test]
    fn json_is_one_line_however_it_was_written() {
        assert_eq!(encode_json(None, None, "{\r\n  \"a\": 1\r}"), "data:{    \"a\": 1 }\n\n");
        assert_eq!(encode_json(Some("x"), None, "{}"), encode(Some("x"), None, "{}"));
    }

    #[test]
    fn an_endless_event_is_refused() {
        assert!(Decoder::new(8).push(b"data: 123456789").is_err());
    }

    proptest! {
        #[test]
        fn a_stream_reads_the_same_wherever_it_is_cut(data in "[^\r]{0,40}", cut in 0usize..60) {
            let bytes = encode(Some("x"), Some("1"), &data);
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            let mut decoder = Decoder::new(4096);
            let mut events = decoder.push(head).unwrap();
            events.extend(decoder.push(tail).unwrap());
            prop_assert_eq!(events, vec![Event { event: "x".into(), data, id: Some("1".into()) }]);
        }
    }
}
