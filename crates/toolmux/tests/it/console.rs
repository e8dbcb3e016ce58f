//! The console as operators use it: the API, pages without scripts, signing in, and what must not work.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::process::{Serving, folder, request};

const CONFIG: &str = r#"
store = "memory"

[sources.Shell]
kind = "command"

[sources.Shell.tools.echo]
description = "Says it back <img src=x onerror=alert(1)>"
command = ["echo", "{text}"]
parameters.text = { type = "string", minLength = 2 }
read_only = true

[sources.Shell.tools.fail]
description = "Fails"
command = ["false"]

[toolsets.some]
tools = ["Shell.fail"]

[receipts]
arguments = true
"#;

const KEYS: &str = r#"
[keys.ops]
key = "ops-key"
operator = true

[keys.ann]
key = "ann-key"
toolset = "some"
"#;

const OPS: &str = "authorization: Bearer ops-key\r\n";
const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";

fn started(more: &str) -> (tempfile::TempDir, Serving) {
    // Keys of the top come before the first table.
    let folder = folder(&format!("{CONFIG}{KEYS}{more}"));
    let serving = Serving::start(folder.path());
    (folder, serving)
}

fn read(answer: (u16, String)) -> Value {
    assert_eq!(answer.0, 200, "{}", answer.1);
    serde_json::from_str(&answer.1).expect("JSON")
}

/// Status, head and body of an answer.
fn ask(serving: &Serving, line: &str, headers: &str, body: &str) -> (u16, String, String) {
    let mut stream = serving.connect();
    stream.write_all(&request(line, headers, body.as_bytes())).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_owned(), body.to_owned())
}

/// The cookie of somebody who signed in with a key.
fn signed_in(serving: &Serving, key: &str) -> Option<String> {
    let (status, head, _) = ask(serving, "POST /console/sign-in", FORM, &format!("key={key}"));
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "))?;
    assert_eq!(status, 303);
    assert!(cookie.ends_with("HttpOnly; SameSite=Strict"), "{cookie}");
    Some(format!("cookie: {}\r\n", cookie.split(';').next().unwrap_or_default()))
}

fn csrf_of(page: &str) -> String {
    page.split("data-csrf=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a token").to_owned()
}

