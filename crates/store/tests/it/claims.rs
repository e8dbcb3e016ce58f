//! What claiming costs: the rows and pages it touches do not grow with what waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection, Executor, Row};
use toolmux_core::ports::store::Store;
use toolmux_store::open;

use crate::contract::settings;
use crate::contract_tasks::new;
use crate::postgres_server::PostgresServer;

/// How many are claimed at once.
const SLOTS: usize = 8;
const FEW: u64 = 100;
const MANY: u64 = 100_000;

/// Tasks that wait: of 50 callers, nine of ten ready for any server, the others put off or of other servers.
const FILL: &str = "
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {many})
INSERT INTO tasks (id, caller, tool, status, request, repeatable, portable, holder, turn, seq, created, updated,
                   due, keep, place)
SELECT 'task ' || n, 'caller ' || (n % 50), 'Kit_tool', 'pending', '{}', 0,
       CASE WHEN n % 20 = 1 THEN 0 ELSE 1 END, 'somebody', 0, 1, n, n,
       CASE WHEN n % 20 = 2 THEN 1000000000000000 ELSE 0 END, 1000, n / 50
FROM n";

fn fill(many: u64) -> AssertSqlSafe<String> {
    AssertSqlSafe(FILL.replace("{many}", &many.to_string()))
}

/// The statement of the store with its values.
fn claim(skip_locked: &str) -> String {
    include_str!("../../sql/task_claim.sql")
        .replace("/* skip locked */", skip_locked)
        .replace("$1", "'me'")
        .replace("$2", "7")
        .replace("$3", "2000000")
        .replace("$4", &SLOTS.to_string())
}

/// Instructions of SQLite's virtual machine: each row that is looked at costs several.
async fn sqlite_instructions(many: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("records.db").display());
    open(&url, settings()).await.unwrap().close().await;
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    connection.execute(fill(many)).await.unwrap();
    let instructions = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&instructions);
    let count = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        true
    };
    connection.lock_handle().await.unwrap().set_progress_handler(1, count);
    let claimed = connection.fetch_all(AssertSqlSafe(claim(""))).await.unwrap();
    assert_eq!(claimed.len(), SLOTS);
    instructions.load(Ordering::Relaxed)
}

#[tokio::test]
async fn claiming_on_sqlite_costs_the_same_however_many_tasks_wait() {
    let (few, many) = (sqlite_instructions(FEW).await, sqlite_instructions(MANY).await);
    eprintln!("SQLite: {few} instructions with {FEW} tasks, {many} with {MANY}");
    // The expected cost is the same to the instruction; another version of SQLite may plan a little differently.
    assert!(many < few + few / 10, "{few} instructions with {FEW} tasks, {many} with {MANY}");
}

/// The plan with what it did, and how many pages it touched.
async fn postgres_plan(many: u64) -> (String, u64) {
    let url = PostgresServer::shared().database().await;
    open(&url, settings()).await.unwrap().close().await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection.execute(fill(many)).await.unwrap();
    connection.execute("VACUUM ANALYZE tasks").await.unwrap();
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS) {}", claim("FOR UPDATE SKIP LOCKED"));
    let rows = connection.fetch_all(AssertSqlSafe(explain)).await.unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row.try_get(0).unwrap()).collect();
    // The first is that of the whole statement.
    let buffers = lines.iter().find(|line| line.contains("Buffers: shared")).unwrap();
    let pages = buffers.split_whitespace().filter_map(|word| {
        word.strip_prefix("hit=").or_else(|| word.strip_prefix("read="))?.parse::<u64>().ok()
    });
    (lines.join("\n"), pages.sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn claiming_on_postgres_costs_the_same_however_many_tasks_wait() {
    let ((_, few), (plan, many)) = (postgres_plan(FEW).await, postgres_plan(MANY).await);
    eprintln!("PostgreSQL: {few} pages with {FEW} tasks, {many} with {MANY}");
    assert!(!plan.contains("Seq Scan"), "{plan}");
    // A tree of an index with more entries has one or two more levels, in each of the indexes of each task claimed.
    assert!(many < 3 * few, "{few} pages with {FEW} tasks, {many} with {MANY}: {plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_claim_at_once_claim_different_tasks_and_as_many_as_they_asked_for() {
    let url = PostgresServer::shared().database().await;
    let mut servers: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..4 {
        servers.push(open(&url, settings()).await.unwrap());
    }
    for number in 0..4 * SLOTS {
        servers[0].task_submit(&new(&format!("caller {}", number % 3))).await.unwrap();
    }
    let claims = servers.iter().map(|server| {
        let server = Arc::clone(server);
        tokio::spawn(async move { server.task_claim(SLOTS).await.unwrap() })
    });
    let mut claimed = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        let tasks = claim.await.unwrap();
        assert_eq!(tasks.len(), SLOTS, "no claim is shortened by another");
        claimed.extend(tasks.into_iter().map(|task| task.id));
    }
    claimed.sort();
    claimed.dedup();
    assert_eq!(claimed.len(), 4 * SLOTS);
}
