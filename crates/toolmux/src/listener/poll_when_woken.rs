//! Polls a future when that future woke its task, and not whenever the task runs for another reason. A connection waits for
//! the end of the server and for a timer beside each request; polling those takes a lock that all connections share.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Where the wake-ups of one future go.
pub(super) struct PollWhenWoken {
    state: Arc<WakeState>,
    waker: Waker,
}

struct WakeState {
    task: AtomicWaker,
    woken: AtomicBool,
}

impl PollWhenWoken {
    pub(super) fn new() -> Self {
        // True at first: a future that was never polled wakes nobody.
        let state = Arc::new(WakeState { task: AtomicWaker::new(), woken: AtomicBool::new(true) });
        PollWhenWoken { waker: Waker::from(Arc::clone(&state)), state }
    }

    /// Polls the future, always the same one, if it has woken its task since it was last polled.
    pub(super) fn poll<F: Future>(&self, future: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Registered before the flag is read: a wake-up in between sets the flag, or finds this waker and uses it.
        self.state.task.register(context.waker());
        if !self.state.woken.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        // Taken back before the poll: a wake-up while it runs counts for the next one. Not a store: what was done before a
        // wake-up that is taken back here must be seen by this poll.
        self.state.woken.swap(false, Ordering::SeqCst);
        future.poll(&mut Context::from_waker(&self.waker))
    }
}

impl Wake for WakeState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use super::*;

    #[test]
    fn a_future_is_polled_once_for_each_time_it_wakes() {
        let (mut polls, mut kept) = (0, None);
        let mut future = pin!(poll_fn(|context| {
            polls += 1;
            kept = Some(context.waker().clone());
            Poll::<()>::Pending
        }));
        let (quiet, mut context) = (PollWhenWoken::new(), Context::from_waker(Waker::noop()));
        for _ in 0..3 {
            assert!(quiet.poll(future.as_mut(), &mut context).is_pending());
        }
        let waker = quiet.waker.clone();
        waker.wake_by_ref();
        waker.wake();
        for _ in 0..3 {
            assert!(quiet.poll(future.as_mut(), &mut context).is_pending());
        }
        assert!(kept.is_some());
        assert_eq!(polls, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn its_wake_ups_reach_the_task() {
        let (quiet, mut timer) =
            (PollWhenWoken::new(), pin!(tokio::time::sleep(std::time::Duration::from_secs(1))));
        poll_fn(|context| quiet.poll(timer.as_mut(), context)).await;
    }
}
