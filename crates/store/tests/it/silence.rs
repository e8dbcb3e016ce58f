//! Connections to PostgreSQL that go silent without being closed, as after a lost route.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Row};
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::ports::store::{Begun, Durable, Store};
use toolmux_store::{SqlStore, StoreSettings};

use crate::contract::settings;
use crate::contract_calls::key;
use crate::contract_tasks::new;
use crate::postgres_server::PostgresServer;
use crate::silent_proxy::SilentProxy;

/// Far more than any of these takes, and far less than the system keeps a silent connection.
const PATIENCE: Duration = Duration::from_mins(1);
/// More than either pool has connections.
const CALLERS: usize = 20;

/// What waits for an answer is given up soon.
fn impatient() -> StoreSettings {
    StoreSettings { lease: Duration::from_secs(2), patience: Duration::from_secs(2), ..settings() }
}

/// A store behind a proxy, with all the connections it may have, and the address of its database without the proxy.
async fn store_behind() -> (Arc<dyn Store>, SilentProxy, String) {
    let direct = PostgresServer::shared().database().await;
    let proxy = SilentProxy::before(&direct).await;
    let store: Arc<dyn Store> = Arc::new(SqlStore::open(&proxy.url, impatient()).await.unwrap());
    assert_eq!(ask_together(&store, "before").await, 0);
    (store, proxy, direct)
}

/// Writes and reads at the same time; how many were refused.
async fn ask_together(store: &Arc<dyn Store>, name: &str) -> usize {
    let mut asked = JoinSet::new();
    for number in 0..CALLERS {
        let (store, key) = (Arc::clone(store), key(&format!("{name}-{number}")));
        asked.spawn(async move {
            let begun = store.call_begin(&key, &[1; 32]).await.is_ok();
            let listed = store.task_list("a", None, 9).await.is_ok();
            begun && listed && store.audit_add(&[]).await.is_ok()
        });
    }
    let answers = timeout(PATIENCE, asked.join_all()).await.expect("every call is answered");
    answers.into_iter().filter(|good| !good).count()
}

async fn until_good(store: &Arc<dyn Store>) {
    let good = async {
        let mut tries = 0;
        while store.call_begin(&key(&format!("again-{tries}")), &[1; 32]).await.is_err() {
            tries += 1;
        }
    };
    timeout(PATIENCE, good).await.expect("calls are good again");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_are_all_replaced_at_once() {
    let (store, proxy, _) = store_behind().await;
    proxy.silence();
    until_good(&store).await;
    assert_eq!(ask_together(&store, "after").await, 0, "no other connection of before is used");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_connection_goes_silent_is_answered() {
    let (store, proxy, direct) = store_behind().await;
    let mut other = PgConnection::connect(&direct).await.unwrap();
    let mut lock = other.begin().await.unwrap();
    sqlx::query("LOCK TABLE calls IN ACCESS EXCLUSIVE MODE").execute(&mut *lock).await.unwrap();
    let mut writes = JoinSet::new();
    for name in ["1", "2"] {
        let store = Arc::clone(&store);
        writes.spawn(async move { store.call_begin(&key(name), &[1; 32]).await });
    }
    until_blocked(&direct, "calls").await;
    proxy.silence();
    lock.commit().await.unwrap();
    timeout(PATIENCE, writes.join_all()).await.expect("whoever waits is answered");
    until_good(&store).await;
    // Whatever became of them, their ids are held by nobody who does not run them.
    let again = async { while !matches!(store.call_begin(&key("3"), &[1; 32]).await, Ok(Begun::Fresh)) {} };
    timeout(PATIENCE, again).await.expect("calls begin");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_record_whose_connection_goes_silent_is_answered() {
    let (store, proxy, direct) = store_behind().await;
    let mut other = PgConnection::connect(&direct).await.unwrap();
    let mut lock = other.begin().await.unwrap();
    sqlx::query("LOCK TABLE audit IN ACCESS EXCLUSIVE MODE").execute(&mut *lock).await.unwrap();
    let asked = Arc::clone(&store);
    let record = AuditRecord::now("alice", AuditAction::TaskCancelled, "a task");
    let adding = tokio::spawn(async move { asked.audit_add(&[record]).await.is_err() });
    until_blocked(&direct, "audit").await;
    proxy.silence();
    lock.commit().await.unwrap();
    assert!(timeout(PATIENCE, adding).await.expect("whoever waits is answered").unwrap());
    until_good(&store).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_confirmation_is_lost_may_be_durable() {
    let (store, proxy, direct) = store_behind().await;
    let mut other = PgConnection::connect(&direct).await.unwrap();
    let mut lock = other.begin().await.unwrap();
    sqlx::query("LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE").execute(&mut *lock).await.unwrap();
    let (asked, submitted) = (Arc::clone(&store), new("alice"));
    let submitting = tokio::spawn(async move { asked.task_submit(&submitted).await });
    until_blocked(&direct, "tasks").await;
    proxy.cut();
    lock.commit().await.unwrap();
    let lost = timeout(PATIENCE, submitting).await.expect("it is answered").unwrap().unwrap_err();
    assert_eq!(lost.durable, Durable::Unknown);
    let unsent = store.task_submit(&new("alice")).await.unwrap_err();
    assert_eq!(unsent.durable, Durable::No, "no connection could be opened");
}

/// Ends when a statement waits for a lock on a table.
async fn until_blocked(direct: &str, table: &str) {
    let mut connection = PgConnection::connect(direct).await.unwrap();
    let blocked = async {
        let count = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass";
        while sqlx::query(count).bind(table).fetch_one(&mut connection).await.unwrap().get::<i64, _>(0) == 0 {
        }
    };
    timeout(PATIENCE, blocked).await.expect("the write waits for the lock");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_refused_while_the_database_cannot_be_heard_and_good_again_after() {
    let (store, proxy, _) = store_behind().await;
    proxy.cut();
    let refused = ask_together(&store, "cut").await;
    assert_eq!(refused, CALLERS);
    proxy.silence();
    until_good(&store).await;
    assert_eq!(ask_together(&store, "after").await, 0);
    timeout(PATIENCE, store.close()).await.expect("it closes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_heard_is_closed() {
    let (store, proxy, _) = store_behind().await;
    proxy.cut();
    timeout(PATIENCE, store.close()).await.expect("it closes");
}
