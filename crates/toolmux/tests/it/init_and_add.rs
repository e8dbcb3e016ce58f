//! `toolmux init` and `toolmux add`: a configuration from nothing, and more in it.

use std::path::Path;

use serde_json::json;

use crate::process::{BINARY, ECHO, Serving, folder, stderr, stdout, toolmux};

fn text(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("toolmux.toml")).expect("it is there")
}

/// Adds something to a configuration with a comment; the lines that were added.
#[track_caller]
fn check(folder: &Path, words: &[&str], expect: &[&str]) {
    let before = text(folder);
    let output = toolmux(folder, &[&["add"], words].concat());
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    let after = text(folder);
    let added = after.strip_prefix(&before).expect("what was there stays as it was");
    for line in expect {
        assert!(added.contains(line), "{line}: {added}");
    }
}

#[track_caller]
fn refused(folder: &Path, words: &[&str], expect: &[&str]) {
    let before = text(folder);
    let output = toolmux(folder, &[&["add"], words].concat());
    let told = stderr(&output).split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
    for words in expect {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(text(folder), before, "a refusal changes nothing");
}

#[test]
fn a_new_configuration_is_good_and_serves() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    assert!(toolmux(path, &["init"]).status.success());
    let checked = toolmux(path, &["check", "toolmux.toml"]);
    assert_eq!(stdout(&checked), "toolmux.toml: valid configuration with 1 source\n", "{}", stderr(&checked));
    let serving = Serving::start(path);
    assert!(serving.call("Clock_now", &json!({ "zone": "UTC" })).contains("+0000"), "it tells the time");
    assert!(path.join("toolmux.db").is_file(), "calls are recorded beside the configuration");
}

#[test]
fn a_configuration_that_is_there_is_kept() {
    let folder = folder("# mine\n");
    let output = toolmux(folder.path(), &["init"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("hint: --force replaces it"), "{}", stderr(&output));
    assert_eq!(text(folder.path()), "# mine\n");
    assert!(toolmux(folder.path(), &["init", "--force", "."]).status.success());
    assert!(text(folder.path()).starts_with("# toolmux: tools from anywhere"));
}

#[test]
fn sources_of_every_kind_are_added_after_they_answered() {
    let upstream = folder(ECHO);
    let serving = Serving::start(upstream.path());
    let config = upstream.path().join("toolmux.toml").display().to_string();
    let folder = folder("# mine, without an end of line");
    let path = folder.path();
    check(
        path,
        &["--name", "Shell", "--", BINARY, "mcp", &config],
        &["[sources.Shell]\nkind = \"mcp\"\ncommand = ["],
    );
    let url = format!("http://{}", serving.address);
    check(path, &[&url], &["[sources.oxp]\nkind = \"oxp\"\n", &format!("url = \"{url}\"")]);
    check(path, &[&format!("{url}/opentool")], &["[sources.opentool]\nkind = \"opentool\""]);
    check(
        path,
        &["libz.so.1"],
        &["[sources.libz]", "document = \"libz.opendyn.json\"", "library = \"libz.so.1\""],
    );
    let servers = json!({ "mcpServers": { "far": { "url": format!("{url}/mcp") } } });
    std::fs::write(path.join("mcp.json"), servers.to_string()).expect("written");
    check(path, &["mcp.json"], &["[sources]\nimport = [\"mcp.json\"]"]);
    let tools = stdout(&toolmux(path, &["tools"]));
    for name in ["Shell_Shell_echo", "oxp_echo", "opentool_Shell_echo", "libz_crc32", "far_Shell_echo"] {
        assert!(tools.contains(name), "{name}: {tools}");
    }
}

#[test]
fn a_library_in_the_folder_of_the_configuration_is_found_again() {
    let folder = folder("");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write("sum.h", "/* Adds two numbers. */\nint sum(int a, int b);\n");
    write("sum.c", "int sum(int a, int b) { return a + b; }\n");
    let cc = ["-shared", "-fPIC", "-o", "libsum.so", "sum.c"];
    let built = std::process::Command::new("cc").args(cc).current_dir(folder.path()).status();
    assert!(built.expect("a C compiler").success());
    let added = toolmux(folder.path(), &["add", "libsum.so", "--name", "Sum"]);
    assert!(added.status.success(), "{}", stderr(&added));
    let called = toolmux(folder.path(), &["call", "Sum.sum", "a=1", "b=2"]);
    assert_eq!(stdout(&called), "{\"result\":3}\n", "{}", stderr(&called));
}

#[test]
fn what_does_not_answer_or_has_no_name_is_not_added() {
    let folder = folder(ECHO);
    let path = folder.path();
    refused(path, &["--", "false"], &["source `false`", "hint: nothing was added"]);
    refused(path, &["libz.so.1", "--name", "Shell"], &["already has a source `Shell`", "--name NAME"]);
    refused(path, &["libz.so.1", "--name", "a b"], &["characters other than ASCII letters"]);
    refused(path, &["libz.so.1", "--config", "toolmx.toml"], &["hint: did you mean `toolmux.toml`?"]);
    refused(path, &["libz.so.1", "--config", "other.toml"], &["hint: `toolmux init other.toml` writes"]);
    refused(
        path,
        &["--", "no-such-program"],
        &["hint: nothing was added; its program is missing: install it"],
    );
    let output = toolmux(path, &["add", "--", "false"]);
    assert!(!stderr(&output).contains("a command that speaks MCP"), "not before it has: {}", stderr(&output));
    assert!(!path.join("libz.opendyn.json").exists());
}
