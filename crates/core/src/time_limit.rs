//! Time limits whose timer is made when there is something to wait for: most answers are there at once, and a timer costs
//! more than many of them.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::task::coop::unconstrained;
use tokio::time::{Instant, sleep_until};

/// What comes of a future until a moment; nothing when it takes longer. The future is dropped with this one, so that a
/// large one is better lent, pinned.
pub async fn until<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    limited(|| deadline, future).await
}

/// The same within a time, which begins when there is something to wait for.
pub async fn within<F: Future>(time: Duration, future: F) -> Option<F::Output> {
    limited(|| Instant::now() + time, future).await
}

async fn limited<F: Future>(deadline: impl Fn() -> Instant, future: F) -> Option<F::Output> {
    let (mut future, mut timer) = (pin!(future), pin!(None));
    std::future::poll_fn(move |context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        if timer.is_none() {
            // Not for the timer: a future that always uses up what a task may do at a time would never be late.
            timer.set(Some(unconstrained(sleep_until(deadline()))));
        }
        match timer.as_mut().as_pin_mut() {
            Some(timer) => timer.poll(context).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::sleep;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn a_future_that_takes_too_long_gives_nothing() {
        let begun = Instant::now();
        assert_eq!(within(LIMIT, ready(1)).await, Some(1));
        assert_eq!(within(LIMIT, sleep(LIMIT / 2)).await, Some(()));
        assert_eq!(within(LIMIT, pending::<()>()).await, None);
        assert_eq!(begun.elapsed(), LIMIT / 2 + LIMIT);
        assert_eq!(until(Instant::now(), ready(1)).await, Some(1), "what is there at once is never late");
        assert_eq!(until(Instant::now(), pending::<()>()).await, None);
    }

    /// Not in paused time, which goes on only while nothing runs.
    #[tokio::test]
    async fn a_future_that_never_rests_is_late_too() {
        let restless = async {
            loop {
                tokio::task::consume_budget().await;
            }
        };
        assert_eq!(within(Duration::from_millis(1), restless).await, None::<()>);
    }
}
