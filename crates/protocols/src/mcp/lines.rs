//! Lines of a stream, each of bounded length: messages on standard streams.

use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use toolmux_core::memory_budget::{COUNTED, MemoryBudget, Reservation};

/// How much of both ends of a line that is too long is kept: enough to find whose answer it was.
const KEPT: usize = 256;

/// A line as it came.
pub(super) enum Line {
    /// With what a long one takes of the memory for all requests.
    Whole(Vec<u8>, Option<Reservation>),
    /// Longer than allowed: its first and last bytes.
    TooLong(Vec<u8>),
    /// There is no memory for it: its first and last bytes.
    NoMemory(Vec<u8>),
}

/// What counts long lines; nothing does before it is known.
pub(super) type Memory = Arc<OnceLock<Arc<MemoryBudget>>>;

pub(super) struct Lines<R> {
    reader: BufReader<R>,
    most: usize,
    memory: Memory,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(stream: R, most: usize, memory: Memory) -> Self {
        Lines { reader: BufReader::with_capacity(64 << 10, stream), most, memory }
    }

    /// The next line; none at the end of the stream, or when it broke.
    pub(super) async fn next(&mut self) -> Option<Line> {
        let (mut line, mut held) = (Vec::new(), None);
        let mut dropped: Option<fn(Vec<u8>) -> Line> = None;
        loop {
            let piece = self.reader.fill_buf().await.ok().filter(|piece| !piece.is_empty())?;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let (taken, used) = end.map_or((piece.len(), piece.len()), |end| (end, end + 1));
            line.extend_from_slice(&piece[..taken]);
            self.reader.consume(used);
            if dropped.is_none() {
                dropped = self.why_dropped(line.len(), &mut held);
            }
            if dropped.is_some() && line.len() > 4 * KEPT {
                line.drain(KEPT..line.len() - KEPT);
                line.shrink_to_fit();
                held = None;
            }
            if end.is_some() {
                return Some(match dropped {
                    Some(dropped) => dropped(line),
                    None => Line::Whole(line, held),
                });
            }
        }
    }

    /// Counts a line of this length; says what it is when it cannot be kept.
    fn why_dropped(&self, length: usize, held: &mut Option<Reservation>) -> Option<fn(Vec<u8>) -> Line> {
        if length > self.most {
            return Some(Line::TooLong);
        }
        let memory = self.memory.get().filter(|_| length >= COUNTED)?;
        let held = held.get_or_insert_with(|| memory.hold(0));
        held.grow(length - held.bytes()).is_err().then_some(Line::NoMemory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(stream: &[u8], expect: &[Option<&str>]) {
        let mut lines = Lines::new(stream, 2_000, Memory::default());
        for expected in expect {
            let text = match lines.next().await.unwrap() {
                Line::Whole(line, _) => Some(String::from_utf8(line).unwrap()),
                Line::TooLong(_) | Line::NoMemory(_) => None,
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

    #[tokio::test]
    async fn a_long_line_counts_until_it_is_dropped() {
        let long = [&vec![b'x'; 2 * COUNTED][..], b"\n", &vec![b'y'; 2 * COUNTED], b"\nz\n"].concat();
        let (memory, budget) = (Memory::default(), MemoryBudget::new(Some(3 * COUNTED)));
        memory.set(Arc::clone(&budget)).unwrap();
        let mut lines = Lines::new(&long[..], usize::MAX, memory);
        let first = lines.next().await.unwrap();
        assert!(matches!(&first, Line::Whole(line, Some(_)) if line.len() == budget.used()));
        assert!(matches!(lines.next().await, Some(Line::NoMemory(ends)) if ends.ends_with(b"yy")));
        assert_eq!(budget.used(), 2 * COUNTED);
        drop(first);
        assert_eq!(budget.used(), 0);
        assert!(matches!(lines.next().await, Some(Line::Whole(line, None)) if line == b"z"));
    }
}
