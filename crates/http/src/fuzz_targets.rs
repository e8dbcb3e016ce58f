//! Invariants of what this crate reads, for any bytes: run by its tests for a bounded number of cases, and by
//! `cargo fuzz` for as long as somebody waits (fuzz/README.md). Compiled for these two only.

use crate::sse::{self, Decoder, Event};

/// A name, valid examples of the input, and the check.
pub type Target = (&'static str, fn() -> Vec<Vec<u8>>, fn(&[u8]));

/// Every target of this crate.
pub fn targets() -> Vec<Target> {
    TARGETS.to_vec()
}

const TARGETS: &[Target] = &[("sse", event_examples, events)];

fn event_examples() -> Vec<Vec<u8>> {
    [
        "event:start\ndata:{\"start\":\"x\"}\n\nid: 7\nretry: 10\ndata: a\ndata: b\n\n:\n\n",
        "data:one\r\rdata:two\r\n\r\ndata\n\n\u{feff}data: x",
        "event: endpoint\ndata: /messages?x=1\n\nevent:error\ndata:é\n\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Events are the same wherever the stream is cut, hold no more than came, and are read as they are written.
fn events(data: &[u8]) {
    let whole = Decoder::new(1 << 20).push(data).expect("it is not too large");
    let size =
        |event: &Event| event.event.len() + event.data.len() + event.id.as_ref().map_or(0, String::len);
    // A byte that is not UTF-8 becomes a character of three.
    assert!(whole.iter().map(size).sum::<usize>() <= 3 * data.len(), "more was read than there is");
    for width in [1, 2, 7] {
        let mut decoder = Decoder::new(1 << 20);
        let pieces = data.chunks(width).flat_map(|piece| decoder.push(piece).expect("it is not too large"));
        assert_eq!(pieces.collect::<Vec<_>>(), whole, "in pieces of {width}");
        assert!(decoder.held() <= 3 * data.len());
    }
    for event in &whole {
        let named = Some(event.event.as_str()).filter(|name| !name.is_empty() && !name.starts_with(' '));
        let bytes = sse::encode(named, None, &event.data);
        let read = Decoder::new(1 << 20).push(&bytes).expect("it is not too large");
        assert_eq!((read.len(), &read[0].data), (1, &event.data));
        assert_eq!(read[0].event, named.unwrap_or_default());
    }
    let mut small = Decoder::new(16);
    assert!(small.push(data).is_err() || small.held() <= 16);
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
