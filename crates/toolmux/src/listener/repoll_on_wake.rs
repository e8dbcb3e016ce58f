//! Polls a future that wakes itself again at once. hyper wakes a connection whenever its handler takes a piece
//! of the body; tokio takes such a task for one that yields, sends it to the end of its queue and calls another
//! worker to take it from there, which costs more than a small answer.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// How often a future is polled in a row before it has to let others go first.
const MOST_POLLS: usize = 2;

/// Where the wake-ups of one future go.
pub(super) struct RepollOnWake {
    state: Arc<State>,
    waker: Waker,
}

#[derive(Default)]
struct State {
    task: AtomicWaker,
    polled: AtomicBool,
    woken: AtomicBool,
}

impl RepollOnWake {
    pub(super) fn new() -> Self {
        let state = Arc::new(State::default());
        RepollOnWake { waker: Waker::from(Arc::clone(&state)), state }
    }

    /// Polls the future, always the same one.
    pub(super) fn poll<F: Future>(
        &self,
        mut future: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let State { task, polled, woken } = &*self.state;
        task.register(context.waker());
        for _ in 0..MOST_POLLS {
            // Not a store: what was done before a wake-up that is taken back here must be seen by this poll.
            woken.swap(false, Ordering::SeqCst);
            polled.store(true, Ordering::SeqCst);
            let answer = future.as_mut().poll(&mut Context::from_waker(&self.waker));
            polled.store(false, Ordering::SeqCst);
            if answer.is_ready() || !woken.load(Ordering::SeqCst) {
                return answer;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for State {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    /// Either whoever polls sees that it was woken, or we see that nobody polls any more.
    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        if !self.polled.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A future that wakes itself in its first `wakes` polls: how often one poll polls it, and wakes its task.
    fn check(wakes: usize, expect: (usize, usize)) {
        let (mut polls, task) = (0, Arc::new(Counted::default()));
        let future = poll_fn(|context| {
            polls += 1;
            if polls <= wakes {
                context.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        });
        let waker = Waker::from(Arc::clone(&task));
        assert!(RepollOnWake::new().poll(pin!(future), &mut Context::from_waker(&waker)).is_pending());
        assert_eq!((polls, task.0.load(Ordering::SeqCst)), expect, "{wakes}");
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_again_until_others_wait_too_long() {
        check(0, (1, 0));
        check(1, (2, 0));
        check(5, (MOST_POLLS, 1));
    }

    #[test]
    fn a_wake_from_elsewhere_reaches_the_task() {
        let (task, mut kept) = (Arc::new(Counted::default()), None);
        let future = poll_fn(|context| {
            kept = Some(context.waker().clone());
            Poll::<()>::Pending
        });
        let waker = Waker::from(Arc::clone(&task));
        assert!(RepollOnWake::new().poll(pin!(future), &mut Context::from_waker(&waker)).is_pending());
        kept.unwrap().wake();
        assert_eq!(task.0.load(Ordering::SeqCst), 1);
    }
}
