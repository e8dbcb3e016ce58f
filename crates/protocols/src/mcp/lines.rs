//! Lines of a stream, each of bounded length: messages on standard streams.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// How much of both ends of a line that is too long is kept: enough to find whose answer it was.
const KEPT: usize = 256;

/// A line as it came.
pub(super) enum Line {
    Whole(Vec<u8>),
    /// Longer than allowed: its first and last bytes.
    TooLong(Vec<u8>),
}

pub(super) struct Lines<R> {
    reader: BufReader<R>,
    most: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(stream: R, most: usize) -> Self {
        Lines { reader: BufReader::with_capacity(64 << 10, stream), most }
    }

    /// The next line; none at the end of the stream, or when it broke.
    pub(super) async fn next(&mut self) -> Option<Line> {
        let mut line = Vec::new();
        let mut dropped = false;
        loop {
            let piece = self.reader.fill_buf().await.ok().filter(|piece| !piece.is_empty())?;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let (taken, used) = end.map_or((piece.len(), piece.len()), |end| (end, end + 1));
            line.extend_from_slice(&piece[..taken]);
            self.reader.consume(used);
            if line.len() > self.most || (dropped && line.len() > 4 * KEPT) {
                line.drain(KEPT..line.len() - KEPT);
                line.shrink_to_fit();
                dropped = true;
            }
            if end.is_some() {
                return Some(if dropped { Line::TooLong(line) } else { Line::Whole(line) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(stream: &[u8], expect: &[Option<&str>]) {
        let mut lines = Lines::new(stream, 2_000);
        for expected in expect {
            let text = match lines.next().await.unwrap() {
                Line::Whole(line) => Some(String::from_utf8(line).unwrap()),
                Line::TooLong(_) => None,
            };
            assert_eq!(text.as_deref(), *expected);
        }
        assert!(lines.next().await.is_none());
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_costs_only_itself() {
        let long = [b"a\n".as_slice(), &vec![b'x'; 200_000], b"\nb\n"].concat();
        check(&long, &[Some("a"), None, Some("b")]).await;
        check(b"unfinished", &[]).await;
    }
}
