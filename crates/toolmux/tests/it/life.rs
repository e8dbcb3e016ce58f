//! Keys, toolsets, reload and an orderly end.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::json;

use crate::process::{BINARY, ECHO, Serving, folder, request, stderr, stdout, toolmux, until, write};

pub(crate) const SLOW: &str = r#"
[sources.Slow]
kind = "command"

[sources.Slow.tools.wait]
description = "Waits until a file is there"
command = ["sh", "-c", "touch started; while [ ! -e go ]; do sleep 0.01; done; echo done"]
"#;

#[test]
fn keys_open_every_route_but_health() {
    let folder = folder(&format!(
        "{ECHO}\n[toolsets.none]\ntools = [\"Other.*\"]\n[keys.ann]\nkey = \"ann-key\"\n[keys.bob]\nkey = \"bob-key\"\ntoolset = \"none\"\n"
    ));
    let serving = Serving::start(folder.path());
    let call = br#"{"jsonrpc":"2.0","method":"Shell_echo","params":{"text":"hi"},"id":"1"}"#;
    assert_eq!(serving.get("/health", "").0, 200);
    for path in ["/opentool/version", "/metrics"] {
        assert_eq!(serving.get(path, "").0, 401, "{path}");
        assert_eq!(serving.get(path, "authorization: Bearer ann-key\r\n").0, 200, "{path}");
    }
    assert_eq!(serving.post("/opentool/call", "", call).0, 401);
    assert_eq!(serving.post("/opentool/call", "authorization: Bearer wrong\r\n", call).0, 401);
    assert!(serving.post("/opentool/call", "authorization: Bearer ann-key\r\n", call).1.contains("hi"));
    assert!(serving.post("/opentool/call", "authorization: Bearer bob-key\r\n", call).1.contains("405"));
}

#[test]
fn a_running_server_is_called_from_the_command_line() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    let url = format!("http://{}", serving.address);
    for tool in ["Shell.echo", "Shell_echo", "Shell.echo@1"] {
        let output = toolmux(folder.path(), &["call", tool, "text=over there", "--url", &url]);
        assert_eq!(stdout(&output), "\"over there\"\n", "{}", stderr(&output));
    }
    let output = toolmux(folder.path(), &["call", "Shell.nothing", "--url", &url]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn an_address_below_sets_has_the_tools_of_that_toolset() {
    let folder =
        folder(&format!("{ECHO}\n[toolsets.some]\ntools = [\"Shell.echo\"]\n[toolsets.none]\ntools = []\n"));
    let serving = Serving::start(folder.path());
    let call = br#"{"jsonrpc":"2.0","method":"Shell_echo","params":{"text":"hi"},"id":"1"}"#;
    assert!(serving.post("/sets/some/opentool/call", "", call).1.contains("hi"));
    assert!(serving.post("/sets/none/opentool/call", "", call).1.contains("405"));
    assert_eq!(serving.post("/sets/unknown/opentool/call", "", call).0, 404);
}

/// The next line of a stream that begins with this.
fn line_with(stream: &mut impl BufRead, beginning: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).expect("the stream is open"), 0, "no line `{beginning}`");
        if let Some(rest) = line.strip_prefix(beginning) {
            return rest.trim_end().to_owned();
        }
    }
}

#[test]
fn a_stream_of_events_below_sets_has_the_tools_of_that_toolset() {
    let public = "[auth]\npublic_url = \"https://tools.example.com/gate\"\n";
    let sets = "[toolsets.some]\ntools = [\"Shell.echo\"]\n[toolsets.none]\ntools = []\n";
    for (public, prefix) in [("", ""), (public, "/gate")] {
        let folder = folder(&format!("{ECHO}\n{sets}{public}"));
        let serving = Serving::start(folder.path());
        for (set, found) in [("some", "Shell_echo"), ("none", "[]")] {
            let mut stream = serving.connect();
            stream.write_all(&request(&format!("GET /sets/{set}/sse"), "", b"")).expect("sent");
            let mut stream = BufReader::new(stream);
            let endpoint = line_with(&mut stream, "data:");
            let endpoint = endpoint.strip_prefix(prefix).expect("below the public address");
            let list = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
            let elsewhere = endpoint.replace(&format!("/sets/{set}"), "");
            assert_eq!(serving.post(&elsewhere, "", list).0, 404, "a session is of one toolset");
            assert_eq!(serving.post(endpoint, "", list).0, 202);
            let answer = line_with(&mut stream, "data:");
            assert!(answer.contains(found), "{answer}");
        }
    }
}

