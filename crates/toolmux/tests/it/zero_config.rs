//! `toolmux serve X…` without a configuration: what X may be, what is said, and what is refused.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::process::{BINARY, ECHO, Serving, folder, stderr, stdout, toolmux};

const LISTEN: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

fn document(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/opendyn").join(name).display().to_string()
}

/// Lists the tools of words on the command line, by their names.
#[track_caller]
fn check(folder: &Path, words: &[&str], expect: &[&str]) {
    let output = toolmux(folder, &[&["tools", "--format", "json"], words].concat());
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    let tools: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let names: Vec<&str> =
        tools.as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in expect {
        assert!(names.contains(name), "{words:?}: {names:?}");
    }
}

#[track_caller]
fn refused(folder: &Path, words: &[&str], expect: &[&str]) {
    let output = toolmux(folder, &[&LISTEN, words].concat());
    let told = stderr(&output).split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
    for words in expect {
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn documents_are_served_with_bare_names_and_lines_to_paste() {
    let folder = tempfile::tempdir().expect("a folder");
    let (zlib, libm) = (document("zlib.opendyn.json"), document("libm.opendyn.json"));
    let serving = Serving::by(folder.path(), &[&LISTEN[..], &[&zlib, &libm]].concat());
    let told = serving.told("print(answer.result)");
    assert!(told.contains("an OpenDyn document of the C library `libz.so.1`"), "{told}");
    let base = format!("http://{}", serving.address);
    for line in [
        "  source zlib: 6 tools".to_owned(),
        format!("curl {base}/opentool/call"),
        format!("curl {base}/tools/call"),
        format!("curl -N -H 'accept: text/event-stream' {base}/callback/"),
        format!("curl {base}/mcp"),
        format!(r#"{{"mcpServers":{{"toolmux":{{"type":"http","url":"{base}/mcp"}}}}}}"#),
        format!("For an OpenTool client, the base URL:\n  {base}\n"),
        format!("client = oxp.Oxp(base_url=\"{base}\""),
    ] {
        assert!(told.contains(&line), "{line}: {told}");
    }
    let answer = serving.call("crc32", &json!({ "data": "hello" }));
    assert!(answer.contains("907060870"), "{answer}");
}

#[test]
fn a_library_is_described_by_the_header_of_the_system() {
    let folder = tempfile::tempdir().expect("a folder");
    check(folder.path(), &["libz.so.1"], &["crc32", "adler32", "zlibVersion"]);
    check(folder.path(), &["libz.so.1", "/usr/include/zlib.h"], &["crc32"]);
    check(folder.path(), &["/usr/include/zlib.h"], &["crc32"]);
    check(folder.path(), &[&document("zlib.opendyn.json"), "libz.so.1"], &["crc32"]);
}

#[test]
fn a_library_is_described_by_the_header_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    std::fs::write(path.join("twice.h"), "/* Twice as much. */\nint twice(int number);\n").expect("written");
    std::fs::write(path.join("twice.c"), "int twice(int number) { return 2 * number; }\n").expect("written");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o", "libtwice.so", "twice.c"]).current_dir(path);
    assert!(cc.status().expect("cc runs").success());
    let serving = Serving::by(path, &[&LISTEN[..], &["libtwice.so"]].concat());
    let told = serving.told("For Python");
    assert!(told.contains("1 function of its header `"), "{told}");
    assert!(serving.call("twice", &json!({ "number": 21 })).contains("42"));
    check(path, &["twice.h"], &["twice"]);
}

#[test]
fn an_opentool_document_is_served_with_its_own_server_or_the_one_named() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    let base = format!("http://{}", serving.address);
    let mut document: Value = serde_json::from_str(&serving.get("/opentool/load", "").1).expect("JSON");
    if let Some(members) = document.as_object_mut() {
        members.remove("server");
    }
    std::fs::write(folder.path().join("shell.json"), document.to_string()).expect("written");
    check(folder.path(), &["shell.json", &base], &["Shell_echo"]);
    document["server"] = json!({ "url": base });
    std::fs::write(folder.path().join("own.json"), document.to_string()).expect("written");
    check(folder.path(), &["own.json"], &["Shell_echo"]);
    refused(folder.path(), &["shell.json"], &["no address of the server", "hint: give `url"]);
}

#[test]
fn with_a_log_for_programs_every_line_is_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(BINARY)
        .args(LISTEN)
        .args(["--log", "json", &document("zlib.opendyn.json")])
        .current_dir(folder.path())
        .env_remove("RUST_LOG")
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut serving = lines.map_while(Result::ok).map(|line| serde_json::from_str::<Value>(&line));
    let ready = serving.find(|line| !line.as_ref().is_ok_and(|line| line["fields"]["message"] != "serving"));
    let ready = ready.expect("it says where it listens").expect("every line is JSON");
    assert_eq!(ready["fields"]["tools"], 6, "{ready}");
    child.kill().expect("our child");
    child.wait().expect("our child");
}

