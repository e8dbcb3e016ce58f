//! `toolmux calls`: receipts at a running server and in its store, who may read them, and what shows that somebody
//! changed them.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection};

use crate::process::{Serving, folder, request, stderr, stdout, toolmux, until};

const SHELL: &str = r#"
[sources.Shell]
kind = "command"

[sources.Shell.tools.echo]
description = "Says it back"
command = ["echo", "{text}"]
parameters.text = { type = "string" }

[sources.Shell.tools.delay]
description = "Waits for ever"
command = ["sleep", "600"]

[sources.Shell.tools.fail]
description = "Fails"
command = ["false"]
"#;

const KEYS: &str = r#"
[toolsets.some]
tools = ["Shell.echo"]

[keys.alice]
key = "alice-key"
toolset = "some"

[keys.bob]
key = "bob-key"

[keys.ops]
key = "ops-key"
operator = true
"#;

fn bearer(name: &str) -> String {
    format!("authorization: Bearer {name}-key\r\n")
}

fn oxp(serving: &Serving, headers: &str, tool: &str, input: &Value) -> (u16, String) {
    let body = json!({ "tool_id": format!("Shell.{tool}"), "input": input });
    serving.post("/tools/call", headers, body.to_string().as_bytes())
}

/// What `toolmux calls … --json` prints.
fn calls(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let output = toolmux(folder, &[&["calls", "--json"], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn texts<'a>(calls: &'a [Value], member: &str) -> Vec<&'a str> {
    calls.iter().map(|call| call[member].as_str().unwrap_or_default()).collect()
}

#[test]
fn operators_see_who_called_what_and_nobody_else_does() {
    let folder = folder(&format!("store = \"memory\"\n{KEYS}{SHELL}"));
    std::fs::write(folder.path().join("ops.key"), "ops-key").unwrap();
    let serving = Serving::start(folder.path());
    let url = format!("http://{}", serving.address);
    assert_eq!(oxp(&serving, &bearer("alice"), "echo", &json!({ "text": "hello" })).0, 200);
    oxp(&serving, &bearer("alice"), "fail", &json!({}));
    oxp(&serving, &bearer("bob"), "fail", &json!({}));
    let open = json!({ "jsonrpc": "2.0", "method": "Shell_echo", "params": {}, "id": "1" }).to_string();
    serving.post("/opentool/call", &bearer("bob"), open.as_bytes());
    let at =
        |more: &[&str]| calls(folder.path(), &[&["--url", &url, "--key-file", "ops.key"], more].concat());
    let all = at(&[]);
    assert_eq!(texts(&all, "verdict"), ["invalid", "allowed", "not_permitted", "allowed"]);
    assert_eq!(texts(&all, "protocol"), ["opentool", "oxp", "oxp", "oxp"]);
    assert_eq!(texts(&all, "outcome"), ["refused", "failed", "refused", "returned"]);
    assert_eq!(texts(&at(&["--caller", "alice"]), "tool"), ["Shell.fail", "Shell.echo@1.0.0"]);
    assert_eq!(texts(&at(&["--tool", "Shell.echo", "--failed"]), "caller"), ["bob"]);
    assert_eq!(at(&["--limit", "1", "--since", "1h"]).len(), 1);
    assert!(at(&["--since", "2100-01-01T00:00:00Z"]).is_empty());
    let id = all[3]["id"].as_str().unwrap();
    let show = |id: &str| {
        stdout(&toolmux(folder.path(), &["calls", "show", id, "--url", &url, "--key-file", "ops.key"]))
    };
    let shown = show(id);
    assert_eq!(show(&id[24..]), shown, "the end of the id, as the table has it");
    let table = toolmux(folder.path(), &["calls", "--url", &url, "--key-file", "ops.key", "--limit", "1"]);
    let table = stdout(&table);
    assert!(table.contains(&all[0]["id"].as_str().unwrap()[24..]) && table.contains("Shell.echo"), "{table}");
    for line in ["caller     alice", "source     Shell", "outcome    returned", "run "] {
        assert!(shown.contains(line), "{shown}");
    }
    assert!(!shown.contains("hello"), "{shown}");
    for (key, status) in [("", 401), (&*bearer("alice"), 404), (&*bearer("bob"), 403), (&*bearer("ops"), 200)]
    {
        assert_eq!(serving.get("/console/api/calls", key).0, status, "{key}");
        assert_eq!(serving.get(&format!("/console/api/calls/{id}"), key).0, status, "{key}");
    }
    assert_eq!(serving.get("/console/api/calls?limit=0", &bearer("ops")).0, 400);
}

#[test]
fn calls_are_followed_as_they_end_and_logged_when_wanted() {
    let folder = folder(&format!("store = \"memory\"\n{SHELL}"));
    let serve = ["serve", "toolmux.toml", "--listen", "127.0.0.1:0", "--log-calls"];
    let serving = Serving::by(folder.path(), &serve);
    let mut stream = serving.connect();
    stream.write_all(&request("GET /console/api/calls?follow&failed", "", b"")).unwrap();
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("open"));
    assert!(lines.any(|line| line.contains("text/event-stream")));
    oxp(&serving, "", "echo", &json!({ "text": "hello" }));
    oxp(&serving, "", "fail", &json!({}));
    let event = lines.find_map(|line| line.strip_prefix("data:").map(str::to_owned)).expect("an event");
    let receipt: Value = serde_json::from_str(&event).expect("a receipt");
    assert_eq!(receipt["tool"], "Shell.fail@1.0.0");
    let log = serving.told("Shell.fail@1.0.0: failed");
    assert!(log.contains("Shell.echo@1.0.0: returned") && !log.contains("hello"), "{log}");
}

