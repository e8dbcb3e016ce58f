//! Concurrent clients, each sending one call after another with an id of its own, and noting what it is told.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::answer::{Answer, NOTHING_LISTENS};
use super::client::{ANSWER_TIMEOUT, Broken, HttpClient};
use super::ledger::Ledger;
use super::protocol::{CallRequest, Protocol};
use crate::bench::percentile;

/// How long a client waits before it sends again, after no answer or a refusal: outages are not spun through.
const PAUSE: Duration = Duration::from_millis(20);

/// How long an id is sent again while it gets no answer: several times what one answer may take, so that one timeout
/// does not end it.
const RESEND_FOR: Duration = ANSWER_TIMEOUT.saturating_mul(3);

/// Servers that clients take in turn, leaving out those marked unready.
pub(crate) struct Targets {
    addresses: Vec<SocketAddr>,
    ready: Vec<AtomicBool>,
    next: AtomicUsize,
}

impl Targets {
    pub(crate) fn new(addresses: Vec<SocketAddr>) -> Arc<Self> {
        let ready = addresses.iter().map(|_| AtomicBool::new(true)).collect();
        Arc::new(Self { addresses, ready, next: AtomicUsize::new(0) })
    }

    pub(crate) fn mark(&self, index: usize, ready: Readiness) {
        self.ready[index].store(ready == Readiness::Ready, Ordering::Relaxed);
    }

    /// The next that is ready, else the next.
    fn pick(&self) -> String {
        let count = self.addresses.len();
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = (start..start + count).find(|turn| self.ready[turn % count].load(Ordering::Relaxed));
        format!("http://{}", self.addresses[turn.unwrap_or(start) % count])
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    Unready,
}

#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) clients: usize,
    pub(crate) protocols: &'static [Protocol],
    pub(crate) tool: &'static str,
    /// Ids begin with it.
    pub(crate) prefix: &'static str,
    pub(crate) key: Option<&'static str>,
    /// Every so many calls, a list that must show so many tools.
    pub(crate) lists: Option<(u64, usize)>,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            clients: 16,
            protocols: &[Protocol::Oxp],
            tool: "Up.record",
            prefix: "c",
            key: None,
            lists: None,
        }
    }
}

/// One answered call.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) sent: Instant,
    pub(crate) took: Duration,
    pub(crate) good: bool,
}

/// A load that runs until it is stopped; dropping it ends its clients at once.
pub(crate) struct Running {
    shared: Arc<Shared>,
    clients: JoinSet<()>,
}

struct Shared {
    load: Load,
    targets: Arc<Targets>,
    ledger: Arc<Ledger>,
    samples: Mutex<Vec<Sample>>,
    stop: AtomicBool,
    count: AtomicU64,
    lists: Lists,
    refused_connects: AtomicU64,
}

#[derive(Default)]
struct Lists {
    all: AtomicU64,
    short: AtomicU64,
    broken: AtomicU64,
}

/// What became of the lists that were asked for.
pub(crate) struct ListCounts {
    pub(crate) all: u64,
    /// Shorter or longer than it must be.
    pub(crate) short: u64,
    /// Whose answer did not come, or only half of it.
    pub(crate) broken: u64,
}

impl Load {
    pub(crate) fn start(self, targets: &Arc<Targets>, ledger: &Arc<Ledger>) -> Running {
        let clients = self.clients;
        let shared = Arc::new(Shared {
            load: self,
            targets: Arc::clone(targets),
            ledger: Arc::clone(ledger),
            samples: Mutex::default(),
            stop: AtomicBool::new(false),
            count: AtomicU64::new(0),
            lists: Lists::default(),
            refused_connects: AtomicU64::new(0),
        });
        let mut running = Running { shared, clients: JoinSet::new() };
        for _ in 0..clients {
            running.clients.spawn(Arc::clone(&running.shared).client());
        }
        running
    }
}