#[test]
fn an_mcp_command_is_served() {
    let folder = folder(ECHO);
    check(folder.path(), &["--", BINARY, "mcp", "toolmux.toml"], &["Shell_echo"]);
    check(folder.path(), &[&format!("{BINARY} mcp toolmux.toml")], &["Shell_echo"]);
    let output = toolmux(folder.path(), &["tools", "--names", "prefixed", "--", BINARY, "mcp"]);
    assert!(stdout(&output).contains("toolmux_Shell_echo"), "{}", stdout(&output));
}

#[test]
fn an_address_is_asked_what_it_is() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    let base = format!("http://{}", serving.address);
    for (path, kind, tool) in [
        ("", "an OXP server", "echo"),
        ("/mcp", "an MCP server", "Shell_echo"),
        ("/opentool", "an OpenTool server", "Shell_echo"),
        ("/get_tool", "an ATS server", "Shell_echo"),
    ] {
        let url = format!("{base}{path}");
        let relay = Serving::by(folder.path(), &[&LISTEN[..], &[&url]].concat());
        assert!(relay.told("For Python").contains(&format!("found {url}: {kind}")), "{url}");
        assert!(relay.call(tool, &json!({ "text": "through" })).contains("through"), "{url}");
    }
}

#[test]
fn the_file_of_an_mcp_client_is_served() {
    let folder = folder(ECHO);
    let servers =
        json!({ "mcpServers": { "shell": { "command": BINARY, "args": ["mcp", "toolmux.toml"] } } });
    std::fs::write(folder.path().join("claude_desktop_config.json"), servers.to_string()).expect("written");
    let codex = format!("[mcp_servers.shell]\ncommand = \"{BINARY}\"\nargs = [\"mcp\", \"toolmux.toml\"]\n");
    std::fs::write(folder.path().join("config.toml"), codex).expect("written");
    check(folder.path(), &["claude_desktop_config.json"], &["Shell_echo"]);
    check(folder.path(), &["config.toml"], &["Shell_echo"]);
}

#[test]
fn one_bare_name_for_two_tools_is_served_once_and_told_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let zlib = document("zlib.opendyn.json");
    let serving = Serving::by(folder.path(), &[&LISTEN[..], &[&zlib, &zlib]].concat());
    let told = serving.told("hint: `--names prefixed`");
    assert!(told.contains("of zlib_2: the name `crc32` is taken by tool `crc32` of source `zlib`"), "{told}");
    assert!(serving.call("crc32", &json!({})).contains("Invalid arguments"), "the first one is served");
}

#[test]
fn what_cannot_be_served_is_told_with_the_remedy() {
    let folder = folder(ECHO);
    let path = folder.path();
    std::fs::write(path.join("notes.json"), "{}").expect("written");
    refused(path, &["toolmx.toml"], &["there is no `toolmx.toml`", "hint: did you mean `toolmux.toml`?"]);
    refused(path, &["notes.json"], &["`notes.json` is not a source of tools", "hint: a configuration"]);
    std::fs::write(path.join("half.json"), "{").expect("written");
    refused(path, &["half.json"], &["`half.json` is not JSON", "line 1"]);
    refused(path, &["."], &["`.` is a folder", "hint: did you mean `./toolmux.toml`?"]);
    refused(path, &["/usr"], &["`/usr` is a folder", "hint: name a file"]);
    refused(path, &["127.0.0.1:9"], &["hint: did you mean `http://127.0.0.1:9`?"]);
    refused(path, &["localhost:9/mcp"], &["hint: did you mean `http://localhost:9/mcp`?"]);
    refused(
        path,
        &["--", "no-such-program"],
        &[
            "source `no_such_program`: The command of the source cannot be started: No such file",
            "hint: its program is missing: install it",
        ],
    );
    refused(path, &["toolmux.toml", "libz.so.1"], &["cannot be combined", "hint: `toolmux add X"]);
    refused(path, &["--", "false"], &["source `false`", "hint: run it by hand to see why it fails"]);
    refused(
        path,
        &["http://127.0.0.1:1"],
        &["no tools were found at", "Cannot connect", "hint: is the server"],
    );
    let empty = tempfile::tempdir().expect("a folder");
    refused(empty.path(), &[], &["there is no `toolmux.toml`", "hint: `toolmux init` writes one"]);
}

#[test]
fn a_document_of_an_unknown_kind_is_refused_with_the_kinds_that_are_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let document = json!({ "openlater": "1.0.0", "functions": [] });
    std::fs::write(folder.path().join("later.json"), document.to_string()).expect("written");
    refused(
        folder.path(),
        &["later.json"],
        &[
            "`later.json` is not a source of tools",
            "it has none of the members `opentool`, `opendyn`, `openworkflow`",
            "an OpenTool document, an OpenDyn document, an OpenWorkflow document",
        ],
    );
}

#[test]
fn a_tool_served_bare_is_called_at_its_address_by_that_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let serving = Serving::by(folder.path(), &[&LISTEN[..], &[&document("zlib.opendyn.json")]].concat());
    let base = format!("http://{}", serving.address);
    let called = toolmux(folder.path(), &["call", "crc32", "data=hello", "--url", &base]);
    assert!(stdout(&called).contains("907060870"), "{}", stderr(&called));
    let called = toolmux(folder.path(), &["call", "zlib.crc33", "--url", &base]);
    assert!(stderr(&called).contains("did you mean `zlib.crc32`?"), "{}", stderr(&called));
}
