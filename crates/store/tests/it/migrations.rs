//! A database that an earlier version made: its calls and tasks are there after an upgrade.

use sha2::{Digest, Sha256};
use sqlx::any::install_default_drivers;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AnyPool, AssertSqlSafe, Executor, SqlSafeStr};
use toolmux_core::hex::to_hex;
use toolmux_core::ports::store::CallCounts;
use toolmux_core::task::{TaskId, TaskStatus};
use toolmux_store::open;

use crate::contract::settings;
use crate::contract_calls::{check as check_call, returned};
use crate::postgres_server::PostgresServer;

/// The tables of version 6, before tasks had places.
const BEFORE: [(i64, &str, &str); 6] = [
    (1, "records", include_str!("../../migrations/1_records.sql")),
    (2, "audit", include_str!("../../migrations/2_audit.sql")),
    (3, "definitions", include_str!("../../migrations/3_definitions.sql")),
    (4, "receipts", include_str!("../../migrations/4_receipts.sql")),
    (5, "awaited", include_str!("../../migrations/5_awaited.sql")),
    (6, "api_keys", include_str!("../../migrations/6_api_keys.sql")),
];

/// What that version wrote: a call that ended, one that somebody waited for, and tasks in each state.
const RECORDS: &str = "
INSERT INTO calls (id, caller, digest, holder, turn, began, ended, outcome, awaited) VALUES
    ({ended}, 'alice', {digest}, 'gone', 1, {now}, {now}, '{\"returned\":{\"value\":5}}', 1),
    ({running}, 'alice', {digest}, 'gone', 2, {now}, NULL, NULL, 1);
INSERT INTO tasks (id, caller, tool, status, request, repeatable, portable, call, holder, turn, seq, running_seq,
                   created, updated, due, keep, expires, outcome) VALUES
    ('first', 'alice', 'Kit_add', 'pending', '{\"n\":1}', 0, 1, NULL, 'gone', 0, 1, NULL, {now}, {now}, {now}, 600000, NULL, NULL),
    ('second', 'alice', 'Kit_add', 'pending', '{\"n\":2}', 0, 1, NULL, 'gone', 0, 1, NULL, {now} + 1, {now}, {now} + 1, 600000, NULL, NULL),
    ('done', 'alice', 'Kit_add', 'completed', '', 0, 1, NULL, 'gone', 1, 3, 2, {now}, {now}, {now}, 600000,
     {now} + 600000, '{\"returned\":{\"value\":7}}')";

fn record_id(id: &str) -> String {
    let (mut hash, caller) = (Sha256::new(), "alice");
    hash.update(caller.len().to_le_bytes());
    hash.update(caller);
    hash.update(id);
    to_hex(&hash.finalize())
}

/// Makes the database of version 6.
async fn make_before(url: &str, bytes: fn(&str) -> String) {
    install_default_drivers();
    let pool = AnyPool::connect(url).await.unwrap();
    let bytes_type = if url.starts_with("sqlite") { "BLOB" } else { "BYTEA" };
    let migration = |(version, name, text): (i64, &'static str, &str)| {
        let text = AssertSqlSafe(text.replace("BYTEA", bytes_type)).into_sql_str();
        Migration::new(version, name.into(), MigrationType::Simple, text, false)
    };
    Migrator::with_migrations(BEFORE.into_iter().map(migration).collect()).run(&pool).await.unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let records = RECORDS
        .replace("{ended}", &bytes(&record_id("ended")))
        .replace("{running}", &bytes(&record_id("running")))
        .replace("{digest}", &bytes(&"01".repeat(32)))
        .replace("{now}", &now.to_string());
    for statement in records.split(';') {
        pool.execute(AssertSqlSafe(statement.to_owned())).await.unwrap();
    }
    pool.close().await;
}

async fn check(url: &str, bytes: fn(&str) -> String) {
    make_before(url, bytes).await;
    let store = open(url, settings()).await.unwrap();
    check_call(&store, "ended", 1, r#"{"returned":{"value":5}}"#).await;
    check_call(&store, "ended", 2, "conflict").await;
    assert_eq!(store.status().await.unwrap().calls, CallCounts { all: 2, running: 1 });
    let claimed = store.task_claim(9).await.unwrap();
    let mut requests: Vec<String> = claimed.into_iter().map(|task| task.request).collect();
    requests.sort();
    assert_eq!(requests, [r#"{"n":1}"#, r#"{"n":2}"#]);
    assert!(store.task_finish(&TaskId::new("first"), &returned(1)).await.unwrap());
    let done = store.task_find(&TaskId::new("done"), 0).await.unwrap().unwrap().task;
    assert_eq!((done.status, done.outcome), (TaskStatus::Completed, Some(returned(7))));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_earlier_version_wrote_is_there_after_an_upgrade() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?mode=rwc", folder.path().join("records.db").display());
    check(&url, |hex| format!("x'{hex}'")).await;
    check(&PostgresServer::shared().database().await, |hex| format!("decode('{hex}', 'hex')")).await;
}
