//! What every store must do. A fact takes a fresh store; all facts run on all three.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::store::{
    CallCounts, DefinitionsKey, Retention, Sealed, SealedKey, Store, StoreStatus, StoredKey,
};
use toolmux_store::{StoreSettings, open};

use crate::postgres_server::PostgresServer;
use crate::{contract_calls, contract_receipts, contract_shares, contract_tasks};

pub(crate) type Fact = fn(Arc<dyn Store>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// Turns an `async fn` into an entry of a list of facts.
#[macro_export]
macro_rules! facts {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), |store| Box::pin($name(store)))),*] };
}

const SEALED: &[(&str, Fact)] = facts![
    sealed_bytes_come_back,
    sealed_bytes_are_taken_once,
    sealed_bytes_are_swapped_for_what_was_seen,
    of_many_who_swap_at_once_one_does,
    status_counts,
    what_was_done_is_kept,
    definitions_are_kept_by_source_and_settings,
    keys_are_added_used_and_revoked,
];

fn all() -> impl Iterator<Item = &'static (&'static str, Fact)> {
    let calls_and_tasks = contract_calls::FACTS.iter().chain(contract_tasks::FACTS);
    SEALED.iter().chain(calls_and_tasks).chain(contract_shares::FACTS).chain(contract_receipts::FACTS)
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

/// A store of these settings removes by itself what they do not allow.
async fn check_retention(url: &str, retention: Retention) {
    let settings =
        StoreSettings { lease: Duration::from_secs(1), prune_every: Duration::ZERO, retention, ..settings() };
    let store = open(url, settings).await.unwrap();
    for id in ["1", "2", "3"] {
        contract_calls::check(&store, id, 1, "fresh").await;
        store.call_finish(&contract_calls::key(id), &contract_calls::returned(1)).await.unwrap();
        let task = contract_tasks::new("alice");
        store.task_submit(&task).await.unwrap();
        store.task_start(&task.id).await.unwrap();
        store.task_finish(&task.id, &contract_calls::returned(1)).await.unwrap();
        store.audit_add(&[AuditRecord::now("alice", AuditAction::TaskCancelled, id)]).await.unwrap();
        next_millisecond().await;
    }
    let waiting = contract_tasks::new("alice");
    store.task_submit(&waiting).await.unwrap();
    let pruned = async {
        loop {
            let StoreStatus { calls, tasks, audit, .. } = store.status().await.unwrap();
            if calls.all <= 1 && tasks.pending == 0 && tasks.ended <= 1 && audit <= 1 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), pruned).await.expect("the store keeps to its retention");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_store_keeps_to_its_retention_by_itself() {
    let soon = Retention { pending_for: Duration::from_millis(1), ..Retention::default() };
    let by_count = Retention { calls: 1, tasks: 1, audit: 1, ..soon };
    let short = Duration::from_millis(1);
    let by_age = Retention { calls_for: short, tasks_for: short, audit_for: short, ..soon };
    for retention in [by_count, by_age] {
        check_retention("memory", retention).await;
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("records.db").display());
        check_retention(&url, retention).await;
        check_retention(&PostgresServer::shared().database().await, retention).await;
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

/// Swaps a record and says whether that was done.
async fn swap(store: &Arc<dyn Store>, name: &str, old: Option<&[u8]>, new: Option<Sealed<'_>>) -> bool {
    store.sealed_swap(&key(name), old, new).await.unwrap()
}

fn sealed(bytes: &[u8], seconds: i64) -> Sealed<'_> {
    let span = Duration::from_secs(seconds.unsigned_abs());
    let now = SystemTime::now();
    Sealed { bytes, expires: Some(if seconds < 0 { now - span } else { now + span }) }
}

async fn sealed_bytes_are_swapped_for_what_was_seen(store: Arc<dyn Store>) {
    let forever = Sealed { bytes: b"one", expires: None };
    let kept = async || store.sealed_find(&key("a")).await.unwrap();
    assert!(!swap(&store, "a", Some(b"one"), Some(forever)).await);
    assert!(swap(&store, "a", None, Some(forever)).await);
    assert!(!swap(&store, "a", None, Some(sealed(b"two", 60))).await);
    assert!(!swap(&store, "a", Some(b"two"), Some(sealed(b"two", 60))).await);
    assert!(!swap(&store, "a", Some(b"two"), None).await);
    assert!(swap(&store, "a", Some(b"one"), Some(sealed(b"two", 60))).await);
    assert_eq!(kept().await.as_deref(), Some(&b"two"[..]));
    assert!(swap(&store, "a", Some(b"two"), None).await);
    assert_eq!(kept().await, None);
    assert!(swap(&store, "a", None, None).await);
    assert!(swap(&store, "a", None, Some(sealed(b"old", -1))).await);
    assert!(!swap(&store, "a", Some(b"old"), Some(forever)).await, "what expired is not there");
    assert!(swap(&store, "a", None, Some(forever)).await);
}

async fn of_many_who_swap_at_once_one_does(store: Arc<dyn Store>) {
    store.sealed_put(&key("b"), b"seen", None).await.unwrap();
    for (name, old) in [("a", None), ("b", Some(&b"seen"[..]))] {
        let swappers = (0..8_u8).map(|place| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { swap(&store, name, old, Some(sealed(&[place], 60))).await })
        });
        let mut swapped = Vec::new();
        for swapper in swappers.collect::<Vec<_>>() {
            swapped.push(swapper.await.unwrap());
        }
        assert_eq!(swapped.iter().filter(|swapped| **swapped).count(), 1);
        let place = swapped.iter().position(|swapped| *swapped).unwrap();
        assert_eq!(store.sealed_find(&key(name)).await.unwrap(), Some(vec![u8::try_from(place).unwrap()]));
    }
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
    assert_eq!((status.sealed, status.servers, status.calls), (1, 1, CallCounts::default()));
    let past = SystemTime::now() - Duration::from_secs(1);
    store.sealed_put(&key("a"), b"x", Some(past)).await.unwrap();
    assert_eq!(store.prune(&Retention::default()).await.unwrap().sealed, 1);
}

