//! What databases have to survive: servers that die, several servers at once, a database that goes away.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection;
use tokio::time::timeout;
use toolmux_core::ports::store::{Begun, NewTask, Store, TaskCounts};
use toolmux_core::task::TaskId;
use toolmux_store::{ReadOnlyStore, SqlStore, StoreSettings};

use crate::contract::settings;
use crate::contract_calls::{key, returned, text};
use crate::contract_tasks::{events, new};
use crate::postgres_server::PostgresServer;

/// Far more than any of these takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that is alive until it is said to be dead.
async fn server(url: &str) -> Arc<dyn Store> {
    Arc::new(SqlStore::open(url, settings()).await.unwrap())
}

/// How a server looks for the dead several times a second; it may itself seem dead on a slow machine.
pub(crate) fn watchful() -> StoreSettings {
    StoreSettings { lease: Duration::from_secs(1), ..settings() }
}

async fn watchful_server(url: &str) -> Arc<dyn Store> {
    Arc::new(SqlStore::open(url, watchful()).await.unwrap())
}

/// Lets the leases of all servers run out at once; those that are alive renew them.
pub(crate) async fn leases_end(url: &str) {
    let mut connection = sqlx::AnyConnection::connect(url).await.unwrap();
    sqlx::query("UPDATE holders SET until = 0").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

pub(crate) async fn both(check: impl AsyncFn(&str)) {
    let folder = tempfile::tempdir().unwrap();
    check(&format!("sqlite:{}", folder.path().join("records.db").display())).await;
    check(&PostgresServer::shared().database().await).await;
}

async fn ended(store: &Arc<dyn Store>, id: &TaskId) -> Vec<String> {
    let mut notifier = store.task_notifier(id);
    let wait = async {
        while !store.task_find(id, 0).await.unwrap().unwrap().task.status.is_ended() {
            notifier.changed().await;
        }
    };
    timeout(PATIENCE, wait).await.expect("the task ends");
    events(store, id, 0).await
}

/// Waits for the first call as a server does. On a slow machine a server may take nobody for dead for a moment,
/// after its own heartbeat was late.
async fn until_abandoned(alive: &Arc<dyn Store>) {
    let wait = async {
        loop {
            assert!(alive.call_wait(&key("1")).await.unwrap().is_none());
            match alive.call_begin(&key("1"), &[1; 32]).await.unwrap() {
                Begun::Abandoned => return,
                Begun::Running => {}
                other => panic!("{other:?}"),
            }
        }
    };
    timeout(PATIENCE, wait).await.expect("the call of a dead server is taken over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_servers_tasks_are_taken_over() {
    both(async |url| {
        let dead = server(url).await;
        let (once, again) = (new("a"), NewTask { repeatable: true, ..new("a") });
        let secret = NewTask { portable: false, ..new("a") };
        let waiting = new("a");
        for task in [&once, &again, &secret, &waiting] {
            dead.task_submit(task).await.unwrap();
        }
        for task in [&once, &again] {
            assert!(dead.task_start(&task.id).await.unwrap());
        }
        drop(dead);
        leases_end(url).await;
        let alive = watchful_server(url).await;
        let told = ended(&alive, &once.id).await;
        assert!(told.last().unwrap().contains("may have run"), "{told:?}");
        let told = ended(&alive, &secret.id).await;
        assert!(told.last().unwrap().contains("credentials"), "{told:?}");
        let mut claimed: Vec<TaskId> =
            alive.task_claim(9).await.unwrap().into_iter().map(|task| task.id).collect();
        claimed.sort();
        let mut expect = vec![again.id.clone(), waiting.id.clone()];
        expect.sort();
        assert_eq!(claimed, expect);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_servers_call_goes_to_whoever_asks_again() {
    both(async |url| {
        let dead = server(url).await;
        assert!(matches!(dead.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Fresh));
        let alive = watchful_server(url).await;
        assert!(matches!(alive.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Running));
        drop(dead);
        leases_end(url).await;
        until_abandoned(&alive).await;
        assert!(matches!(alive.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Running));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_outage_nobody_is_taken_for_dead_at_once() {
    both(async |url| {
        let alive = server(url).await;
        let task = new("a");
        alive.task_submit(&task).await.unwrap();
        assert!(alive.task_start(&task.id).await.unwrap());
        assert!(matches!(alive.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Fresh));
        leases_end(url).await;
        let other = server(url).await;
        assert!(matches!(other.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Running));
        assert!(other.task_claim(9).await.unwrap().is_empty());
        assert!(alive.task_finish(&task.id, &returned(1)).await.unwrap());
        assert!(alive.call_finish(&key("1"), &returned(1)).await.unwrap());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_nobody_renews_runs_out() {
    both(async |url| {
        let dead = watchful_server(url).await;
        assert!(matches!(dead.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Fresh));
        drop(dead);
        let alive = watchful_server(url).await;
        until_abandoned(&alive).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_changes_nothing() {
    both(async |url| {
        let told = ReadOnlyStore::at(url).await.err().map(|error| error.to_string());
        assert!(told.is_some(), "there is nothing to look at yet");
        let dead = server(url).await;
        let task = new("a");
        dead.task_submit(&task).await.unwrap();
        assert!(dead.task_start(&task.id).await.unwrap());
        drop(dead);
        leases_end(url).await;
        let look = ReadOnlyStore::at(url).await.unwrap();
        let status = look.status().await.unwrap();
        let running = TaskCounts { running: 1, ..TaskCounts::default() };
        assert_eq!((status.servers, status.tasks, status.schema), (0, running, 9));
        assert!(look.audit_list(9).await.unwrap().is_empty());
        assert_eq!(look.status().await.unwrap(), status);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_leaves_is_taken_over_at_once() {
    both(async |url| {
        let leaving = server(url).await;
        let task = NewTask { repeatable: true, ..new("a") };
        leaving.task_submit(&task).await.unwrap();
        leaving.task_start(&task.id).await.unwrap();
        leaving.close().await;
        let alive = server(url).await;
        assert_eq!(alive.task_claim(9).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_starts_again_on_its_file_settles_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("records.db").display());
    let dead = server(&url).await;
    let (once, again) = (new("a"), NewTask { repeatable: true, ..new("a") });
    for task in [&once, &again] {
        dead.task_submit(task).await.unwrap();
        assert!(dead.task_start(&task.id).await.unwrap());
    }
    assert!(matches!(dead.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Fresh));
    let beside = server(&url).await;
    assert!(beside.task_claim(9).await.unwrap().is_empty(), "who is alive keeps what it holds");
    beside.close().await;
    drop(dead);
    let servers = std::fs::File::open(folder.path().join("records.db-servers")).unwrap();
    while servers.try_lock().is_err() {
        tokio::task::yield_now().await;
    }
    servers.unlock().unwrap();
    // All leases are of an hour: nobody waited for one.
    let alive = server(&url).await;
    let told = ended(&alive, &once.id).await;
    assert!(told.last().unwrap().contains("may have run"), "{told:?}");
    assert_eq!(alive.task_claim(9).await.unwrap().len(), 1);
    assert!(matches!(alive.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Abandoned));
    assert_eq!(alive.status().await.unwrap().servers, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_server_does_wakes_those_who_wait_at_another() {
    both(async |url| {
        let (here, there) = (server(url).await, server(url).await);
        let task = new("a");
        here.task_submit(&task).await.unwrap();
        let follower = {
            let (there, id) = (Arc::clone(&there), task.id.clone());
            tokio::spawn(async move { ended(&there, &id).await })
        };
        assert!(matches!(here.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Fresh));
        let waiter = {
            let there = Arc::clone(&there);
            tokio::spawn(async move { there.call_wait(&key("1")).await.unwrap() })
        };
        here.task_start(&task.id).await.unwrap();
        here.task_finish(&task.id, &returned(1)).await.unwrap();
        here.call_finish(&key("1"), &returned(2)).await.unwrap();
        assert_eq!(follower.await.unwrap().len(), 3);
        let waited = timeout(PATIENCE, waiter).await.expect("the waiter is woken").unwrap();
        assert_eq!(waited.as_ref().map(text), Some(text(&returned(2))));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_comes_back_is_used_again() {
    let mut postgres = PostgresServer::private();
    let url = postgres.database().await;
    // Long for a database that answers, short enough to be waited for when it does not.
    let patience = Duration::from_secs(10);
    let store = SqlStore::open(&url, StoreSettings { patience, ..settings() }).await.unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    assert!(matches!(store.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Fresh));
    postgres.stop();
    let refused = store.call_begin(&key("2"), &[1; 32]).await.unwrap_err();
    assert_eq!(refused.message.public, "The record store cannot be reached");
    let waiter = {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            loop {
                if let Ok(outcome) = store.call_wait(&key("1")).await {
                    return outcome;
                }
            }
        })
    };
    postgres.start();
    let finished = async { while store.call_finish(&key("1"), &returned(1)).await.is_err() {} };
    timeout(PATIENCE, finished).await.expect("the database is used again");
    let outcome = timeout(PATIENCE, waiter).await.expect("the waiter is woken").unwrap();
    assert_eq!(outcome.as_ref().map(text), Some(text(&returned(1))));
}
