//! "It did not run" is only said when it is true, of child processes: servers on standard streams, and commands.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::Progress;

use crate::did_not_run::{LONG, gateway, judge, told};
use crate::mcp_child::{child, noted};

/// How long a call may take that may never be answered.
const SHORT: Duration = Duration::from_secs(1);

/// One source of child processes that note in a folder when the tool runs, and calls of its tools.
async fn check_children(kind: &str, folder: &Path, table: Value, rows: &[(&str, &[&str])]) {
    // Some never answer; one that cannot start again is asked until it is clear.
    let patience = if rows.iter().any(|(tool, _)| *tool == "die") { LONG } else { SHORT };
    let gateway = gateway(kind, table.clone(), patience).await;
    for (tool, expect) in rows {
        let before = noted(folder, "runs");
        let told = told(&gateway, tool).await;
        judge(&format!("{kind} {tool} {table}"), told, noted(folder, "runs") - before, expect);
    }
    gateway.close(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_server_on_standard_streams_may_have_run_what_it_was_told() {
    let rows: [(&str, &[&str]); 8] = [
        ("good", &["returned"]),
        ("unread", &["lost"]),
        ("silent", &["lost"]),
        ("half", &["lost"]),
        ("garbage", &["lost"]),
        ("foreign", &["lost"]),
        ("long", &["lost"]),
        ("shut", &["lost"]),
    ];
    for (mode, expect) in rows {
        let folder = tempfile::tempdir().expect("a folder");
        check_children("mcp", folder.path(), child(folder.path(), "modern", mode), &[("t", expect)]).await;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let rows: &[(&str, &[&str])] = &[("t", &["returned"]), ("die", &["lost"]), ("t", &["refused"])];
    check_children("mcp", folder.path(), child(folder.path(), "modern", "once"), rows).await;
}

#[tokio::test]
async fn a_command_did_not_run_when_it_did_not_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs").display().to_string();
    let shell = |script: &str| {
        let command = ["sh".to_owned(), "-c".to_owned(), format!("echo x >> {runs}; {script}")];
        json!({ "description": "d", "command": command, "output": "json" })
    };
    let table = json!({ "max_output": 1000, "tools": {
        "good": shell("echo 1"),
        "status": shell("echo no >&2; exit 7"),
        "signal": shell("kill -SEGV $$"),
        "garbage": shell("echo '<html>'"),
        "silent": shell("true"),
        "long": shell("head -c 5000 /dev/zero"),
        "endless": shell("sleep 30"),
        "missing": { "description": "d", "command": ["/nowhere/to/be/found"] },
    } });
    let rows: &[(&str, &[&str])] = &[
        ("good", &["returned"]),
        ("status", &["failed"]),
        ("signal", &["failed"]),
        ("garbage", &["failed"]),
        ("silent", &["failed"]),
        ("long", &["failed"]),
        ("endless", &["lost"]),
        ("missing", &["refused"]),
    ];
    check_children("command", folder.path(), table, rows).await;
}

#[tokio::test]
async fn a_command_that_fails_says_how_it_ended_and_what_it_printed_last() {
    let tool = |script: &str| json!({ "description": "d", "command": ["sh", "-c", script] });
    let table = json!({ "tools": {
        "status": tool("exit 7"),
        "words": tool("echo out; echo no such file >&2; exit 1"),
        "output": tool("echo out; exit 1"),
        "signal": tool("kill -SEGV $$"),
        "flood": tool("yes flood | head -c 100000 >&2; echo the end >&2; exit 2"),
    } });
    let gateway = gateway("command", table, LONG).await;
    for (tool, expect) in [
        ("status", "`sh` ended with status 7 and printed nothing"),
        ("words", "`sh` ended with status 1: no such file"),
        ("output", "`sh` ended with status 1: out"),
        ("signal", "`sh` was killed by signal 11 (SIGSEGV) and printed nothing"),
    ] {
        assert_eq!(failure(&gateway, tool).await, expect);
    }
    let flood = failure(&gateway, "flood").await;
    assert!(flood.starts_with("`sh` ended with status 2: …") && flood.ends_with("the end"), "{flood}");
    assert!(flood.len() < 5_000, "{}", flood.len());
}

async fn failure(gateway: &Arc<Gateway>, tool: &str) -> String {
    let caller = gateway.admit(Credential::None, None).expect("open");
    let request = Request::new(ToolRef::flat(tool), Arguments::from_map(serde_json::Map::new()));
    match gateway.call(&caller, request, &Progress::unheard()).await {
        Ok(Outcome::Failed(error)) => error.message.public,
        other => panic!("{other:?}"),
    }
}