async fn keys_are_added_used_and_revoked(store: Arc<dyn Store>) {
    let key = |name: &str, digest: u8| StoredKey {
        name: name.to_owned(),
        sha256: [digest; 32],
        toolset: (name == "bob").then(|| "some".to_owned()),
        operator: name == "alice",
        created: SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(digest)),
        used: None,
        revoked: None,
    };
    let mut notifier = store.key_notifier();
    assert!(store.key_add(&key("bob", 1)).await.unwrap());
    assert!(store.key_add(&key("alice", 2)).await.unwrap());
    assert!(!store.key_add(&key("alice", 3)).await.unwrap(), "the name is taken");
    tokio::time::timeout(Duration::from_mins(1), notifier.changed()).await.expect("a key was added");
    assert_eq!(store.key_list().await.unwrap(), [key("alice", 2), key("bob", 1)]);
    store.key_note_use(&["alice".to_owned(), "nobody".to_owned()]).await.unwrap();
    assert!(store.key_list().await.unwrap()[0].used.is_some());
    assert!(store.key_revoke("alice").await.unwrap());
    assert!(!store.key_revoke("alice").await.unwrap());
    assert!(!store.key_revoke("nobody").await.unwrap());
    assert!(store.key_list().await.unwrap()[0].revoked.is_some(), "its row stays");
    assert!(store.key_add(&key("alice", 4)).await.unwrap());
    assert_eq!(store.key_list().await.unwrap(), [key("alice", 4), key("bob", 1)]);
}

async fn definitions_are_kept_by_source_and_settings(store: Arc<dyn Store>) {
    let key = |source: &str, digest: &str| DefinitionsKey { source: source.into(), digest: digest.into() };
    let find = async |key: DefinitionsKey| store.definitions_find(&key).await.unwrap();
    assert_eq!(find(key("A", "1")).await, None);
    for (source, digest, text) in
        [("A", "1", "old"), ("A", "1", "{\"new\":\"\\u0000\"}"), ("A", "2", "other"), ("B", "1", "b")]
    {
        store.definitions_put(&key(source, digest), text).await.unwrap();
    }
    assert_eq!(find(key("A", "1")).await.as_deref(), Some("{\"new\":\"\\u0000\"}"));
    assert_eq!(find(key("A", "2")).await.as_deref(), Some("other"));
    assert_eq!(find(key("B", "1")).await.as_deref(), Some("b"));
    assert_eq!(find(key("B", "2")).await, None);
    store.prune(&Retention::default()).await.unwrap();
    assert!(find(key("A", "1")).await.is_some());
    next_millisecond().await;
    store.prune(&Retention { definitions_for: Duration::ZERO, ..Retention::default() }).await.unwrap();
    assert_eq!(find(key("A", "1")).await, None);
}
