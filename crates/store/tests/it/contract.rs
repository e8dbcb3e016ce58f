//! What every store must do. A fact takes a fresh store; all facts run on all three.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::store::{MemoryStore, Retention, SealedKey, Store};
use toolmux_store::{StoreSettings, open};

use crate::postgres_server::PostgresServer;
use crate::{contract_calls, contract_tasks};

pub(crate) type Fact = fn(Arc<dyn Store>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// Turns an `async fn` into an entry of a list of facts.
#[macro_export]
macro_rules! facts {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), |store| Box::pin($name(store)))),*] };
}

const SEALED: &[(&str, Fact)] =
    facts![sealed_bytes_come_back, sealed_bytes_are_taken_once, status_counts, what_was_done_is_kept];

fn all() -> impl Iterator<Item = &'static (&'static str, Fact)> {
    SEALED.iter().chain(contract_calls::FACTS).chain(contract_tasks::FACTS)
}

/// Whatever a server of these settings holds stays its own, and it waits for its database, however slow the
/// machine is.
pub(crate) fn settings() -> StoreSettings {
    StoreSettings {
        lease: Duration::from_hours(1),
        patience: Duration::from_secs(30),
        ..StoreSettings::default()
    }
}

/// Records carry milliseconds; what must differ in them waits for the clock to move on.
pub(crate) async fn next_millisecond() {
    let millis = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let now = millis();
    while millis() <= now + 1 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    for (name, fact) in all() {
        eprintln!("{name}");
        fact(Arc::new(MemoryStore::default())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_the_contract() {
    for (name, fact) in all() {
        eprintln!("{name}");
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("records.db").display());
        fact(open(&url, settings()).await.unwrap()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_the_contract() {
    for (name, fact) in all() {
        eprintln!("{name}");
        let url = PostgresServer::shared().database().await;
        fact(open(&url, settings()).await.unwrap()).await;
    }
}

fn key(name: &str) -> SealedKey {
    SealedKey { kind: "token".into(), name: name.into() }
}

async fn sealed_bytes_come_back(store: Arc<dyn Store>) {
    let later = SystemTime::now() + Duration::from_hours(1);
    let past = SystemTime::now() - Duration::from_secs(1);
    store.sealed_put(&key("b"), b"\0one", None).await.unwrap();
    store.sealed_put(&key("a"), b"two", Some(later)).await.unwrap();
    store.sealed_put(&key("old"), b"three", Some(past)).await.unwrap();
    assert_eq!(store.sealed_find(&key("b")).await.unwrap().as_deref(), Some(&b"\0one"[..]));
    assert_eq!(store.sealed_find(&key("old")).await.unwrap(), None);
    assert_eq!(store.sealed_list("token").await.unwrap(), ["a", "b"]);
    assert!(store.sealed_list("challenge").await.unwrap().is_empty());
    store.sealed_put(&key("b"), b"four", None).await.unwrap();
    assert_eq!(store.sealed_find(&key("b")).await.unwrap().as_deref(), Some(&b"four"[..]));
}

async fn sealed_bytes_are_taken_once(store: Arc<dyn Store>) {
    store.sealed_put(&key("state"), b"x", None).await.unwrap();
    let takers = (0..8).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.sealed_take(&key("state")).await.unwrap().is_some() })
    });
    let mut taken = 0;
    for taker in takers.collect::<Vec<_>>() {
        taken += usize::from(taker.await.unwrap());
    }
    assert_eq!(taken, 1);
    let past = SystemTime::now() - Duration::from_secs(1);
    store.sealed_put(&key("old"), b"x", Some(past)).await.unwrap();
    assert_eq!(store.sealed_take(&key("old")).await.unwrap(), None);
}

async fn what_was_done_is_kept(store: Arc<dyn Store>) {
    let ago = |seconds| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        SystemTime::UNIX_EPOCH + Duration::from_secs(now - seconds)
    };
    let record = |seconds, caller: &str, action, subject: &str| AuditRecord {
        at: ago(seconds),
        caller: caller.into(),
        action,
        subject: subject.into(),
    };
    let old = record(300, "alice", AuditAction::CallRefused, "Kit.Add not_permitted");
    let newer = record(200, "", AuditAction::ConfigReloaded, "");
    let newest = record(100, "bob", AuditAction::TaskCancelled, "a task");
    store.audit_add(&[old.clone(), newer.clone()]).await.unwrap();
    store.audit_add(std::slice::from_ref(&newest)).await.unwrap();
    assert_eq!(store.audit_list(9).await.unwrap(), [newest.clone(), newer.clone(), old]);
    assert_eq!(store.audit_list(1).await.unwrap(), std::slice::from_ref(&newest));
    assert_eq!(store.status().await.unwrap().audit, 3);
    assert_eq!(store.prune(&Retention::default()).await.unwrap().audit, 0);
    let by_age = Retention { audit_for: Duration::from_secs(250), ..Retention::default() };
    assert_eq!(store.prune(&by_age).await.unwrap().audit, 1);
    let by_count = Retention { audit: 1, ..Retention::default() };
    assert_eq!(store.prune(&by_count).await.unwrap().audit, 1);
    assert_eq!(store.audit_list(9).await.unwrap(), [newest]);
}

async fn status_counts(store: Arc<dyn Store>) {
    store.sealed_put(&key("a"), b"x", None).await.unwrap();
    let status = store.status().await.unwrap();
    assert_eq!((status.sealed, status.servers, status.calls), (1, 1, [0, 0]));
    let past = SystemTime::now() - Duration::from_secs(1);
    store.sealed_put(&key("a"), b"x", Some(past)).await.unwrap();
    assert_eq!(store.prune(&Retention::default()).await.unwrap().sealed, 1);
}
