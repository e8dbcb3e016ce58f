//! An orderly end: which connections are open, how much is still in flight, and when a stopping server may go.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolmux_core::gateway::Gateway;

/// How often a stopping server looks whether it may go.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How a listener is stopped, step by step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    /// Every answer says that its connection ends. True before a probe can see that the server is stopping.
    pub(crate) closes_connections: Arc<AtomicBool>,
    /// The server is stopping, and answers on.
    pub(crate) announced: CancellationToken,
    /// Nothing more is waited for.
    pub(crate) cut: CancellationToken,
}

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Activity {
    pub(super) begun: AtomicU64,
    pub(super) ended: AtomicU64,
}

impl Activity {
    /// How many requests are not answered yet.
    pub(super) fn in_flight(&self) -> u64 {
        // In this order: what begins and ends between the two must not count below zero.
        let ended = self.ended.load(Ordering::Relaxed);
        self.begun.load(Ordering::Relaxed).saturating_sub(ended)
    }
}

/// Every open connection.
#[derive(Debug, Default)]
pub(super) struct OpenConnections(Mutex<Registry>);

#[derive(Debug, Default)]
struct Registry {
    next: u64,
    open: HashMap<u64, Arc<Activity>>,
    last_ended: Option<Instant>,
}

impl OpenConnections {
    /// Counts a connection until what is returned is dropped.
    pub(super) fn enter(self: &Arc<Self>) -> Entered {
        let activity = Arc::new(Activity::default());
        let number = self.registry(|registry| {
            registry.next += 1;
            registry.open.insert(registry.next, Arc::clone(&activity));
            registry.next
        });
        Entered { connections: Arc::clone(self), number, activity }
    }

    /// How many requests are not answered yet.
    fn in_flight(&self) -> u64 {
        self.registry(|registry| registry.open.values().map(|activity| activity.in_flight()).sum())
    }

    /// How many connections are open that requests came by. Those that were told of the end are closed.
    pub(super) fn used(&self) -> usize {
        let is_used = |activity: &&Arc<Activity>| activity.begun.load(Ordering::Relaxed) > 0;
        self.registry(|registry| registry.open.values().filter(is_used).count())
    }

    /// True when somebody is connected, or was lately.
    fn used_within(&self, time: Duration) -> bool {
        self.registry(|registry| {
            !registry.open.is_empty() || registry.last_ended.is_some_and(|at| at.elapsed() < time)
        })
    }

    fn registry<T>(&self, read: impl FnOnce(&mut Registry) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One open connection.
pub(super) struct Entered {
    connections: Arc<OpenConnections>,
    number: u64,
    pub(super) activity: Arc<Activity>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.connections.registry(|registry| {
            registry.open.remove(&self.number);
            registry.last_ended = Some(Instant::now());
        });
    }
}

/// Ends when a stopping server may go: no request and no call is in flight, whoever uses the server had `grace`
/// to notice, and every connection that was used has been told that it ends, which the answer to its next request
/// does: a client that sends while we close an idle connection cannot know whether its call ran. A server that
/// nobody uses, or that has no grace, goes without.
pub(super) async fn drained(connections: &OpenConnections, gateway: &Gateway, grace: Duration) {
    let (began, in_use) = (Instant::now(), connections.used_within(grace));
    loop {
        let noticed = !in_use || began.elapsed() >= grace;
        let all_told = grace.is_zero() || connections.used() == 0;
        if noticed && all_told && connections.in_flight() == 0 && gateway.sources().calls_in_flight() == 0 {
            return;
        }
        sleep(LOOK_EVERY).await;
    }
}
