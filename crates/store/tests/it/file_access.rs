//! Who else on the machine can read the files of a SQLite store, or hold its lock.

use std::fs::{File, Permissions, metadata, set_permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use toolmux_store::{SqlStore, StoreSettings};

use crate::contract::settings;

fn mode(file: &Path) -> u32 {
    metadata(file).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn files_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let _store = SqlStore::open(&format!("sqlite:{}", at("records.db").display()), settings()).await.unwrap();
    for name in ["records.db", "records.db-wal", "records.db-shm", "records.db-servers"] {
        assert_eq!(mode(&at(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn the_lock_is_for_those_who_may_write_the_records() {
    for (records, expect) in [(0o644, 0o600), (0o664, 0o660), (0o600, 0o600)] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        File::create(at("records.db")).unwrap();
        set_permissions(at("records.db"), Permissions::from_mode(records)).unwrap();
        File::create(at("records.db-servers")).unwrap();
        let _store =
            SqlStore::open(&format!("sqlite:{}", at("records.db").display()), settings()).await.unwrap();
        assert_eq!(mode(&at("records.db")), records, "what an operator allowed stays");
        assert_eq!(mode(&at("records.db-servers")), expect, "{records:o}");
    }
}

#[tokio::test]
async fn servers_meet_whatever_links_lead_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let _first = SqlStore::open(&format!("sqlite:{}", at("records.db").display()), settings()).await.unwrap();
    symlink(at("records.db"), at("link.db")).unwrap();
    let _second = SqlStore::open(&format!("sqlite:{}", at("link.db").display()), settings()).await.unwrap();
    assert!(!at("link.db-servers").exists());
}

/// A dropped store leaves once its connections are closed, for which this thread must be free.
async fn until_locked(lock: &File) {
    while lock.try_lock().is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_lock_that_is_held_is_not_waited_for_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("records.db").display());
    drop(SqlStore::open(&url, settings()).await.unwrap());
    let lock = File::open(folder.path().join("records.db-servers")).unwrap();
    until_locked(&lock).await;
    let began = Instant::now();
    let short = StoreSettings { lease: Duration::from_millis(300), ..settings() };
    let error = SqlStore::open(&url, short).await.err().expect("it is held");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(cause.contains("holds a lock on"), "{cause}");
    lock.unlock().unwrap();
    drop(SqlStore::open(&url, settings()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_start_at_once_on_a_new_file_take_turns_to_make_its_tables() {
    for round in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("records.db").display());
        let open = || SqlStore::open(&url, settings());
        let opened = tokio::join!(open(), open(), open(), open());
        let opened: [_; 4] = opened.into();
        let failed: Vec<_> = opened.iter().filter_map(|opened| opened.as_ref().err()).collect();
        assert!(failed.is_empty(), "round {round}: {failed:?}");
    }
}
