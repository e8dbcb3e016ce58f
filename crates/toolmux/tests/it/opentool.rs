//! What OpenTool asks of a binary: started and stopped by its daemon, documents checked, workflows run.

use std::path::Path;

use serde_json::json;

use crate::process::{ECHO, Serving, folder, stderr, stdout, toolmux};

const KEY: &str = "authorization: Bearer k2\r\n";

fn check_started(flags: &[&str], version: &str) {
    let folder = folder(ECHO);
    let mut serving = Serving::by(folder.path(), &[&["start"], flags].concat());
    assert_eq!(serving.get("/opentool/version", "").0, 401, "{flags:?}");
    let told = serving.get("/opentool/version", KEY);
    assert_eq!(told, (200, format!(r#"{{"version":"{version}"}}"#)), "{flags:?}");
    assert!(serving.get("/opentool/load", KEY).1.contains(r#""name":"Shell_echo""#));
    assert_eq!(serving.post("/opentool/stop", "", b"").0, 401);
    assert_eq!(serving.post("/opentool/stop", KEY, b""), (200, r#"{"status":"stopped"}"#.to_owned()));
    assert_eq!(serving.ended(), Some(0));
}

#[test]
fn the_daemon_starts_and_stops_it_with_its_flags() {
    check_started(
        &[
            "--opentoolServerTag",
            "3.2.1",
            "--opentoolServerHost",
            "127.0.0.1",
            "--opentoolServerPort",
            "0",
            "--opentoolServerApiKeys",
            "k1,k2",
        ],
        "3.2.1",
    );
}

#[test]
fn the_flags_of_the_guideline_do_the_same() {
    check_started(&["-v", "1.0.9", "-t", "0", "-k", "k1", "-k", "k2"], "1.0.9");
    check_started(&["--toolPort", "0", "--apiKeys", "k1", "--apiKeys", "k2"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn start_helps_in_the_form_of_the_guideline() {
    let folder = folder(ECHO);
    let help = stdout(&toolmux(folder.path(), &["start", "--help"]));
    for line in [
        "TOOLMUX OpenTool Server CLI (0.1.0) - OpenTool Server implement by TOOLMUX.",
        "Usage: toolmux <command> [options]",
        "  -v, --version     Version, Default: 0.1.0",
        "  -t, --toolPort    OpenTool Server Port, Default: 9627",
        "  -k, --apiKeys     API Keys, allow array, as: --apiKeys KEY_A --apiKeys KEY_B",
        "-h, --help    Show help information",
    ] {
        assert!(help.lines().any(|told| told == line), "{line}\n{help}");
    }
}

#[test]
fn a_server_without_keys_is_not_stopped_by_callers() {
    let folder = folder(ECHO);
    let serving = Serving::by(folder.path(), &["start", "-t", "0"]);
    assert_eq!(serving.post("/opentool/stop", "", b"").0, 404);
    let output = toolmux(folder.path(), &["start", "-t", "0", "--opentoolServerHost", "0.0.0.0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no key is configured"), "{}", stderr(&output));
}

fn check(file: &str, text: &str, code: i32, told: &str) {
    let folder = folder(ECHO);
    std::fs::write(folder.path().join(file), text).expect("written");
    let output = toolmux(folder.path(), &["check", file]);
    let all = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(code), "{all}");
    assert!(all.contains(told), "{all}");
}

#[test]
fn documents_are_checked_by_what_they_are() {
    let good = r#"{"opentool":"1.1.0","info":{"title":"T","version":"1"},"functions":[]}"#;
    check("good.json", good, 0, "good.json: valid OpenTool document");
    let bad = "{\"opentool\":\"1.1.0\",\n \"info\":{\"title\":\"T\",\"version\":\"1\"}}";
    check("bad.json", bad, 2, "bad.json:1:1: `functions` is missing at `$.functions`\n  hint: add");
    let flow = r#"{"openworkflow":"1.0.0","info":{"title":"T","version":"1"},"workflow":{}}"#;
    check("flow.json", flow, 2, "`start` is missing at `$.workflow.start`");
    check("other.json", "{}", 2, "hint: it has none of the members `opentool`");
    check("broken.json", "{", 2, "is not JSON");
}

fn write_workflow(folder: &Path, second: &str) {
    let step = |function: &str, text: &str, next: &str| json!({ "function": function, "arguments": { "text": text }, "results": { "result": "" }, "next": next });
    let steps = json!({
        "start": step("Shell.echo", "hello", "again"),
        "again": step(second, "#/start/results/result", "")
    });
    let flow =
        json!({ "openworkflow": "1.0.0", "info": { "title": "T", "version": "1" }, "workflow": steps });
    std::fs::write(folder.join("flow.json"), flow.to_string()).expect("written");
}

#[test]
fn a_workflow_runs_from_the_command_line() {
    let folder = folder(ECHO);
    write_workflow(folder.path(), "Shell_echo");
    let output = toolmux(folder.path(), &["run", "flow.json"]);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(0), "\"hello\"\n"),
        "{}",
        stderr(&output)
    );
    let told = stderr(&output);
    assert!(told.contains("[1/2] start: Shell.echo\n[2/2] again: Shell_echo\n"), "{told}");
    let output = toolmux(folder.path(), &["run", "flow.json", "text=7"]);
    assert_eq!(stdout(&output), "\"7\"\n");
    write_workflow(folder.path(), "Shell_ecko");
    let output = toolmux(folder.path(), &["run", "flow.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`Shell_ecko` of step"), "{}", stderr(&output));
}

#[test]
fn one_server_is_the_source_of_another() {
    let far_folder = folder(ECHO);
    let far = Serving::start(far_folder.path());
    let near_folder = folder(&format!(
        "[sources.Far]\nkind = \"opentool\"\nurl = \"http://{}\"\nnames = \"bare\"\n",
        far.address
    ));
    let near = Serving::start(near_folder.path());
    let params = json!({ "text": "é" });
    assert_eq!(near.call("Shell_echo", &params), far.call("Shell_echo", &params));
    assert_eq!(near.get("/opentool/load", "").1, far.get("/opentool/load", "").1);
}