#[test]
fn a_term_signal_lets_calls_finish_and_exits_with_0() {
    let folder = folder(SLOW);
    let mut serving = Serving::start(folder.path());
    let mut stream = serving.connect();
    let body = br#"{"jsonrpc":"2.0","method":"Slow_wait","id":"1"}"#;
    stream.write_all(&request("POST /opentool/call", "", body)).expect("sent");
    until("the tool to start", || folder.path().join("started").exists().then_some(()));
    serving.signal("TERM");
    until("the server to be unready", || (serving.get("/health", "").0 == 503).then_some(()));
    std::fs::write(folder.path().join("go"), "").expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains(r#"{"result":"done"}"#), "{answer}");
    assert_eq!(serving.ended(), Some(0));
}

#[test]
fn children_end_with_the_server() {
    let folder = folder(&format!("{SLOW}\n[limits]\ndrain = \"100ms\"\n"));
    let mut serving = Serving::start(folder.path());
    let mut stream = serving.connect();
    let body = br#"{"jsonrpc":"2.0","method":"Slow_wait","id":"1"}"#;
    stream.write_all(&request("POST /opentool/call", "", body)).expect("sent");
    until("the tool to start", || folder.path().join("started").exists().then_some(()));
    let child = until("the child", || children(serving.id()).first().copied());
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
    until("the child to end", || (!std::path::Path::new(&format!("/proc/{child}")).exists()).then_some(()));
}

#[test]
fn a_changed_file_is_served_and_a_broken_one_is_not() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    let hello = || serving.call("Shell_echo", &json!({ "text": "hi" }));
    assert!(hello().contains("hi"));
    write(
        folder.path(),
        &format!(
            "{ECHO}\n[sources.More]\nkind = \"command\"\ntools.true = {{ description = \"x\", command = [\"true\"] }}\n"
        ),
    );
    until("the new tool", || serving.call("More_true", &json!({})).contains("\"error\":null").then_some(()));
    write(folder.path(), "this is not toml");
    serving.signal("HUP");
    write(folder.path(), &ECHO.replace("Says it back", "Says it again"));
    until("the old tool to go", || serving.call("More_true", &json!({})).contains("405").then_some(()));
    assert!(hello().contains("hi"));
}

#[test]
fn a_hang_up_signal_reads_the_file_again_without_dropping_a_call() {
    let folder = folder(SLOW);
    let serving = Serving::start(folder.path());
    let mut stream = serving.connect();
    let body = br#"{"jsonrpc":"2.0","method":"Slow_wait","id":"1"}"#;
    stream.write_all(&request("POST /opentool/call", "", body)).expect("sent");
    until("the tool to start", || folder.path().join("started").exists().then_some(()));
    write(folder.path(), &ECHO.replace("store = \"memory\"", ""));
    serving.signal("HUP");
    until("the new tool", || {
        serving.call("Shell_echo", &json!({ "text": "hi" })).contains("hi").then_some(())
    });
    std::fs::write(folder.path().join("go"), "").expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains("done"), "{answer}");
}

#[test]
fn a_changed_address_or_store_is_said_once_to_take_a_restart() {
    let folder = folder(ECHO);
    let serving = Serving::by(folder.path(), &["serve", "toolmux.toml", "--listen", "127.0.0.1:0"]);
    let store = ECHO.replace("store = \"memory\"", "store = \"sqlite:other.db\"");
    write(folder.path(), &store);
    let waits = "`store` has changed, which needs a restart";
    serving.told(waits);
    // The address is the command line's, so what the file says of it would not hold after a restart either.
    write(folder.path(), &format!("listen = \"127.0.0.1:1\"\nhosts = [\"other\"]\n{store}"));
    let told = serving.told("`hosts` has changed, which needs a restart");
    assert_eq!(told.matches(waits).count(), 1, "{told}");
    assert!(!told.contains("`listen` has changed"), "{told}");
    assert!(!folder.path().join("other.db").exists(), "the old store stays in use");
    assert!(serving.call("Shell_echo", &json!({ "text": "hi" })).contains("hi"));
}

#[test]
fn a_changed_address_takes_a_restart() {
    let folder = folder(&format!("listen = \"127.0.0.1:0\"\n{ECHO}"));
    let serving = Serving::by(folder.path(), &["serve", "toolmux.toml"]);
    write(folder.path(), &format!("listen = \"127.0.0.1:1\"\n{ECHO}"));
    serving.signal("HUP");
    serving.told("`listen` has changed, which needs a restart");
    assert!(serving.call("Shell_echo", &json!({ "text": "hi" })).contains("hi"));
}

/// The children of a process but for the child watcher, which lives as long as the process.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let is_watcher = |id: &u32| {
        std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.starts_with(b"child-watcher\0"))
    };
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).expect("our child lives");
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|text| text.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>())
        .filter(|id| !is_watcher(id))
        .collect()
}

#[test]
fn a_changed_file_with_faults_is_told_with_every_line() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    write(folder.path(), &format!("lisen = 1\n{ECHO}\n[limits]\nqueue = \"x\"\n"));
    let told = serving.told("the new configuration is not used");
    let line = told.lines().find(|line| line.contains("is not used")).expect("just seen");
    assert!(line.contains("toolmux.toml:1:1: unknown key `lisen`"), "{line}");
    assert!(line.contains(":14:9: `limits.queue` must be a whole number"), "{line}");
}

#[test]
fn a_changed_file_that_is_imported_is_served() {
    let folder = folder("[sources]\nimport = \"clients.json\"\n");
    let inner = folder.path().join("inner.toml");
    std::fs::write(
        &inner,
        format!("{ECHO}\n{}", ECHO.split("\n\n").nth(2).expect("a tool").replace("tools.echo", "tools.more")),
    )
    .expect("written");
    let clients = |name: &str, disabled: &[&str]| {
        let server =
            serde_json::json!({ "command": BINARY, "args": ["mcp", inner], "disabledTools": disabled });
        let text = serde_json::json!({ "mcpServers": { name: server } }).to_string();
        std::fs::write(folder.path().join("clients.json"), text).expect("written");
    };
    clients("first", &["Shell_more"]);
    let serving = Serving::start(folder.path());
    let tools = || serving.get("/get_tool", "").1;
    assert!(tools().contains("first_Shell_echo") && !tools().contains("Shell_more"), "{}", tools());
    clients("second", &[]);
    until("the other server", || tools().contains("second_Shell_more").then_some(()));
    assert!(!tools().contains("first_"), "{}", tools());
}