#[test]
fn the_api_shows_what_the_metrics_count() {
    let (_folder, serving) = started("");
    for (tool, body, status) in [
        ("echo", r#"{"text":"hello"}"#, "returned"),
        ("echo", r#"{"text":"h"}"#, "refused"),
        ("fail", "{}", "failed"),
    ] {
        let path = format!("/console/api/tools/Shell.{tool}/call");
        let told = read(serving.post(&path, OPS, body.as_bytes()));
        assert_eq!(told["status"], status, "{told}");
        let receipt =
            read(serving.get(&format!("/console/api/calls/{}", told["receipt"].as_str().unwrap()), OPS));
        assert_eq!((&receipt["protocol"], &receipt["caller"]), (&json!("console"), &json!("ops")));
        if status == "refused" {
            assert_eq!(told["parameters"][0]["parameter"], "text");
        }
    }
    let overview = read(serving.get("/console/api/overview", OPS));
    let counted = ["returned", "failed", "refused"].map(|name| overview[name].as_u64().expect("a number"));
    let metrics = serving.get("/metrics", OPS).1;
    let refusals = metrics.lines().filter(|line| line.starts_with("toolmux_refusals_total{"));
    let refusals: u64 = refusals.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
    assert!(refusals >= 1, "{metrics}");
    assert_eq!(counted, [1, 1, refusals]);
    for (result, tool) in [("returned", "Shell.echo"), ("failed", "Shell.fail")] {
        let is_meant = |line: &&str| {
            let labels = [format!("result=\"{result}\""), format!("tool=\"{tool}\"")];
            line.starts_with("toolmux_calls_total{") && labels.iter().all(|label| line.contains(label))
        };
        let line = metrics.lines().find(is_meant).unwrap_or_else(|| panic!("{tool} is not in {metrics}"));
        assert!(line.ends_with(" 1"), "{line}");
    }
    let source = &read(serving.get("/console/api/sources", OPS))["sources"][0];
    assert_eq!(
        (&source["state"], &source["returned"], &source["tools"]),
        (&json!("ready"), &json!(1), &json!(2))
    );
    assert!(source["heard"].as_str().is_some_and(|heard| heard.starts_with("20")), "{source}");
}

#[test]
fn tools_are_searched_and_say_who_may_call_them_and_why() {
    let (_folder, serving) = started("");
    let list = read(serving.get("/console/api/tools?q=SAYS+back", OPS));
    assert_eq!(
        (&list["fitting"], &list["all"], &list["tools"][0]["id"]),
        (&json!(1), &json!(2), &json!("Shell.echo@1.0.0"))
    );
    let list = read(serving.get("/console/api/tools?toolset=some&limit=1", OPS));
    assert_eq!((&list["fitting"], &list["tools"][0]["name"]), (&json!(1), &json!("Shell_fail")));
    let tool = read(serving.get("/console/api/tools/Shell_echo", OPS));
    let access = |name: &str| {
        let rows = tool["access"].as_array().expect("a list");
        let row = rows.iter().find(|row| row["caller"] == name).expect("a caller");
        (row["allowed"] == true, row["why"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(access("ops"), (true, "its key opens every tool".to_owned()));
    assert_eq!(access("ann"), (false, "toolset `some` does not hold it".to_owned()));
    let protocols: Vec<&str> =
        tool["protocols"].as_array().unwrap().iter().filter_map(|view| view["protocol"].as_str()).collect();
    for protocol in ["OpenTool", "OXP", "ATS", "MCP", "REST"] {
        assert!(protocols.contains(&protocol), "{protocols:?}");
    }
    assert_eq!(tool["parameters"][0]["path"], "text");
}

#[test]
fn only_operators_see_the_console_and_others_are_asked_to_sign_in() {
    let (_folder, serving) = started("");
    let (status, head, body) = ask(&serving, "GET /console/tools?q=a", "", "");
    assert_eq!(status, 401);
    assert!(body.contains("action=\"../console/sign-in\""), "{body}");
    assert!(
        head.contains("script-src 'self'; style-src 'self'") && head.contains("frame-ancestors 'none'"),
        "{head}"
    );
    assert_eq!(ask(&serving, "GET /console", "authorization: Bearer ann-key\r\n", "").0, 404);
    assert_eq!(signed_in(&serving, "ann-key"), None);
    let cookie = signed_in(&serving, "ops-key").expect("a session");
    let (status, _, page) = ask(&serving, "GET /console/tools", &cookie, "");
    assert!(status == 200 && page.contains("Says it back &lt;img src=x"), "{page}");
    assert!(!page.contains("ops-key"), "a page holds no key");
}

#[test]
fn a_session_changes_something_only_with_what_its_pages_were_given() {
    let (_folder, serving) = started("");
    let cookie = signed_in(&serving, "ops-key").expect("a session");
    let (_, _, page) = ask(&serving, "GET /console/callers", &cookie, "");
    let token = csrf_of(&page);
    let add = |headers: &str, body: &str| {
        ask(&serving, "POST /console/callers", &format!("{cookie}{FORM}{headers}"), body).0
    };
    assert_eq!(add("", "action=add&name=evil"), 403);
    assert_eq!(add("", "action=add&name=evil&csrf=guess"), 403);
    let other =
        csrf_of(&ask(&serving, "GET /console", &signed_in(&serving, "ops-key").expect("another"), "").2);
    assert_eq!(add("", &format!("action=add&name=evil&csrf={other}")), 403, "that of another session");
    assert_eq!(add("", &format!("action=add&name=good&csrf={token}")), 200);
    let keys = serving.get("/console/api/keys", OPS).1;
    assert!(keys.contains("good") && !keys.contains("evil"), "{keys}");
    let audit = serving.get("/console/api/audit", OPS).1;
    assert!(audit.contains("key.added") && audit.contains("console.signed_in"), "{audit}");
    assert_eq!(
        ask(&serving, "POST /console/sign-out", &format!("{cookie}{FORM}"), &format!("csrf={token}")).0,
        303
    );
    assert_eq!(ask(&serving, "GET /console", &cookie, "").0, 401, "the session has ended");
}

#[test]
fn a_session_ends_with_its_key() {
    let (_folder, serving) = started("");
    let added = serving.post("/console/api/keys", OPS, br#"{"name":"second","operator":true}"#);
    let key: Value = serde_json::from_str(&added.1).expect("JSON");
    let cookie = signed_in(&serving, key["key"].as_str().expect("a key")).expect("a session");
    assert_eq!(ask(&serving, "GET /console/api/overview", &cookie, "").0, 200);
    let mut events = serving.connect();
    events.write_all(&request("GET /console/api/events", &cookie, b"")).expect("sent");
    let (mut told, mut piece) = (String::new(), [0; 4096]);
    while !told.contains("event:totals") {
        let read = events.read(&mut piece).expect("the stream goes on");
        assert!(read > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    assert_eq!(ask(&serving, "DELETE /console/api/keys/second", OPS, "").0, 200);
    events.read_to_string(&mut told).expect("the stream ends");
    assert_eq!(ask(&serving, "GET /console/api/overview", &cookie, "").0, 401);
}

#[test]
fn who_guesses_keys_is_stopped() {
    let (_folder, serving) = started("[console]\nattempts = 3\n");
    for _ in 0..3 {
        assert_eq!(ask(&serving, "POST /console/sign-in", FORM, "key=guess").0, 401);
    }
    let (status, head, _) = ask(&serving, "POST /console/sign-in", FORM, "key=ops-key");
    assert!(status == 429 && head.contains("retry-after: "), "{head}");
    assert_eq!(serving.get("/console/api/overview", OPS).0, 200, "programs go on");
}

#[test]
fn a_console_that_is_off_has_no_address() {
    let (_folder, serving) = started("[console]\nenabled = false\n");
    let nowhere = serving.get("/nowhere", OPS);
    for path in ["/console", "/console/api/overview", "/console/assets/console.css", "/console/sign-in"] {
        let (status, body) = serving.get(path, OPS);
        assert_eq!(status, 404, "{path}");
        assert_eq!(body.replace(path, "/nowhere"), nowhere.1, "{path}");
        assert!(!body.replace(path, "").contains("/console"), "{body}");
    }
    assert_eq!(serving.get("/console", "").0, 401, "as every address for strangers");
}

#[test]
fn without_keys_everybody_on_this_machine_is_an_operator_but_no_page_elsewhere() {
    let folder = folder(CONFIG);
    let serving = Serving::start(folder.path());
    let (status, _, page) = ask(&serving, "GET /console/tools/Shell.echo", "", "");
    assert_eq!(status, 200);
    let call = |headers: &str| {
        ask(&serving, "POST /console/api/tools/Shell.echo/call", headers, r#"{"text":"hi"}"#).0
    };
    assert_eq!(call(""), 200, "a program");
    assert_eq!(call("sec-fetch-site: same-origin\r\n"), 403, "a browser without the token of a page");
    assert_eq!(call(&format!("sec-fetch-site: same-origin\r\nx-csrf-token: {}\r\n", csrf_of(&page))), 200);
    assert_eq!(call("sec-fetch-site: cross-site\r\n"), 403);
}

#[test]
fn the_configuration_is_shown_without_what_can_be_secret() {
    let (_folder, serving) = started("");
    let shown = read(serving.get("/console/api/config", OPS));
    let text = shown["text"].as_str().expect("a text");
    assert!(text.contains("operator = true") && text.contains("tools = [\"Shell.fail\"]"), "{text}");
    assert!(!text.contains("ops-key") && !text.contains("ann-key"), "{text}");
}

#[test]
fn a_source_is_restarted_and_that_is_audited() {
    let (_folder, serving) = started("");
    read(serving.post("/console/api/tools/Shell.echo/call", OPS, br#"{"text":"hello"}"#));
    let row = read(serving.post("/console/api/sources/Shell/restart", OPS, b""));
    assert_eq!((&row["state"], &row["tools"]), (&json!("ready"), &json!(2)));
    let counted = read(serving.get("/console/api/sources", OPS))["sources"][0]["returned"].clone();
    assert_eq!(counted, json!(1), "what was counted before the restart is not forgotten");
    assert_eq!(serving.post("/console/api/sources/Nothing/restart", OPS, b"").0, 404);
    assert!(serving.get("/console/api/audit", OPS).1.contains("source.restarted"));
}

#[test]
fn operators_see_and_cancel_the_tasks_of_every_caller_and_nobody_else_does() {
    let (folder, serving) = started("");
    let (status, body) = serving.post("/call_tool/Shell_fail", "authorization: Bearer ann-key\r\n", b"{}");
    assert_eq!(status, 200, "{body}");
    let tasks = read(serving.get("/console/api/tasks", OPS));
    let task = &tasks["tasks"][0];
    assert_eq!((&task["caller"], &task["tool"]), (&json!("ann"), &json!("Shell_fail")));
    let path = format!("/console/api/tasks/{}", task["id"].as_str().expect("an id"));
    assert_eq!(read(serving.get(&path, OPS))["id"], task["id"]);
    assert_eq!(serving.get(&path, "authorization: Bearer ann-key\r\n").0, 404);
    let listed = |key: &str| {
        let url = format!("http://{}", serving.address);
        let mut command = std::process::Command::new(crate::process::BINARY);
        let command = command.args(["tasks", "--json", "--url", &url]).env("TOOLMUX_KEY", key);
        crate::process::stdout(&command.current_dir(folder.path()).output().expect("the binary runs"))
    };
    assert!(listed("ops-key").contains("\"caller\":\"ann\""));
    assert!(!listed("ann-key").contains("caller"), "the own tasks");
}

#[test]
fn doctor_asks_a_running_server() {
    let (folder, serving) = started("");
    let url = format!("http://{}", serving.address);
    let mut command = std::process::Command::new(crate::process::BINARY);
    let command =
        command.args(["doctor", "--url", &url]).env("TOOLMUX_KEY", "ops-key").current_dir(folder.path());
    let told = crate::process::stdout(&command.output().expect("the binary runs"));
    assert!(told.contains("Shell: ready, 2 tools"), "{told}");
}
