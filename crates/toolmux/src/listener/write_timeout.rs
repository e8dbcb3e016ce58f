//! A connection whose peer does not read is given up after a time: the answer, the call behind a stream and the
//! descriptor would otherwise be held for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream on which each wait to write is bounded. The timer exists only while a write waits.
pub(super) struct WriteTimeout<S> {
    stream: S,
    most: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(stream: S, most: Duration) -> Self {
        WriteTimeout { stream, most, waiting: None }
    }
}

impl<S: Unpin> WriteTimeout<S> {
    /// What came of trying to write: as it is, unless it has waited too long.
    fn bounded<T>(&mut self, context: &mut Context<'_>, tried: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if tried.is_ready() {
            self.waiting = None;
            return tried;
        }
        let most = self.most;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(most)));
        waiting.as_mut().poll(context).map(|()| {
            tracing::debug!("connection closed: the client does not read the answer");
            Err(io::ErrorKind::TimedOut.into())
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(context, tried)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.bounded(context, tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.stream).poll_flush(context);
        self.bounded(context, tried)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.stream).poll_shutdown(context);
        self.bounded(context, tried)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::{Instant, interval_at};

    use super::*;

    const MOST: Duration = Duration::from_secs(30);

    /// Writes four buffers to a reader that pauses this long before each read.
    async fn check(pause: Duration, expect: Result<(), io::ErrorKind>) {
        let (near, mut far) = duplex(16);
        let mut near = WriteTimeout::new(near, MOST);
        let reader = async {
            let (mut buffer, mut reads) = ([0; 16], interval_at(Instant::now() + pause, pause));
            loop {
                reads.tick().await;
                far.read_exact(&mut buffer).await.ok();
            }
        };
        let written = tokio::select! {
            written = near.write_all(&[7; 64]) => written,
            () = reader => unreachable!("it reads without end"),
        };
        assert_eq!(written.map_err(|error| error.kind()), expect, "{pause:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_may_be_slow_but_must_read() {
        check(Duration::from_secs(29), Ok(())).await;
        check(MOST + Duration::from_secs(1), Err(io::ErrorKind::TimedOut)).await;
    }
}