const KEPT: &str = "store = \"sqlite:records.db\"\n[receipts]\nkeep = \"30d\"\n";

/// Whether `calls verify` finds everything as it was written, and what it prints.
fn verify(folder: &Path) -> (bool, String) {
    let output = toolmux(folder, &["calls", "verify"]);
    assert!(matches!(output.status.code(), Some(0 | 2)), "{}", stderr(&output));
    (output.status.success(), stdout(&output))
}

/// What a server leaves that made some calls and was stopped.
fn stopped_server() -> tempfile::TempDir {
    let folder = folder(&format!("{KEPT}{SHELL}"));
    let mut serving = Serving::start(folder.path());
    for number in 0..20 {
        let context = json!({ "user_id": "ann", "secrets": [{ "id": "PIN", "value": "the-pin-of-ann" }] });
        let input = json!({ "text": format!("private words {number}") });
        let body = json!({ "tool_id": "Shell.echo", "input": input, "context": context });
        let (status, answer) = serving.post("/tools/call", "", body.to_string().as_bytes());
        assert_eq!(status, 200, "{answer}");
    }
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
    folder
}

#[test]
fn kept_calls_outlive_their_server_without_their_arguments() {
    let folder = stopped_server();
    let key = std::fs::metadata(folder.path().join("toolmux.receipts.key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    let kept = calls(folder.path(), &["--limit", "1000"]);
    assert_eq!(kept.len(), 20);
    let (good, report) = verify(folder.path());
    assert!(good && report.contains("ok, 21 links"), "{report}");
    let anchors = folder.path().join("toolmux.receipts.anchors");
    assert_eq!(std::fs::read_dir(&anchors).unwrap().count(), 1, "the head of the server");
    let files = [folder.path(), &anchors].into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    for file in files.filter_map(Result::ok).filter(|file| file.path().is_file()) {
        let bytes = std::fs::read(file.path()).unwrap();
        for text in ["private words", "the-pin-of-ann"] {
            let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!found, "`{text}` is in {}", file.path().display());
        }
    }
    let mut serving = Serving::start(folder.path());
    oxp(&serving, "", "echo", &json!({ "text": "more" }));
    let listed = calls(folder.path(), &["--url", &format!("http://{}", serving.address)]);
    assert_eq!(listed.len(), 21, "those of the store and the new one");
    serving.signal("TERM");
    serving.ended();
    assert_eq!(verify(folder.path()).1.lines().count(), 2, "a chain for each start");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_changes_kept_calls_is_found_out() {
    for (statement, expect) in [
        (
            "UPDATE receipts SET body = replace(body, 'returned', 'failed') WHERE seq = 5",
            "receipt 5 of the chain was edited",
        ),
        ("DELETE FROM receipts WHERE seq = 7", "receipt 7 of the chain is missing"),
        ("UPDATE receipts SET seq = 9 - seq WHERE seq IN (4, 5)", "was edited or moved"),
        ("DELETE FROM receipts WHERE seq > 15", "the newest were removed"),
        (
            "UPDATE receipt_heads SET body = replace(body, '\"seq\":21', '\"seq\":20')",
            "not signed by its key",
        ),
    ] {
        let folder = stopped_server();
        let file = format!("sqlite:{}", folder.path().join("records.db").display());
        let mut connection = SqliteConnection::connect(&file).await.unwrap();
        // Numbers are unique, so that two links change places by way of a third.
        for statement in statement
            .replace(
                "9 - seq WHERE seq IN (4, 5)",
                "-seq WHERE seq IN (4, 5);UPDATE receipts SET seq = 9 + seq WHERE seq < 0",
            )
            .split(';')
        {
            let changed =
                sqlx::query(AssertSqlSafe(statement.to_owned())).execute(&mut connection).await.unwrap();
            assert!(changed.rows_affected() > 0, "{statement}");
        }
        connection.close().await.unwrap();
        let (good, report) = verify(folder.path());
        assert!(!good && report.contains(expect), "{statement}: {report}");
    }
}

/// A copy of the store from before: every head in it is signed, and nothing in it shows that there was more.
#[test]
fn a_store_that_was_taken_back_is_found_out() {
    let folder = stopped_server();
    let (file, copy) = (folder.path().join("records.db"), folder.path().join("earlier.db"));
    std::fs::copy(&file, &copy).unwrap();
    let mut serving = Serving::start(folder.path());
    oxp(&serving, "", "echo", &json!({ "text": "more" }));
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
    assert!(verify(folder.path()).0);
    for wal in ["records.db-wal", "records.db-shm"] {
        std::fs::remove_file(folder.path().join(wal)).ok();
    }
    std::fs::rename(&copy, &file).unwrap();
    let (good, report) = verify(folder.path());
    assert!(!good && report.contains("the anchor file of the server saw receipt"), "{report}");
}

/// Replicas with one key, and a key that is not theirs.
#[test]
fn replicas_share_a_key_and_others_are_not_trusted() {
    let with = |key: &str| format!("{KEPT}key = \"{}\"\n{SHELL}", key.repeat(32));
    let folder = folder(&with("0a"));
    let start = |stop: bool| {
        let mut serving = Serving::start(folder.path());
        oxp(&serving, "", "echo", &json!({ "text": "hi" }));
        if stop {
            serving.signal("TERM");
            assert_eq!(serving.ended(), Some(0));
        }
        serving
    };
    let (one, other) = (start(false), start(false));
    let config = folder.path().join("toolmux.toml");
    until("both chains", || {
        let (good, report) = verify(folder.path());
        assert!(good, "{report}");
        (report.lines().count() == 2).then_some(())
    });
    drop((one, other));
    std::fs::write(&config, with("0b")).unwrap();
    let (good, report) = verify(folder.path());
    assert!(!good && report.contains("a key that is not trusted"), "{report}");
    let output = toolmux(folder.path(), &["calls", "verify", "--json"]);
    let reported: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
    let trusted = format!("{KEPT}trusted = [{}]\n{SHELL}", reported["key"]);
    std::fs::write(&config, trusted).unwrap();
    let (good, report) = verify(folder.path());
    assert!(good, "{report}");
}

#[test]
fn a_killed_server_is_reported_at_the_next_start() {
    let folder = folder(&format!("{KEPT}{SHELL}"));
    let serving = Serving::start(folder.path());
    let mut running = serving.connect();
    let body = json!({ "tool_id": "Shell.delay", "input": {} }).to_string();
    running.write_all(&request("POST /tools/call", "", body.as_bytes())).unwrap();
    until("the running call to be counted", || {
        let output = toolmux(folder.path(), &["calls", "verify", "--json"]);
        stdout(&output).contains("\"unaccounted\":1").then_some(())
    });
    serving.signal("KILL");
    drop(serving);
    let again = Serving::start(folder.path());
    let log = again.told("may lack a receipt");
    assert!(log.contains("1 call may lack a receipt"), "{log}");
    let listed = toolmux(folder.path(), &["calls"]);
    assert!(stderr(&listed).contains("which was killed"), "{}", stderr(&listed));
}

/// A key that stays but is no operator's any more is the same caller: its streams do not end by that.
#[test]
fn whoever_is_no_operator_any_more_follows_no_calls() {
    let config = format!("store = \"memory\"\n{KEYS}{SHELL}");
    let folder = folder(&config);
    let serving = Serving::start(folder.path());
    let mut stream = std::net::TcpStream::connect(&serving.address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let follow = request("GET /console/api/calls?follow=true", &bearer("ops"), b"");
    stream.write_all(&follow).unwrap();
    let mut head = [0; 12];
    std::io::Read::read_exact(&mut stream, &mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    std::fs::write(folder.path().join("toolmux.toml"), config.replace("operator = true", "operator = false"))
        .unwrap();
    std::io::Read::read_to_end(&mut stream, &mut Vec::new()).expect("the stream ends");
}

/// How often a server is killed on each store, unless this variable says more.
const KILLS: usize = 5;
const KILLS_VARIABLE: &str = "TOOLMUX_TEST_KILLS";

/// Kills servers while they are called: no call has two receipts, every chain is good, and each killed server is told
/// of.
fn check_kills(store: &str) {
    let kills = std::env::var(KILLS_VARIABLE).map_or(KILLS, |kills| kills.parse().expect("a number"));
    let folder = folder(&format!("store = \"{store}\"\n[receipts]\nkeep = \"30d\"\n{SHELL}"));
    let mut answered = Vec::new();
    for round in 0..kills {
        let serving = Serving::start(folder.path());
        let before = calls(folder.path(), &["--limit", "100000"]).len();
        std::thread::scope(|scope| {
            let calling: Vec<_> = (0..4)
                .map(|caller| {
                    let serving = &serving;
                    scope.spawn(move || {
                        let ids = (0..200).map(|number| format!("{round} {caller} {number}"));
                        let call = |id: &String| {
                            let input = json!({ "text": "hi" });
                            let body = json!({ "tool_id": "Shell.echo", "input": input, "call_id": id });
                            let mut stream = std::net::TcpStream::connect(&serving.address).ok()?;
                            let post = request("POST /tools/call", "", body.to_string().as_bytes());
                            stream.write_all(&post).ok()?;
                            let mut answer = String::new();
                            std::io::Read::read_to_string(&mut stream, &mut answer).ok()?;
                            answer.contains("\"success\":true").then_some(())
                        };
                        ids.take_while(|id| call(id).is_some()).collect::<Vec<String>>()
                    })
                })
                .collect();
            until("some calls", || {
                (calls(folder.path(), &["--limit", "100000"]).len() > before + 20).then_some(())
            });
            serving.signal("KILL");
            answered.extend(calling.into_iter().flat_map(|calling| calling.join().unwrap()));
        });
    }
    let mut last = Serving::start(folder.path());
    last.signal("TERM");
    last.ended();
    let kept = calls(folder.path(), &["--limit", "100000"]);
    let mut ids = texts(&kept, "call_id");
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "a call has two receipts");
    // What ended in the last moment before a kill was not written yet, and is told of.
    let missing = answered.iter().filter(|id| ids.binary_search(&id.as_str()).is_err()).count();
    eprintln!("{} calls were answered, {missing} of them have no receipt; {all} receipts", answered.len());
    assert!(missing < answered.len(), "{missing} of {} are missing", answered.len());
    let output = toolmux(folder.path(), &["calls", "verify", "--json"]);
    let reports: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(reports.iter().all(|report| report["ok"] == true), "{reports:?}");
    assert_eq!(reports.iter().filter(|report| report["stopped"] == false).count(), kills);
    let told = stderr(&toolmux(folder.path(), &["calls", "--limit", "100000"]));
    assert_eq!(told.matches("which was killed").count(), kills, "{told}");
}

#[test]
fn a_server_killed_on_sqlite_leaves_a_good_chain() {
    check_kills("sqlite:records.db");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_on_postgres_leaves_a_good_chain() {
    check_kills(&crate::postgres_server::PostgresServer::shared().database().await);
}
