//! "It did not run" is only said when it is true, of C libraries: workers that are killed before, while and after a
//! function runs. The function counts its runs in a file.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;

use futures_util::FutureExt;
use serde_json::{Value, json};
use toolmux_core::outcome::Outcome;
use toolmux_core::refusal::Refusal;

use crate::opendyn_fixture::{Libraries, function};
use crate::process::until;

/// Longer than any test.
const LONG_MS: i32 = 600_000;

/// A library whose functions note their runs, and the files in which they do.
struct Noting {
    libraries: Libraries,
    folder: tempfile::TempDir,
}

impl Noting {
    /// One that pauses after so many crashes within a minute; 0 is never.
    async fn new(crashes: usize) -> Self {
        let parameters =
            [("file", "char*"), ("killed_before", "int"), ("killed_after", "int"), ("ms", "int")];
        let functions = json!([function("note", "int", &parameters), function("process_id", "int", &[])]);
        let settings = json!({ "sandbox": "off", "limits": { "crashes": crashes } });
        let libraries = Libraries::fixture(functions, settings).await;
        Noting { libraries, folder: tempfile::tempdir().expect("a folder") }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ran(&self, name: &str) -> usize {
        std::fs::read(self.file(name)).map_or(0, |runs| runs.len())
    }

    async fn note(&self, name: &str, more: Value) -> &'static str {
        let mut arguments =
            json!({ "file": self.file(name), "killed_before": 0, "killed_after": 0, "ms": 0 });
        let more = more.as_object().cloned().unwrap_or_default();
        arguments.as_object_mut().expect("an object").extend(more);
        answered(&self.libraries.outcome("Fixture.note", arguments).await)
    }

    /// The process that the library runs in.
    async fn worker(&self) -> String {
        let worker = self.libraries.call("Fixture.process_id", json!({})).await.expect("a number");
        worker["result"].to_string()
    }

    /// Judges a call by how often its function ran.
    fn judge(&self, name: &str, answer: &str, expect: &[&str]) {
        let ran = self.ran(name);
        assert!(expect.contains(&answer), "{name}: {answer} instead of {expect:?}, ran {ran} times");
        assert!(ran <= 1, "{name}: {answer}, ran {ran} times");
        assert!(ran == 0 || answer != "refused", "{name}: refused, but ran");
        assert!(ran == 1 || answer != "returned", "{name}: returned, but did not run");
    }
}

fn answered(answer: &Result<Outcome, Refusal>) -> &'static str {
    match answer {
        Ok(Outcome::Returned(_)) => "returned",
        Ok(Outcome::Failed(error)) if error.message.public.ends_with("may have run") => "lost",
        Ok(Outcome::Failed(_)) => "failed",
        Err(_) => "refused",
    }
}

fn signal(process: &str, signal: &str) {
    let sent = Command::new("kill").args([signal, process]).status().expect("kill runs");
    assert!(sent.success(), "{signal} {process}");
}

fn is_there(file: &Path) -> Option<()> {
    file.exists().then_some(())
}

#[tokio::test]
async fn a_function_whose_worker_is_killed_is_not_said_not_to_have_run() {
    let noting = Noting::new(0).await;
    noting.judge("good", noting.note("good", json!({})).await, &["returned"]);
    let before = noting.note("before", json!({ "killed_before": 1 })).await;
    noting.judge("before", before, &["failed"]);
    assert_eq!(noting.ran("before"), 0);
    let after = noting.note("after", json!({ "killed_after": 1 })).await;
    noting.judge("after", after, &["failed"]);
    assert_eq!(noting.ran("after"), 1);
    noting.judge("again", noting.note("again", json!({})).await, &["returned"]);
    noting.libraries.close().await;
}

#[tokio::test]
async fn a_worker_that_is_killed_between_calls_costs_one_call_at_most() {
    let noting = Noting::new(0).await;
    // The worker is killed before the call is written, and while it lies in the pipe that nobody reads.
    signal(&noting.worker().await, "-KILL");
    noting.judge("idle", noting.note("idle", json!({})).await, &["returned", "failed"]);
    let worker = noting.worker().await;
    signal(&worker, "-STOP");
    let mut unread = pin!(noting.note("unread", json!({})));
    assert!(unread.as_mut().now_or_never().is_none(), "it is on its way to the worker");
    signal(&worker, "-KILL");
    noting.judge("unread", unread.await, &["returned", "failed"]);
    noting.judge("again", noting.note("again", json!({})).await, &["returned"]);
    noting.libraries.close().await;
}

#[tokio::test]
async fn calls_behind_one_whose_worker_is_killed_run_once() {
    let noting = Noting::new(0).await;
    let worker = noting.worker().await;
    let mut running = pin!(noting.note("running", json!({ "ms": LONG_MS })));
    assert!(running.as_mut().now_or_never().is_none(), "it is on its way to the worker");
    let names: Vec<String> = (0..8).map(|index| format!("behind{index}")).collect();
    let calls = names.iter().map(|name| noting.note(name, json!({})));
    let mut behind = pin!(futures_util::future::join_all(calls));
    assert!(behind.as_mut().now_or_never().is_none(), "they wait for the worker");
    until("the function to run", || is_there(&noting.file("running")));
    signal(&worker, "-KILL");
    let (running, behind) = tokio::join!(running, behind);
    noting.judge("running", running, &["failed"]);
    for (name, answer) in names.iter().zip(behind) {
        noting.judge(name, answer, &["returned"]);
    }
    noting.libraries.close().await;
}

#[tokio::test]
async fn a_library_that_is_paused_runs_nothing() {
    let noting = Noting::new(1).await;
    let crash = noting.note("crash", json!({ "killed_after": 1 })).await;
    noting.judge("crash", crash, &["failed"]);
    noting.judge("paused", noting.note("paused", json!({})).await, &["refused"]);
    assert_eq!(noting.ran("paused"), 0);
    noting.libraries.close().await;
}
