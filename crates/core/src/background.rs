//! What one server runs besides calls, and how it is told to end. The gateway, its sources and its tasks share one.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backoff::Backoff;

/// The pause before a store that was away is asked again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Owns every spawned future of a server: none outlives [`Background::end`] unnoticed. Clones share it, and cost no more
/// than a counter: each recorded call makes one.
#[derive(Clone, Debug, Default)]
pub struct Background(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    running: TaskTracker,
    /// Set when the server ends. Comes after `closing`, so that calls may finish between the two.
    stop: CancellationToken,
    /// Set when the end is announced.
    closing: CancellationToken,
}

impl Background {
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.0.running.spawn(work)
    }

    /// Work that is of no use to a server that ends, such as a timeout: it is dropped when the server does.
    pub fn spawn_until_stop(&self, work: impl Future<Output = ()> + Send + 'static) {
        let work = self.0.stop.clone().run_until_cancelled_owned(work);
        self.0.running.spawn(work);
    }

    /// Work that begins in a `drop`, which may come when the runtime has gone; then the work is dropped too. A server
    /// that ends waits for it.
    pub fn spawn_from_drop<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) {
        if let Ok(runtime) = Handle::try_current() {
            self.0.running.spawn_on(work, &runtime);
        }
    }

    /// Ends when the server does. Children of it can be cancelled alone.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// Ends when the end is announced, for whoever holds a stream open.
    pub async fn closing(&self) {
        self.0.closing.cancelled().await;
    }

    /// Says that the end is near, while calls may still finish: streams that only wait should end.
    pub fn announce_closing(&self) {
        self.0.closing.cancel();
    }

    /// True once the end was announced: no call should be sent here any more.
    pub fn is_closing(&self) -> bool {
        self.0.closing.is_cancelled()
    }

    /// Tells everything to end and waits for it, but not beyond `until`.
    pub(crate) async fn end(&self, until: Instant) {
        self.announce_closing();
        self.0.stop.cancel();
        self.0.running.close();
        timeout_at(until, self.0.running.wait()).await.ok();
    }
}

/// The pauses of a loop that writes to a store which was away. Without a pause the loop would keep a processor and the
/// database busy; without an end of the pause at the stop of the server it would delay that stop.
pub(crate) struct StorePauses(Backoff);

impl StorePauses {
    pub(crate) fn new() -> Self {
        StorePauses(Backoff::new(FIRST_PAUSE, LONGEST_PAUSE))
    }

    /// Waits, each time twice as long as the time before. False when the server stops, after which nobody should try
    /// again.
    pub(crate) async fn wait(&mut self, background: &Background) -> bool {
        background.stop().run_until_cancelled(sleep(self.0.next_pause())).await.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_end_drops_timeouts_and_waits_for_other_work() {
        let (background, done) = (Background::default(), Arc::new(AtomicBool::new(false)));
        background.spawn_until_stop(pending());
        let finished = Arc::clone(&done);
        background.spawn_from_drop(async move {
            sleep(Duration::from_secs(1)).await;
            finished.store(true, Ordering::Relaxed);
        });
        let (began, patience) = (Instant::now(), Duration::from_mins(1));
        background.end(began + patience).await;
        assert!(done.load(Ordering::Relaxed));
        assert!(background.0.running.is_empty());
        assert!(began.elapsed() < patience);
    }
}
