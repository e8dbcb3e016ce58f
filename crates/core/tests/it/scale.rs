//! From 1 to 100 servers on one store, with simulated time: what a call costs, who is woken, and what claiming costs do not
//! depend on how many servers there are. `cargo test -p toolmux-core --test it scale -- --nocapture` prints the table of
//! docs/scale.md.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolmux_core::BoxFuture;
use toolmux_core::call::{Call, Request};
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::json_text::raw_of;
use toolmux_core::limits::Limits;
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::task::TaskId;

use crate::counted_store::{CountedStore, DELAY, until_later};
use crate::fixture::{LONG, anyone, line, request, tool};

/// How long the tool takes.
const WORK: Duration = Duration::from_millis(5);
/// Of each kind, at each server.
const CALLS: u64 = 20;
const TASKS: u64 = 40;
/// How many tasks one server runs at a time.
const SLOTS: usize = 8;

struct Worker;

impl Source for Worker {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(vec![tool("run")].into())))
    }

    fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(async {
            until_later(WORK).await;
            Ok(Outcome::Returned(Output::value(raw_of(&json!(1)))))
        })
    }
}

/// Servers on one store.
struct Servers {
    store: Arc<CountedStore>,
    gateways: Vec<Arc<Gateway>>,
}

/// What one call or task costs, with so many servers.
#[derive(Debug, PartialEq)]
struct Costs {
    servers: u64,
    /// Questions to the store for each call with an id, and how long the call took beyond its tool.
    asked_by_call: f64,
    call_overhead: Duration,
    /// Who is woken for each call that one other server waits for.
    woken_by_call: f64,
    /// Claims for each task that waited, and how many of them in vain.
    claims_by_task: f64,
    vain_by_task: f64,
    asked_by_task: f64,
    /// Claims for each task where all come to one server and the others have nothing to do.
    claims_by_uneven_task: f64,
}

fn with_id(id: String) -> Request {
    Request { id: Some(id.as_str().into()), ..request("Kit_run", json!({ "a": 1 })) }
}

async fn call(gateway: Arc<Gateway>, id: String) {
    let answer = gateway.call(&anyone(&gateway), with_id(id), &Progress::unheard()).await;
    assert_eq!(line(&answer), "1");
}

impl Servers {
    async fn new(count: u64) -> Self {
        let store = Arc::new(CountedStore::default());
        let limits = Limits { task_concurrency: SLOTS, ..Limits::default() };
        let mut gateways = Vec::new();
        for _ in 0..count {
            let gateway = Gateway::new(Settings { limits, ..Settings::default() }, store.clone());
            gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, Arc::new(Worker)));
            gateway.sources().settled(LONG).await;
            gateways.push(gateway);
        }
        Servers { store, gateways }
    }

    /// What was counted while something was done, for each of so many.
    async fn count(&self, counter: fn(&CountedStore) -> &AtomicU64, work: impl Future<Output = u64>) -> f64 {
        let before = counter(&self.store).load(Ordering::Relaxed);
        let many = work.await;
        (counter(&self.store).load(Ordering::Relaxed) - before) as f64 / many as f64
    }

    /// Calls with ids of their own, one after another at each server.
    async fn calls(&self) -> u64 {
        let mut callers = JoinSet::new();
        for (server, gateway) in self.gateways.iter().cloned().enumerate() {
            callers.spawn(async move {
                for number in 0..CALLS {
                    call(Arc::clone(&gateway), format!("{server} {number}")).await;
                }
            });
        }
        callers.join_all().await;
        CALLS * self.gateways.len() as u64
    }

    /// Calls that come to two servers at once, or to the only one twice.
    async fn repeated_calls(&self) -> u64 {
        let mut callers = JoinSet::new();
        for (server, gateway) in self.gateways.iter().enumerate() {
            let next = &self.gateways[(server + 1) % self.gateways.len()];
            for gateway in [gateway, next] {
                callers.spawn(call(Arc::clone(gateway), format!("twice {server}")));
            }
        }
        callers.join_all().await;
        self.gateways.len() as u64
    }

    /// More tasks than run at once, so that most wait their turn.
    async fn tasks(&self, servers: usize) -> u64 {
        let mut ids = JoinSet::new();
        for gateway in &self.gateways[..servers] {
            for _ in 0..TASKS {
                let gateway = Arc::clone(gateway);
                ids.spawn(async move { (submit(&gateway).await, gateway) });
            }
        }
        let mut followers = JoinSet::new();
        for (id, gateway) in ids.join_all().await {
            followers.spawn(async move {
                let followed = gateway.tasks().follow(&anyone(&gateway), &id, 0).await;
                let mut followed = followed.expect("the store answers").expect("the task is known");
                while followed.next().await.expect("the store answers").is_some() {}
            });
        }
        followers.join_all().await;
        TASKS * servers as u64
    }
}