impl Running {
    /// Lets every client finish its call.
    pub(crate) async fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        while self.clients.join_next().await.is_some() {}
    }

    /// What was answered since this was last asked.
    pub(crate) fn take_samples(&self) -> Vec<Sample> {
        std::mem::take(&mut *self.shared.samples.lock().expect("no holder of this lock panics"))
    }

    /// Waits for a good answer to a call that was sent after `since`.
    pub(crate) async fn until_good_since(&self, since: Instant, limit: Duration) -> Option<Duration> {
        while since.elapsed() < limit {
            if let Some(first) = self.first_good_since(since) {
                return Some(first - since);
            }
            sleep(Duration::from_millis(1)).await;
        }
        None
    }

    fn first_good_since(&self, since: Instant) -> Option<Instant> {
        let samples = self.shared.samples.lock().expect("no holder of this lock panics");
        let good = samples.iter().filter(|sample| sample.good && sample.sent >= since);
        good.map(|sample| sample.sent + sample.took).min()
    }

    pub(crate) fn lists(&self) -> ListCounts {
        let Lists { all, short, broken } = &self.shared.lists;
        let [all, short, broken] = [all, short, broken].map(|count| count.load(Ordering::Relaxed));
        ListCounts { all, short, broken }
    }

    /// How often nothing listened at the address that was next, and the one after it was asked instead.
    pub(crate) fn refused_connects(&self) -> u64 {
        self.shared.refused_connects.load(Ordering::Relaxed)
    }
}

impl Shared {
    async fn client(self: Arc<Self>) {
        let http = HttpClient::new();
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.count.fetch_add(1, Ordering::Relaxed);
            let protocol = self.load.protocols[number as usize % self.load.protocols.len()];
            if let Some((every, expected)) = self.load.lists
                && number % every < self.load.protocols.len() as u64
            {
                self.list(&http, protocol, expected).await;
            }
            let id = format!("{}-{number}", self.load.prefix);
            self.settle(&http, protocol, &id).await;
        }
    }

    /// Sends one id until it is answered.
    async fn settle(&self, http: &HttpClient, protocol: Protocol, id: &str) {
        let first = Instant::now();
        loop {
            let sent = Instant::now();
            let arguments = json!({ "id": id });
            let call = CallRequest { tool: self.load.tool, id, arguments, key: self.load.key };
            // A server that is not there was not asked: the next one is, as a load balancer does.
            let Ok(answer) = protocol.call(http, &self.targets.pick(), &call).await else {
                self.refused_connects.fetch_add(1, Ordering::Relaxed);
                sleep(PAUSE / 4).await;
                if first.elapsed() > RESEND_FOR {
                    return self.ledger.answered(id, Answer::Unanswered(NOTHING_LISTENS.to_owned()));
                }
                continue;
            };
            let good = answer == Answer::Good;
            let unanswered = matches!(answer, Answer::Unanswered(_));
            // Of a task that was accepted by a server which has left since. Sent again, the id finds the task.
            if matches!(&answer, Answer::Unanswered(why) if why == NOTHING_LISTENS) {
                self.refused_connects.fetch_add(1, Ordering::Relaxed);
            }
            let sample = Sample { sent, took: sent.elapsed(), good };
            self.samples.lock().expect("no holder of this lock panics").push(sample);
            self.ledger.answered(id, answer);
            if !good {
                sleep(PAUSE).await;
            }
            if !unanswered || first.elapsed() > RESEND_FOR {
                return;
            }
        }
    }

    async fn list(&self, http: &HttpClient, protocol: Protocol, expected: usize) {
        let first = Instant::now();
        self.lists.all.fetch_add(1, Ordering::Relaxed);
        let count = loop {
            match protocol.list(http, &self.targets.pick(), self.load.key).await {
                Ok(found) if found == expected => return,
                Ok(_) => break &self.lists.short,
                Err(Broken::Unreachable) if first.elapsed() < RESEND_FOR => {
                    self.refused_connects.fetch_add(1, Ordering::Relaxed);
                    sleep(PAUSE / 4).await;
                }
                Err(_) => break &self.lists.broken,
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// p50, p99 and the slowest of the good answers, in milliseconds.
pub(crate) fn latencies(samples: &[Sample]) -> [f64; 3] {
    let mut ascending: Vec<Duration> =
        samples.iter().filter(|sample| sample.good).map(|sample| sample.took).collect();
    ascending.sort_unstable();
    [0.5, 0.99, 1.0].map(|share| percentile(&ascending, share) / 1e3)
}
