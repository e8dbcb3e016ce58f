//! A caller fills what the server keeps, to have it forget what it keeps for others, or to use up its memory.

use std::path::Path;

use serde_json::{Value, json};

use crate::process::{Serving, folder, stdout, toolmux, until};

/// One tool that counts its runs, one with a result of a megabyte, one that waits, one that only alice may use.
const TOOLS: &str = r#"
[sources.Shell]
kind = "command"

[sources.Shell.tools.count]
description = "Counts its runs"
command = ["sh", "-c", "echo x >> ran; wc -l < ran"]

[sources.Shell.tools.large]
description = "Gives a megabyte"
command = ["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' a"]

[sources.Shell.tools.wait]
description = "Waits for a file"
command = ["sh", "-c", "touch started; while [ ! -e go ]; do sleep 0.01; done"]
parameters.text = { type = "string" }

[toolsets.few]
tools = ["Shell.count"]

[keys.alice]
key = "alice-key"
[keys.mallory]
key = "mallory-key"
[keys.fenced]
key = "fenced-key"
toolset = "few"
[keys.alice_fenced]
key = "alice-fenced-key"
toolset = "few"
"#;

const ALICE: &str = "alice-key";
const MALLORY: &str = "mallory-key";

fn serving(settings: &str) -> (tempfile::TempDir, Serving) {
    let folder = folder(&format!("{settings}\n{TOOLS}"));
    let serving = Serving::start(folder.path());
    (folder, serving)
}

fn bearer(key: &str) -> String {
    format!("authorization: Bearer {key}\r\n")
}

/// Calls by an id over OXP.
fn call(serving: &Serving, key: &str, tool: &str, id: &str) -> (u16, Value) {
    let body = json!({ "tool_id": format!("Shell.{tool}"), "call_id": id, "input": {} }).to_string();
    let (status, answer) = serving.post("/tools/call", &bearer(key), body.as_bytes());
    (status, serde_json::from_str(&answer).unwrap_or(Value::String(answer)))
}

fn runs(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("ran")).unwrap_or_default().lines().count()
}

fn memory(serving: &Serving) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.id())).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("Linux says it");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

fn check_flooded_ids(settings: &str, prune: impl Fn(&Path)) {
    let (folder, serving) = serving(settings);
    let first = call(&serving, ALICE, "count", "pay");
    assert_eq!((first.0, runs(folder.path())), (200, 1), "{first:?}");
    for id in 0..30 {
        assert_eq!(call(&serving, MALLORY, "count", &id.to_string()).0, 200);
    }
    prune(folder.path());
    assert_eq!(runs(folder.path()), 31);
    let again = call(&serving, ALICE, "count", "pay");
    assert_eq!(again.1["result"], first.1["result"], "the recorded outcome");
    assert_eq!(runs(folder.path()), 31, "the tool of alice ran once");
}

#[test]
fn a_flood_of_ids_does_not_make_the_retry_of_another_run_again() {
    check_flooded_ids("store = \"memory\"\n[retention]\ncalls = 20", |_| ());
    let prune = |folder: &Path| {
        let pruned = toolmux(folder, &["db", "prune"]);
        assert!(stdout(&pruned).contains("20 calls"), "{}", stdout(&pruned));
    };
    check_flooded_ids("store = \"sqlite:records.db\"\n[retention]\ncalls = 20", prune);
}

#[test]
fn results_over_the_budget_do_not_fill_the_memory_and_their_ids_run_nothing() {
    let (folder, serving) = serving("store = \"memory\"\n[retention]\ncalls_bytes = \"4MiB\"");
    let first = call(&serving, ALICE, "count", "pay");
    for id in 0..5 {
        assert_eq!(call(&serving, MALLORY, "large", &id.to_string()).0, 200);
    }
    let before = memory(&serving);
    for id in 5..85 {
        assert_eq!(call(&serving, MALLORY, "large", &id.to_string()).0, 200);
    }
    let grown = memory(&serving).saturating_sub(before);
    assert!(grown < 40_000, "{grown} KiB more for 80 results of 1 MB with a budget of 4 MiB");
    let (status, kept) = call(&serving, MALLORY, "large", "84");
    assert!(status == 200 && kept.to_string().len() > 1_000_000);
    let (_, gone) = call(&serving, MALLORY, "large", "0");
    assert!(gone.to_string().contains("The tool ran, but its result is not kept any more"), "{gone}");
    assert_eq!(call(&serving, ALICE, "count", "pay").1["result"], first.1["result"]);
    assert_eq!(runs(folder.path()), 1);
}

#[test]
fn large_tasks_of_one_caller_do_not_fill_the_memory() {
    let settings = "store = \"memory\"\n[limits]\ntask_concurrency = 1\ntask_backlog_bytes = \"1MiB\"";
    let (folder, serving) = serving(settings);
    let large = json!({ "text": "x".repeat(600_000) }).to_string();
    let submit = |key: &str, body: &str| serving.post("/call_tool/Shell_wait", &bearer(key), body.as_bytes());
    assert_eq!(submit(MALLORY, &large).0, 200);
    assert_eq!(submit(MALLORY, &large).0, 200);
    let (status, answer) = submit(MALLORY, &large);
    assert_eq!(status, 429, "{answer}");
    assert!(answer.contains("hold") && answer.contains("the limit is 1048576"), "{answer}");
    assert_eq!(submit(ALICE, &large).0, 200, "alice has a share of her own");
    std::fs::write(folder.path().join("go"), "").expect("written");
    until("room for mallory", || (submit(MALLORY, &large).0 == 200).then_some(()));
}

#[test]
fn refusals_of_one_caller_do_not_evict_the_audit_of_others() {
    let settings = "store = \"sqlite:records.db\"\n[retention]\naudit = 10\nrefusals = 10";
    let (folder, serving) = serving(settings);
    call(&serving, "alice-fenced-key", "large", "1");
    let (status, task) = serving.post("/call_tool/Shell_wait", &bearer(ALICE), br#"{"text":""}"#);
    assert_eq!(status, 200, "{task}");
    let task = task.split('"').nth(3).expect("a task id").to_owned();
    let (status, answer) = serving.get(&format!("/cancel/{task}"), &bearer(ALICE));
    assert_eq!(status, 200, "{answer}");
    for id in 0..40 {
        call(&serving, "fenced-key", "large", &id.to_string());
    }
    let audit = || {
        let lines = stdout(&toolmux(folder.path(), &["db", "audit", "--json"]));
        let count = |caller: &str| lines.lines().filter(|line| line.contains(caller)).count();
        [count("\"alice\""), count("\"alice_fenced\""), count("\"fenced\"")]
    };
    until("the audit", || (audit() == [1, 1, 40]).then_some(()));
    let pruned = toolmux(folder.path(), &["db", "prune"]);
    assert!(stdout(&pruned).contains("35 audit records"), "{}", stdout(&pruned));
    assert_eq!(audit(), [1, 1, 5]);
}