async fn submit(gateway: &Arc<Gateway>) -> TaskId {
    let request = request("Kit_run", json!({ "a": 1 }));
    gateway.tasks().submit(&anyone(gateway), request, None).await.expect("the task is accepted")
}

async fn costs(count: u64) -> Costs {
    let servers = Servers::new(count).await;
    let start = Instant::now();
    let asked_by_call = servers.count(|store| &store.asked, servers.calls()).await;
    let call_overhead = (start.elapsed() / u32::try_from(CALLS).expect("few")).saturating_sub(WORK);
    let woken_by_call = servers.count(|store| &store.waits_ended, servers.repeated_calls()).await;
    let (claims, vain) = (&servers.store.claims, &servers.store.empty_claims);
    let before = (claims.load(Ordering::Relaxed), vain.load(Ordering::Relaxed));
    let asked_by_task = servers.count(|store| &store.asked, servers.tasks(servers.gateways.len())).await;
    let tasks = (TASKS * count) as f64;
    let (claims_by_task, vain_by_task) = (
        (claims.load(Ordering::Relaxed) - before.0) as f64 / tasks,
        (vain.load(Ordering::Relaxed) - before.1) as f64 / tasks,
    );
    let claims_by_uneven_task = servers.count(|store| &store.claims, servers.tasks(1)).await;
    Costs {
        servers: count,
        asked_by_call,
        call_overhead,
        woken_by_call,
        claims_by_task,
        vain_by_task,
        asked_by_task,
        claims_by_uneven_task,
    }
}

#[tokio::test(start_paused = true)]
async fn costs_do_not_grow_with_the_number_of_servers() {
    eprintln!(
        "servers  asked/call  overhead ms  woken/awaited call  asked/task  claims/task  in vain  uneven"
    );
    let mut all = Vec::new();
    for count in [1, 3, 10, 30, 100] {
        let costs = costs(count).await;
        eprintln!(
            "{:7}  {:10.2}  {:11.1}  {:18.2}  {:10.2}  {:11.3}  {:7.3}  {:6.3}",
            costs.servers,
            costs.asked_by_call,
            costs.call_overhead.as_secs_f64() * 1e3,
            costs.woken_by_call,
            costs.asked_by_task,
            costs.claims_by_task,
            costs.vain_by_task,
            costs.claims_by_uneven_task,
        );
        all.push(costs);
    }
    let alone = &all[0];
    // Each task that waits wakes one server that has room, not all of them.
    assert!(all.iter().all(|costs| costs.claims_by_uneven_task < 1.5), "{all:?}");
    for costs in &all {
        // The claim of the id and the record of its end.
        assert_eq!((costs.asked_by_call, costs.call_overhead), (2.0, 2 * DELAY), "{costs:?}");
        assert!((costs.woken_by_call - 1.0).abs() < 1e-9, "{costs:?}");
        assert!(costs.claims_by_task < 1.2 * alone.claims_by_task, "{costs:?}, alone {alone:?}");
        assert!(costs.asked_by_task < 1.2 * alone.asked_by_task, "{costs:?}, alone {alone:?}");
    }
}
