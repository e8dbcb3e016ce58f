//! Answers over HTTP/2 that a client does not read. The connection itself may be read all the time, so that no write to
//! it waits; what waits is the piece of the answer that the client does not ask for.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use tokio::time::Instant;

/// The answers of one connection that are being sent.
#[derive(Debug, Default)]
pub(super) struct UnreadBodies(Mutex<Vec<Weak<GivenPiece>>>);

/// When the last piece of an answer was given to be sent; absent while the next one is awaited from its maker.
type GivenPiece = Mutex<Option<Instant>>;

impl UnreadBodies {
    /// The same answer, watched until it ends.
    pub(super) fn watch<S: Stream + Unpin>(&self, pieces: S) -> Watched<S> {
        let given = Arc::new(GivenPiece::default());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&given));
        Watched { pieces, given }
    }

    /// True when a client has not read on for so long.
    pub(super) fn any_for(&self, time: Duration) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).any(|given| {
            let given = given.lock().unwrap_or_else(PoisonError::into_inner);
            given.is_some_and(|since| since.elapsed() >= time)
        })
    }
}

/// An answer that is watched.
pub(super) struct Watched<S> {
    pieces: S,
    given: Arc<GivenPiece>,
}

impl<S: Stream + Unpin> Stream for Watched<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let polled = Pin::new(&mut self.pieces).poll_next(context);
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = polled.is_ready().then(Instant::now);
        polled
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_an_answer_whose_piece_was_given_and_not_read_counts() {
        let (bodies, long) = (UnreadBodies::default(), Duration::from_secs(30));
        let mut quiet = bodies.watch(stream::pending::<u8>());
        let mut sent = bodies.watch(stream::iter([1, 2]));
        assert!(futures_util::poll!(quiet.next()).is_pending());
        assert_eq!(sent.next().await, Some(1));
        tokio::time::advance(long / 2).await;
        assert!(!bodies.any_for(long));
        tokio::time::advance(long).await;
        assert!(bodies.any_for(long));
        drop(sent);
        assert!(!bodies.any_for(long), "what waits for its maker is not unread");
    }
}
