//! What the log says of a record store that fails: the cause once, however many calls are refused.

use serde_json::json;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};

use crate::postgres_server::PostgresServer;
use crate::process::{Serving, folder, until};

const CALLS: usize = 30;

const SHELL: &str = r#"
[sources.Shell]
kind = "command"

[sources.Shell.tools.count]
description = "Changes something"
command = ["echo", "counted"]
"#;

fn call(serving: &Serving, id: &str) -> (u16, String) {
    let body = json!({ "tool_id": "Shell.count", "input": {}, "call_id": id });
    serving.post("/tools/call", "", body.to_string().as_bytes())
}

#[test]
fn a_removed_file_is_named_once_in_the_log() {
    let folder = folder(&format!("store = \"sqlite:records.db\"\n{SHELL}"));
    let serving = Serving::start(folder.path());
    std::fs::remove_file(folder.path().join("records.db")).unwrap();
    for number in 0..CALLS {
        let (_, told) = call(&serving, &number.to_string());
        assert!(told.contains("must be restarted") && !told.contains("records.db"), "{told}");
    }
    let log = serving.told("records.db` was removed");
    assert_eq!(log.matches("records.db").count(), 1, "{log}");
    assert_eq!(log.matches("WARN").count(), 0, "{log}");
}

/// New sessions of a database accept writes or not; those that there are end.
async fn set_read_only(url: &str, value: &str) {
    let (server, name) = url.rsplit_once('/').unwrap();
    let mut connection = PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    for statement in [format!("ALTER DATABASE {name} SET default_transaction_read_only = {value}"), end] {
        sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_only_reads_is_no_error_in_the_log() {
    let url = PostgresServer::shared().database().await;
    let folder = folder(&format!("store = \"{url}?target_session_attrs=read-write\"\n{SHELL}"));
    let serving = Serving::start(folder.path());
    set_read_only(&url, "on").await;
    let (status, told) =
        until("the host to be noticed", || Some(call(&serving, "1")).filter(|(status, _)| *status != 200));
    assert!(status == 400 && told.contains("The record store cannot be reached"), "{told}");
    set_read_only(&url, "off").await;
    until("writes to be accepted again", || (call(&serving, "2").0 == 200).then_some(()));
    let log = serving.told("the record store works again");
    assert!(log.contains("read-only") && !log.contains("ERROR"), "{log}");
}
