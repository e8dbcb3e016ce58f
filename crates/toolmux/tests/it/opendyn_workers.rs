//! The lives of worker processes: ended when idle, replaced when killed, gone with their server.

use std::path::Path;
use std::pin::pin;
use std::process::Command;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};
use toolmux_core::gateway::Settings;
use toolmux_core::limits::Limits;

use crate::opendyn_fixture::{LIBRARY, Libraries, document, function};
use crate::process::{Serving, until};

/// Processes whose parent is this one, in the order in which they were started.
fn workers_of(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("it is there").filter_map(|entry| {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let after = stat.rsplit_once(") ")?.1;
        (after.split(' ').nth(1)? == parent.to_string()).then_some(id)
    });
    let mut processes: Vec<u32> = processes.collect();
    processes.sort_unstable();
    processes
}

/// True when it has ended, whether or not its parent has looked.
fn is_gone(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, after)| after.starts_with('Z'))
}

/// A server whose only tool is `getpid` of the C library: the process that the library runs in.
fn serving(folder: &Path, settings: &str) -> Serving {
    let document = document(json!([function("getpid", "int", &[])]));
    std::fs::write(folder.join("libc.json"), document.to_string()).expect("written");
    let config = format!(
        "store = \"memory\"\n[sources.C]\nkind = \"opendyn\"\ndocument = \"libc.json\"\nlibrary = \"libc.so.6\"\n{settings}\n"
    );
    std::fs::write(folder.join("toolmux.toml"), config).expect("written");
    Serving::start(folder)
}

/// The process that answers; nothing when the call met one that was just killed.
fn worker(serving: &Serving) -> Option<u32> {
    let answer = serving.call("C_getpid", &json!({}));
    let (_, result) = answer.rsplit_once("\"result\":")?;
    result.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn kill(id: u32) {
    assert!(Command::new("kill").args(["-9", &id.to_string()]).status().expect("kill runs").success());
}

#[test]
fn a_server_that_is_killed_leaves_no_worker() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut serving = serving(folder.path(), "");
    let workers = until("a worker", || Some(workers_of(serving.id())).filter(|workers| !workers.is_empty()));
    serving.signal("KILL");
    serving.ended();
    until("the workers to end", || workers.iter().all(|id| is_gone(*id)).then_some(()));
}

#[test]
fn a_worker_that_nobody_needs_is_ended_and_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let serving = serving(folder.path(), "idle = \"100ms\"");
    let first = worker(&serving).expect("a number");
    until("the idle worker to end", || is_gone(first).then_some(()));
    until("its spare to end", || workers_of(serving.id()).is_empty().then_some(()));
    assert_ne!(worker(&serving).expect("a number"), first);
}

#[test]
fn a_worker_and_its_spare_may_be_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let serving = serving(folder.path(), "");
    let first = worker(&serving).expect("a number");
    let spare = until("a spare", || workers_of(serving.id()).into_iter().find(|id| *id != first));
    kill(spare);
    kill(first);
    until("both to end", || (is_gone(first) && is_gone(spare)).then_some(()));
    let next = until("the next worker", || worker(&serving));
    assert!(next != first && next != spare);
}

#[tokio::test]
async fn a_caller_that_leaves_takes_nobodys_answer_along() {
    let add = function("add", "int", &[("a", "int"), ("b", "int")]);
    let sleep = function("sleep_ms", "int", &[("n", "int")]);
    let libraries = Libraries::fixture(json!([add, sleep]), Value::Null).await;
    for round in 0..20 {
        let left = libraries.call("Fixture.sleep_ms", json!({ "n": 20 }));
        assert!(left.now_or_never().is_none());
        let sum = libraries.call("Fixture.add", json!({ "a": round, "b": 1 })).await;
        assert_eq!(sum, Ok(json!({ "result": round + 1 })));
    }
    libraries.close().await;
}

#[tokio::test]
async fn a_call_that_runs_while_its_library_is_closed_may_have_run() {
    let limits = Limits { drain: Duration::from_millis(1), ..Limits::default() };
    let libraries = Libraries::under(Settings { limits, ..Settings::default() });
    let sleep = document(json!([function("sleep_ms", "int", &[("n", "int")])]));
    libraries.add("Fixture", &sleep, &LIBRARY, Value::Null).await;
    let mut running = pin!(libraries.call("Fixture.sleep_ms", json!({ "n": 60_000 })));
    assert!(running.as_mut().now_or_never().is_none(), "it is on its way to the worker");
    let (told, ()) = tokio::join!(running, libraries.close());
    assert!(told.as_ref().is_err_and(|words| words.contains("may have run")), "{told:?}");
}
