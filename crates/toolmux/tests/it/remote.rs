//! Calls of a running server from the command line: keys, tasks, and what is shown while they run.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::life::{SLOW, children};
use crate::process::{BINARY, ECHO, Serving, folder, stderr, stdout, toolmux, until};

const STEPS: &str = r#"{ "openworkflow": "1.0.0", "info": { "title": "T", "version": "1" }, "workflow": {
    "start": { "function": "Shell.echo", "arguments": { "text": "hello" }, "results": { "result": "" }, "next": "" } } }"#;

/// A server whose tool `Flow.T` tells of its one step.
fn reporting_server() -> (tempfile::TempDir, Serving, String) {
    let folder = folder(&format!("{ECHO}\n[sources.Flow]\nkind = \"workflow\"\ndocument = \"steps.json\"\n"));
    std::fs::write(folder.path().join("steps.json"), STEPS).expect("written");
    let serving = Serving::start(folder.path());
    let url = format!("http://{}", serving.address);
    (folder, serving, url)
}

/// A command as a person at a terminal runs it; both streams are the terminal.
pub(crate) fn terminal(folder: &Path, arguments: &[&str]) -> Command {
    let line = [&["exec", BINARY], arguments].concat().join(" ");
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(folder);
    script.env("TERM", "xterm").env_remove("RUST_LOG").env_remove("COLUMNS");
    script
}

fn at_a_terminal(folder: &Path, arguments: &[&str]) -> Output {
    terminal(folder, arguments).output().expect("`script` of bsdutils runs")
}

#[test]
fn progress_over_there_is_shown_on_a_terminal_and_nowhere_else() {
    let (folder, _serving, url) = reporting_server();
    let call = ["call", "Flow.T", "--url", &url];
    let piped = toolmux(folder.path(), &call);
    assert_eq!((stdout(&piped), stderr(&piped)), ("\"hello\"\n".to_owned(), String::new()));
    let watched = at_a_terminal(folder.path(), &call);
    let told = stdout(&watched);
    assert!(watched.status.success(), "{told}");
    assert!(told.contains("[0/1] start: Shell.echo"), "{told:?}");
    assert!(told.ends_with("\r\u{1b}[2K\"hello\"\r\n"), "the line is gone when the value comes: {told:?}");
}

#[test]
fn a_call_that_is_interrupted_is_cancelled_over_there() {
    let folder = folder(SLOW);
    let serving = Serving::start(folder.path());
    let url = format!("http://{}", serving.address);
    let mut command = terminal(folder.path(), &["call", "Slow.wait", "--url", &url]);
    let script = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("`script` runs");
    until("the tool to start", || folder.path().join("started").exists().then_some(()));
    let calling = until("the command", || children(script.id()).first().copied());
    let sent = Command::new("kill").args(["-s", "INT", &calling.to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let ended = script.wait_with_output().expect("our child");
    assert!(stdout(&ended).contains("the call was cancelled by SIGINT"), "{}", stdout(&ended));
    assert_eq!(ended.status.code(), Some(130));
    until("the tool to end", || children(serving.id()).is_empty().then_some(()));
}

#[test]
fn a_refusal_is_the_same_on_a_terminal() {
    let (folder, _serving, url) = reporting_server();
    let call = ["call", "Shell.echo", "--url", &url];
    let (piped, watched) = (toolmux(folder.path(), &call), at_a_terminal(folder.path(), &call));
    let missing = "`text` is required but missing";
    assert!(stderr(&piped).contains(missing), "{}", stderr(&piped));
    assert!(stdout(&watched).contains(missing), "{}", stdout(&watched));
    assert_eq!((piped.status.code(), watched.status.code()), (Some(2), Some(2)));
}

#[test]
fn a_call_in_the_background_is_followed_later() {
    let (folder, _serving, url) = reporting_server();
    let started = toolmux(folder.path(), &["call", "Flow.T", "--background", "--url", &url]);
    let task = stdout(&started).trim().to_owned();
    assert!(!task.is_empty(), "{}", stderr(&started));
    let piped = toolmux(folder.path(), &["follow", &task, "--url", &url]);
    assert_eq!((stdout(&piped), stderr(&piped)), ("\"hello\"\n".to_owned(), String::new()));
    let watched = at_a_terminal(folder.path(), &["follow", &task, "--url", &url]);
    assert!(stdout(&watched).contains("[0/1] start: Shell.echo"), "{}", stdout(&watched));
    let unknown = toolmux(folder.path(), &["follow", "nothing", "--url", &url]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("hint: is it the same server"), "{}", stderr(&unknown));
}

#[test]
fn a_key_is_read_from_a_file_or_the_environment() {
    let folder = folder(&format!("{ECHO}\n[keys.ann]\nkey = \"ann-key\"\n"));
    std::fs::write(folder.path().join("key.txt"), "ann-key\n").expect("written");
    let serving = Serving::start(folder.path());
    let url = format!("http://{}", serving.address);
    let check = |more: &[&str], environment: &[(&str, &str)], expect: Result<&str, &str>| {
        let mut command = Command::new(BINARY);
        command.args(["call", "Shell.echo", "text=hi", "--url", &url]).args(more);
        command.current_dir(folder.path()).env("COLUMNS", "200").env_remove("TOOLMUX_KEY");
        let output = command.envs(environment.iter().copied()).output().expect("the binary runs");
        match expect {
            Ok(value) => assert_eq!(stdout(&output).trim_end(), value, "{more:?}: {}", stderr(&output)),
            Err(words) => assert!(stderr(&output).contains(words), "{more:?}: {}", stderr(&output)),
        }
    };
    check(&["--key-file", "key.txt"], &[], Ok("\"hi\""));
    check(&[], &[("TOOLMUX_KEY", "ann-key")], Ok("\"hi\""));
    check(&["--key-env", "OTHER"], &[("OTHER", "ann-key")], Ok("\"hi\""));
    check(&[], &[], Err("hint: give the key of the server"));
    check(&[], &[("TOOLMUX_KEY", "wrong")], Err("hint: give the key of the server"));
    check(&["--key-env", "OTHER"], &[], Err("environment variable `OTHER` is not set"));
    check(&["--key-file", "kay.txt"], &[], Err("hint: did you mean `key.txt`?"));
    check(&["--key-file", "key.txt", "--key-env", "OTHER"], &[], Err("cannot be used with"));
    let local = toolmux(folder.path(), &["call", "Shell.echo", "text=hi", "--key-file", "key.txt"]);
    assert!(stderr(&local).contains("--url"), "a key is for a server: {}", stderr(&local));
}

#[test]
fn a_wait_for_an_open_circuit_breaker_is_told() {
    let folder = folder(
        "[limits]\nbreaker_failures = 1\nbreaker_rest = \"1s\"\n[sources.T]\nkind = \"command\"\n[sources.T.tools.gone]
description = \"Is gone\"\ncommand = [\"no-such-program\"]\n",
    );
    let serving = Serving::start(folder.path());
    let url = format!("http://{}", serving.address);
    let call = || toolmux(folder.path(), &["call", "T.gone", "--url", &url]);
    assert_eq!(call().status.code(), Some(2));
    let told = stderr(&call());
    assert!(told.contains("The circuit breaker of") && told.contains("; trying again in "), "{told}");
}
