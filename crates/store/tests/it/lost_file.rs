//! A SQLite file that is removed or replaced while a server has it open.

use std::fs::{copy, remove_file, rename, write};
use std::path::Path;
use std::sync::Arc;

use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::ports::store::{Begun, SealedKey, Store, StoreError};
use toolmux_store::open;

use crate::contract::settings;
use crate::contract_calls::{key, returned};
use crate::contract_tasks::new;

/// Everything a store is asked to write, with what it says.
async fn writes(store: &Arc<dyn Store>) -> Vec<Option<StoreError>> {
    let (sealed, task) = (SealedKey { kind: "token".into(), name: "a".into() }, new("a"));
    let record = AuditRecord::now("a", AuditAction::TaskCancelled, "x");
    vec![
        store.call_begin(&key("2"), &[1; 32]).await.err(),
        store.call_finish(&key("1"), &returned(1)).await.err(),
        store.task_submit(&task).await.err(),
        store.task_claim(9).await.err(),
        store.sealed_put(&sealed, b"x", None).await.err(),
        store.sealed_take(&sealed).await.err(),
        store.audit_add(&[record]).await.err(),
    ]
}

async fn check(lose: fn(&Path), what: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records.db");
    let store = open(&format!("sqlite:{}", file.display()), settings()).await.unwrap();
    assert!(matches!(store.call_begin(&key("1"), &[1; 32]).await.unwrap(), Begun::Fresh));
    assert!(store.fault().is_none());
    lose(&file);
    for refused in writes(&store).await {
        let StoreError { message, .. } = refused.expect("nothing is acknowledged any more");
        assert!(message.public.contains("must be restarted"), "{message:?}");
        let developer = message.developer.unwrap();
        assert!(developer.contains(&format!("`{}` was {what}", file.display())), "{developer}");
    }
    assert!(store.fault().is_some());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_file_refuses_every_write() {
    check(|file| remove_file(file).unwrap(), "removed").await;
    let with_its_log = |file: &Path| {
        for suffix in ["", "-wal", "-shm"] {
            let mut name = file.as_os_str().to_owned();
            name.push(suffix);
            remove_file(name).unwrap();
        }
    };
    check(with_its_log, "removed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_file_refuses_every_write() {
    let by_a_copy = |file: &Path| {
        copy(file, file.with_extension("copy")).unwrap();
        rename(file.with_extension("copy"), file).unwrap();
    };
    check(by_a_copy, "replaced").await;
    let by_nothing = |file: &Path| {
        remove_file(file).unwrap();
        write(file, "").unwrap();
    };
    check(by_nothing, "replaced").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_file_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records.db");
    let store = open(&format!("sqlite:{}", file.display()), settings()).await.unwrap();
    remove_file(&file).unwrap();
    // More readers than are open: some would have to open the file.
    let readers = (0..8).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.task_list("a", None, 9).await.ok() })
    });
    for reader in readers.collect::<Vec<_>>() {
        reader.await.unwrap();
    }
    assert!(!file.exists());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_does_not_wait_for_whoever_writes() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("records.db").display());
    let store = open(&url, toolmux_store::StoreSettings::default()).await.unwrap();
    let mut writer = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut writer).await.unwrap();
    // More readers than are open: a connection that waited for the lock would be given up.
    let readers = (0..16).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.task_list("a", None, 9).await })
    });
    for reader in readers.collect::<Vec<_>>() {
        assert!(reader.await.unwrap().unwrap().is_empty());
    }
}
