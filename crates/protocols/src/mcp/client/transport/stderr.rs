//! The last lines a child wrote to its standard error, for whoever asks why it failed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolmux_core::redact::redacted;

/// How many lines are kept.
const LINES: usize = 20;
/// How much of a line is kept.
const LINE_BYTES: u64 = 2_000;
/// How long the last lines are waited for after the child ended: a grandchild may hold the stream open.
const LAST_LINES: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Default)]
pub(super) struct StderrTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    ended: CancellationToken,
}

impl StderrTail {
    /// Keeps what comes until the stream ends.
    pub(super) async fn listen(self, stream: impl AsyncRead + Unpin, source: String) {
        let _ended = self.ended.clone().drop_guard();
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while (&mut reader).take(LINE_BYTES).read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            let text = redacted(String::from_utf8_lossy(&line).trim_end()).into_owned();
            tracing::debug!(source, "{text}");
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() == LINES {
                lines.pop_front();
            }
            lines.push_back(text);
            drop(lines);
            line.clear();
        }
    }

    /// Ends when all that a child wrote was read, within a bound: the end of a child may be seen before its last lines
    /// are.
    pub(super) async fn all_read(&self) {
        timeout(LAST_LINES, self.ended.cancelled()).await.ok();
    }

    /// What was kept, as one text; none when there is nothing.
    pub(super) fn text(&self) -> Option<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        (!lines.is_empty()).then(|| lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n"))
    }
}
