//! A server killed at random moments, again and again: no accepted task is lost, none that must not run
//! twice does, and every one ends.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use toolmux_core::gateway::Credential;
use toolmux_core::task::{KEPT, TaskId};
use toolmux_store::StoreSettings;

use crate::gateways::{Work, end, gateway, request};
use crate::postgres_server::PostgresServer;

/// How often the server is killed, if there is time.
const ROUNDS: u64 = 200;
/// How long the killing goes on at most.
const LONGEST: Duration = Duration::from_secs(70);
/// How long a server lives at most.
const LIFE: u64 = 150;

/// Tells the child what to work on.
const URL: &str = "TOOLMUX_TEST_CRASH_URL";
const LOG: &str = "TOOLMUX_TEST_CRASH_LOG";
const ROUND: &str = "TOOLMUX_TEST_CRASH_ROUND";

fn settings() -> StoreSettings {
    StoreSettings { lease: Duration::from_millis(600), ..StoreSettings::default() }
}

/// Writes a line for every run of a tool, so that runs can be counted when the process is dead.
fn work(log: &Path) -> Work {
    let log = log.to_owned();
    Arc::new(move |tool, n| {
        let mut file = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        file.write_all(format!("{tool} {n}\n").as_bytes()).unwrap();
        Box::pin(until_worked(Duration::from_millis(n % 7)))
    })
}

/// A tool takes a while, so that some are killed at work.
async fn until_worked(while_: Duration) {
    tokio::time::sleep(while_).await;
}

/// Any moment of a short life.
fn until_a_random_moment() {
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_nanos();
    std::thread::sleep(Duration::from_millis(u64::from(nanos / 1_000) % LIFE));
}

/// The server that is killed: this very program, told to submit tasks until then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let (Ok(url), Ok(log), Ok(round)) = (std::env::var(URL), std::env::var(LOG), std::env::var(ROUND)) else {
        return;
    };
    let gateway = gateway(&url, settings(), work(Path::new(&log))).await;
    let caller = gateway.admit(Credential::None, None).unwrap();
    println!("\nready");
    let first = round.parse::<u64>().unwrap() * 1_000_000;
    for n in first.. {
        let tool = if n % 2 == 0 { "Kit_once" } else { "Kit_again" };
        if let Ok(id) = gateway.submit(&caller, request(tool, n), KEPT).await {
            println!("accepted {id}");
        }
    }
}

/// Runs the child until a random moment; gives the tasks it said it accepted.
fn round(url: &str, log: &Path, round: u64) -> Vec<TaskId> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture"])
        .env(URL, url)
        .env(LOG, log)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while lines.next().expect("the child starts").unwrap() != "ready" {}
    let killer = std::thread::spawn(move || {
        until_a_random_moment();
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let accepted = lines.map_while(Result::ok);
    let accepted = accepted.filter_map(|line| line.strip_prefix("accepted ").map(TaskId::new)).collect();
    killer.join().unwrap();
    accepted
}

async fn check(url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("runs");
    let (started, mut accepted, mut rounds) = (Instant::now(), Vec::new(), 0);
    while rounds < ROUNDS && started.elapsed() < LONGEST {
        rounds += 1;
        let (url, log) = (url.to_owned(), log.clone());
        accepted.extend(tokio::task::spawn_blocking(move || round(&url, &log, rounds)).await.unwrap());
    }
    let survivor = gateway(url, settings(), work(&log)).await;
    let mut ends: HashMap<String, usize> = HashMap::new();
    for id in &accepted {
        *ends.entry(end(&survivor, id).await).or_default() += 1;
    }
    survivor.close(Duration::from_secs(5)).await;
    let mut runs: HashMap<String, usize> = HashMap::new();
    for line in std::fs::read_to_string(&log).unwrap_or_default().lines() {
        *runs.entry(line.to_owned()).or_default() += 1;
    }
    let twice: Vec<_> = runs.iter().filter(|(line, count)| line.starts_with("once") && **count > 1).collect();
    eprintln!(
        "{rounds} rounds, {} accepted, {ends:?}, {} runs",
        accepted.len(),
        runs.values().sum::<usize>()
    );
    assert!(twice.is_empty(), "ran twice: {twice:?}");
    assert!(!accepted.is_empty());
    assert!(ends.keys().all(|end| end == "completed" || end == "failed"), "{ends:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_survives_being_killed() {
    let folder = tempfile::tempdir().unwrap();
    check(&format!("sqlite:{}", folder.path().join("records.db").display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_survives_servers_being_killed() {
    check(&PostgresServer::shared().database().await).await;
}
