//! A server on standard streams that ends again and again leaves no process and no open file behind.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::process::{Serving, folder, processes, until};

const RESTARTS: usize = 100;
/// In the environment of everything that the source starts, whoever its parent is by now.
const MARK: &str = "LEAK_TEST_MARK";

/// Connections, open files and children of the server, the dead among them, and processes that its source started.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    connections: usize,
    files: Vec<String>,
    children: usize,
    started: usize,
}

fn held(serving: &Serving, mark: &str) -> Held {
    // Before the files: a call's connection, once closed, cannot be among them.
    let connections = connections(serving);
    let parent = format!("PPid:\t{}\n", serving.id());
    let child = |process: &Path| {
        fs::read_to_string(process.join("status")).is_ok_and(|status| status.contains(&parent))
    };
    // The server cannot be traced, so only root sees its files; others see none, before and after.
    let files = match fs::read_dir(format!("/proc/{}/fd", serving.id())) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => None,
        files => Some(files.expect("it runs")),
    };
    let kind = |file: fs::DirEntry| {
        let target = fs::read_link(file.path()).ok()?.to_string_lossy().into_owned();
        Some(target.split('[').next()?.to_owned())
    };
    let mut files: Vec<String> = files.into_iter().flatten().filter_map(|file| kind(file.ok()?)).collect();
    files.sort();
    Held { connections, files, children: processes(child).len(), started: started(mark) }
}

/// What callers opened and the server has not closed yet: it does so a moment after the caller has its answer.
fn connections(serving: &Serving) -> usize {
    const LISTENING: &str = "0A";
    let table = fs::read_to_string(format!("/proc/{}/net/tcp", serving.id())).expect("it runs");
    let (_, port) = serving.address.rsplit_once(':').expect("a port");
    let port = format!(":{:04X}", port.parse::<u16>().expect("a number"));
    let ours = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, _, state, _, _, _, _, _, inode, ..] = fields[..] else { return false };
        local.ends_with(&port) && state != LISTENING && inode != "0"
    };
    table.lines().filter(ours).count()
}

fn started(mark: &str) -> usize {
    let variable = format!("{MARK}={mark}");
    let marked = processes(|process| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
    });
    marked.len()
}

/// It ignores requests to end, and so do those it starts.
fn config(mark: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/mcp/upstream.py");
    format!(
        "store = \"memory\"\n[limits]\nbreaker_failures = 1000000\n[sources.Up]\nkind = \"mcp\"\nera = \"legacy\"\n\
         command = [\"python3\", {script:?}, \"legacy\", \"stubborn\"]\nenv = {{ {MARK} = {mark:?} }}\n\
         max_restart_pause_ms = 1\n"
    )
}

/// Calls until the server behind is there again; the text of the answer.
fn call(serving: &Serving, tool: &str) -> String {
    let answer = until("the server to be started again", || {
        let answer = serving.call(tool, &json!({}));
        (!answer.contains("started again in")).then_some(answer)
    });
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    answer["result"]["result"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_hundred_restarts_leave_nothing_behind() {
    let mark = format!("restarts-{}", std::process::id());
    let folder = folder(&config(&mark));
    let mut serving = Serving::start(folder.path());
    let first = call(&serving, "Up_pid");
    // The server behind, and the watcher that would kill it.
    let only_the_server = |held: &Held| (held.connections, held.children, held.started) == (0, 2, 1);
    let before =
        until("one process and the child watcher", || Some(held(&serving, &mark)).filter(only_the_server));
    for round in 0..RESTARTS {
        if round % 10 == 0 {
            assert!(!call(&serving, "Up_grandchild").is_empty());
            assert!(!call(&serving, "Up_runaway").is_empty());
        }
        call(&serving, "Up_die");
    }
    assert_ne!(call(&serving, "Up_pid"), first);
    let mut looks = 0..500;
    let after = until("an end of the looks", || {
        let now = held(&serving, &mark);
        (now == before || looks.next().is_none()).then_some(now)
    });
    assert_eq!(after, before);
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
    until("the last process to end", || (started(&mark) == 0).then_some(()));
}
