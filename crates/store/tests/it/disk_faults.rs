//! A disk that is full or fails, and then works again: what was acknowledged is there, what was refused is not.

use std::path::Path;

use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use crate::counted::{Counted, CountedServer, Kind, Refused};
use crate::fault_injector::{Fault, FaultInjector};

/// How many numbers are asked for before and after the fault; during it, three times as many as concurrency.
const NUMBERS: u64 = 20;

/// Rows that a process of its own sees, and that it can write.
async fn seen_from_outside(file: &Path, kind: Kind) -> u64 {
    let mut outside = SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    let count = match kind {
        Kind::Call => "SELECT count(*) FROM calls",
        Kind::Task => "SELECT count(*) FROM tasks",
    };
    let rows: i64 = sqlx::query_scalar(count).fetch_one(&mut outside).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut outside).await.expect("the write lock is free");
    sqlx::query("ROLLBACK").execute(&mut outside).await.unwrap();
    outside.close().await.unwrap();
    rows.unsigned_abs()
}

async fn check(fault: Fault, kind: Kind, concurrency: u64) {
    eprintln!("{fault:?}, {kind:?}, {concurrency} at a time");
    let (folder, injector) = (tempfile::tempdir().unwrap(), FaultInjector::new());
    let (file, log) = (folder.path().join("records.db"), folder.path().join("runs"));
    let url = format!("sqlite:{}", file.display());
    let server = || CountedServer::start(&url, &log, Some((&injector, "records.db")));
    let mut counted = Counted::new(kind, concurrency, server(), &log);
    assert_eq!(counted.ask(NUMBERS), NUMBERS);
    injector.on(fault);
    let during = counted.ask(concurrency * 3);
    assert_eq!(during, 0, "nothing can be kept now");
    injector.off();
    assert_eq!(counted.ask(NUMBERS), NUMBERS, "there is room again");
    assert!(seen_from_outside(&file, kind).await >= NUMBERS * 2, "others see what was acknowledged");
    counted.nothing_refused_ran();
    counted.kill();
    counted.nothing_is_lost_or_doubled(server(), Refused::NotKept);
}

async fn check_all(fault: Fault) {
    for kind in [Kind::Call, Kind::Task] {
        for concurrency in [1, 8, 64] {
            check(fault, kind, concurrency).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_after_a_full_disk() {
    check_all(Fault::Full).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_after_writes_failed() {
    check_all(Fault::Write).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_after_syncs_failed() {
    check_all(Fault::Sync).await;
}

/// A commit that could not be synced is in SQLite's log all the same, where the next start would find it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_does_not_come_back_after_a_crash() {
    let injector = FaultInjector::new();
    for (kind, concurrency) in [(Kind::Call, 1), (Kind::Call, 8), (Kind::Task, 1), (Kind::Task, 8)] {
        let folder = tempfile::tempdir().unwrap();
        let (file, log) = (folder.path().join("records.db"), folder.path().join("runs"));
        let url = format!("sqlite:{}", file.display());
        let server = || CountedServer::start(&url, &log, Some((&injector, "records.db")));
        let mut counted = Counted::new(kind, concurrency, server(), &log);
        assert_eq!(counted.ask(NUMBERS), NUMBERS);
        injector.on(Fault::Sync);
        assert_eq!(counted.ask(concurrency), 0);
        counted.kill();
        injector.off();
        counted.nothing_is_lost_or_doubled(server(), Refused::NotKept);
    }
}
