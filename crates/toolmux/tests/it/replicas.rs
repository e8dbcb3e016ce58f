//! Several server processes on one PostgreSQL, and what becomes of one whose PostgreSQL goes away.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::postgres_server::PostgresServer;
use crate::process::{Serving, folder, request, until};

const REQUESTS: usize = 1_000;
/// How long the database is away.
const OUTAGE: Duration = Duration::from_secs(10);
/// How long anything may take before a test fails.
const TEST_TIMEOUT: Duration = Duration::from_mins(2);

fn config(store: &str) -> String {
    format!(
        r#"
store = "{store}"

[sources.Shell]
kind = "command"

[sources.Shell.tools.count]
description = "Leaves a line in a file each time it runs"
command = ["sh", "-c", "echo ran >> runs; echo counted"]

[sources.Shell.tools.read]
description = "Changes nothing"
command = ["echo", "read"]

[tools."Shell.read"]
hints = {{ read_only = true }}
"#
    )
}

fn call(tool: &str, id: Option<&str>) -> Vec<u8> {
    let mut body = json!({ "tool_id": format!("Shell.{tool}"), "input": {} });
    if let Some(id) = id {
        body["call_id"] = json!(id);
    }
    body.to_string().into_bytes()
}

/// As many connections as the system lets us have.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("up to the maximum is allowed");
}

/// What differs between two answers that say the same: how long each took.
fn outcome(answer: &str) -> String {
    let body = answer.split_once("\r\n\r\n").map_or(answer, |(_, body)| body);
    let mut body: Value = serde_json::from_str(body).unwrap_or_else(|_| json!(answer));
    if let Some(members) = body.as_object_mut() {
        members.remove("duration");
    }
    body.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_with_one_id_over_three_processes_run_the_tool_once() {
    raise_open_files();
    let folder = folder(&config(&PostgresServer::shared().database().await));
    let servers = [(); 3].map(|()| Serving::start(folder.path()));
    let bytes = request("POST /tools/call", "", &call("count", Some("one")));
    let mut asking = JoinSet::new();
    for index in 0..REQUESTS {
        let (address, bytes) = (servers[index % 3].address.clone(), bytes.clone());
        asking.spawn(async move {
            let mut stream = TcpStream::connect(address).await.expect("it listens");
            stream.write_all(&bytes).await.expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("an answer");
            outcome(&answer)
        });
    }
    let answers = tokio::time::timeout(TEST_TIMEOUT, asking.join_all()).await.expect("all are answered");
    assert_eq!(answers.len(), REQUESTS);
    let answers: HashSet<String> = answers.into_iter().collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| answer.contains("counted")), "{answers:?}");
    let runs = std::fs::read_to_string(folder.path().join("runs")).expect("the tool ran");
    assert_eq!(runs, "ran\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_outlives_an_outage_of_its_database() {
    let mut postgres = PostgresServer::private();
    let folder = folder(&config(&postgres.database().await));
    let serving = Serving::start(folder.path());
    let ask = |tool: &str, id: Option<&str>| serving.post("/tools/call", "", &call(tool, id));
    assert!(ask("count", Some("before")).1.contains("counted"));
    postgres.stop();
    let stopped = Instant::now();
    while stopped.elapsed() < OUTAGE {
        let (status, told) = ask("count", Some("during"));
        assert_eq!(status, 400, "{told}");
        assert!(told.contains("The record store cannot be reached"), "{told}");
        for (tool, id) in [("read", Some("during")), ("count", None)] {
            let (status, told) = ask(tool, id);
            assert_eq!(status, 200, "{tool}: {told}");
        }
        assert!(serving.get("/tools", "").1.contains("Shell.count"));
        assert_eq!(serving.get("/health", "").0, 200);
    }
    postgres.start();
    let told = until("the database to be used again", || {
        let (status, told) = ask("count", Some("during"));
        (status == 200).then_some(told)
    });
    assert!(told.contains("counted"), "{told}");
    let counted = |told: &str| outcome(told).contains("counted");
    assert!(counted(&ask("count", Some("before")).1), "what was recorded is still known");
    let before = std::fs::read_to_string(folder.path().join("runs")).expect("the tool ran").lines().count();
    assert!(counted(&ask("count", Some("during")).1));
    let after = std::fs::read_to_string(folder.path().join("runs")).expect("the tool ran").lines().count();
    assert_eq!(before, after, "the same id again runs nothing");
    let log = serving.told("the record store works again");
    let is_warning = |line: &&str| line.contains("WARN") && line.contains("record store");
    let warnings: Vec<&str> = log.lines().filter(is_warning).collect();
    assert_eq!(warnings.len(), 1, "one line for the whole outage: {warnings:#?}");
    assert!(warnings[0].contains("the record store fails"), "{warnings:#?}");
}
