//! Commands, exit codes and words.

use crate::process::{ECHO, Serving, folder, stderr, stdout, toolmux};

fn check(arguments: &[&str], code: i32, out: &str, err: &str) {
    let folder = folder(&format!(
        "{ECHO}\n[sources.Shell.tools.fail]\ndescription = \"Fails\"\ncommand = [\"false\"]\n"
    ));
    let output = toolmux(folder.path(), arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
    assert!(stdout(&output).contains(out), "{arguments:?}: {}", stdout(&output));
    assert!(stderr(&output).contains(err), "{arguments:?}: {}", stderr(&output));
}

#[test]
fn a_call_prints_the_value_alone() {
    check(&["call", "Shell.echo", "text=hello world"], 0, "\"hello world\"\n", "");
    check(&["call", "Shell_echo", "--json", r#"{"text":"x"}"#], 0, "\"x\"\n", "");
}

#[test]
fn a_tool_that_fails_exits_with_1() {
    check(&["call", "Shell.fail"], 1, "", "`false` ended with status 1");
}

#[test]
fn a_refused_call_exits_with_2_and_says_what_to_do() {
    check(&["call", "Shell.ecko", "text=x"], 2, "", "did you mean `Shell.echo`?");
    check(&["call", "Shell.ecko", "text=x"], 2, "", "hint: `toolmux tools` lists all tools");
    check(&["call", "Shell.echo"], 2, "", "`text` is required but missing");
    check(&["call", "Shell.echo", "text"], 2, "", "hint: write name=value");
    check(&["call", "Shell.echo", "text=a", "text=b"], 2, "", "`text` is given twice");
    check(&["call", "Shell.echo", "--json", "[1]"], 2, "", "must be a JSON object");
    check(&["call", "Shell.echo", "--config", "nowhere.toml"], 2, "", "there is no `nowhere.toml`");
    check(
        &["call", "Shell.echo", "--config", "nowhere.toml"],
        2,
        "",
        "`toolmux init nowhere.toml` writes a configuration",
    );
    check(
        &["db", "status", "--store", "sqlite:no.db"],
        2,
        "",
        "the store cannot be opened: error returned from database: (code: 14) unable to open database\n",
    );
}

#[test]
fn a_dry_run_checks_everything_and_runs_nothing() {
    let folder = folder(&ECHO.replace("\"echo\", \"{text}\"", "\"touch\", \"{text}\""));
    let call = |tool: &str, text: &str| {
        let output = toolmux(folder.path(), &["call", tool, text, "--dry-run"]);
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let (code, out, told) = call("Shell.echo", "text=made");
    assert_eq!((code, out.as_str()), (Some(0), ""), "{told}");
    assert!(told.contains("the call passes every check; nothing was run"), "{told}");
    assert!(!folder.path().join("made").exists());
    for (tool, text, words) in [
        ("Shell.echo", "txt=made", "`text` is required"),
        ("Shell.ecko", "text=x", "did you mean `Shell.echo`"),
    ] {
        let (code, _, told) = call(tool, text);
        assert!(code == Some(2) && told.contains(words), "{told}");
    }
    let serving = Serving::start(folder.path());
    let url = format!("http://{}", serving.address);
    for (text, code) in [("text=made", 0), ("txt=made", 2)] {
        let output = toolmux(folder.path(), &["call", "Shell.echo", text, "--dry-run", "--url", &url]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    }
    assert!(!folder.path().join("made").exists());
}

#[test]
fn a_call_starts_only_the_sources_it_needs() {
    let other = "[sources.Other]\nkind = \"mcp\"\ncommand = [\"sh\", \"-c\", \"touch started; sleep 600\"]\n";
    let folder = folder(&format!("{ECHO}\n{other}"));
    std::fs::write(folder.path().join("steps.json"), STEPS).expect("written");
    let began = std::time::Instant::now();
    for (arguments, code) in [
        (&["call", "Shell.echo", "text=x"][..], 0),
        (&["call", "Shell_echo", "text=x"], 0),
        (&["call", "Shell.nope"], 2),
        (&["call", "Nobody.nope"], 2),
        (&["run", "steps.json"], 0),
    ] {
        let output = toolmux(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
    }
    assert!(!folder.path().join("started").exists(), "no other source is started");
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "nobody waits for a source that is silent");
}

/// A source that starts and never says anything.
const MUTE: &str = r#"
[sources.Mute]
kind = "mcp"
command = ["sleep", "600"]

[limits]
list_timeout = "4s"
start_wait = "3s"
"#;

#[test]
fn the_wait_for_a_mute_source_is_bounded_and_announced() {
    let folder = folder(MUTE);
    let began = std::time::Instant::now();
    let output = toolmux(folder.path(), &["call", "Mute.nope"]);
    let told = stderr(&output);
    assert!(began.elapsed() < std::time::Duration::from_secs(30), "{:?}: {told}", began.elapsed());
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("waiting for Mute, at most 4 s"), "{told}");
    assert!(told.contains("sources that have not listed their tools: `Mute`"), "{told}");
}

#[test]
fn a_tool_is_called_by_each_of_its_names() {
    let hyphen = ECHO.replace("tools.echo]", "tools.echo-it]");
    let folder = folder(&format!("{hyphen}\n[toolsets.some]\ntools = [\"Shell_echo-it\"]\n"));
    let serving = Serving::start(folder.path());
    let url = format!("http://{}", serving.address);
    for name in ["Shell.echo-it", "Shell.echo_it", "Shell_echo-it", "Shell_echo_it"] {
        for more in [&[][..], &["--url", &url]] {
            let output = toolmux(folder.path(), &[&["call", name, "text=hi"], more].concat());
            assert_eq!(stdout(&output), "\"hi\"\n", "{name} {more:?}: {}", stderr(&output));
        }
        let why = stdout(&toolmux(folder.path(), &["tools", "--why", name]));
        assert!(why.contains("toolsets   some"), "{name}: {why}");
        assert!(serving.call(name, &serde_json::json!({ "text": "hi" })).contains("\"hi"), "{name}");
    }
    for id in ["Shell.echo-it", "Shell.echo_it"] {
        let body = serde_json::json!({ "tool_id": id, "input": { "text": "hi" } });
        let (status, told) = serving.post("/tools/call", "", body.to_string().as_bytes());
        assert!(status == 200 && told.contains("\"hi\""), "{id}: {told}");
    }
}

#[test]
fn tools_are_listed_for_people_and_for_programs() {
    check(&["tools"], 0, "Shell.echo@1.0.0  Shell_echo  Says it back", "");
    check(&["tools", "--format", "json"], 0, "\"id\": \"Shell.echo@1.0.0\"", "");
    check(&["tools", "--format", "oxp"], 0, "\"id\": \"Shell.echo@1.0.0\"", "");
    check(&["tools", "--format", "mcp"], 0, "\"inputSchema\": {", "");
    check(&["tools", "--format", "plain"], 0, "\"input_schema\": {", "");
    check(&["tools", "--format", "opentool"], 0, "\"name\": \"Shell_echo\"", "");
    check(&["tools", "--format", "anthropic"], 0, "\"input_schema\": {", "");
    check(&["tools", "--format", "openai"], 0, "\"type\": \"function\"", "");
    check(&["tools", "--format", "openai-responses"], 0, "\"strict\": ", "");
    check(&["tools", "--format", "gemini"], 0, "\"functionDeclarations\": [", "");
}

#[test]
fn the_store_is_looked_at_pruned_and_brought_up_to_date() {
    check(&["db", "status", "--store", "sqlite:records.db"], 2, "", "toolmux db migrate");
    check(&["db", "migrate", "--store", "sqlite:records.db"], 0, "version 9\n", "");
    check(&["db", "prune", "--store", "sqlite:records.db", "--older-than", "1h"], 0, "0 calls, 0 tasks", "");
    check(&["db", "status", "--store", "papyrus:x"], 2, "", "is not a store");
}

#[test]
fn check_says_whether_files_are_good() {
    check(&["check", "toolmux.toml"], 0, "valid configuration with 1 source", "");
    check(&["check"], 0, "toolmux.toml: valid configuration with 1 source", "");
    check(&["check", "toolmux.toml", "nowhere.toml"], 2, "valid configuration", "there is no `nowhere.toml`");
}

#[test]
fn wrong_usage_suggests_what_was_meant() {
    check(&["serv"], 2, "", "'serve'");
    check(&["serve", "--lisen", "x"], 2, "", "'--listen'");
    check(&["serve", "--port", "9000"], 2, "", "hint: --listen 127.0.0.1:9000");
    check(&["serve", "-p", "9000"], 2, "", "hint: --listen 127.0.0.1:9000");
    check(&["tools", "--format", "jsn"], 2, "", "'json'");
    check(&["call", "Shell.echo", "--config", "tolmux.toml"], 2, "", "hint: did you mean `toolmux.toml`?");
    check(&["check", "toolmux.tml"], 2, "", "hint: did you mean `toolmux.toml`?");
    check(&["tools", "tolmux.toml"], 2, "", "hint: did you mean `toolmux.toml`?");
    check(&["call", "Shell_ecko", "text=x"], 2, "", "did you mean `Shell_echo`?");
    check(&["run", "toolmux.tml"], 2, "", "hint: did you mean `toolmux.toml`?");
    check(&["describe", "toolmux.tml", "--library", "libz.so.1"], 2, "", "did you mean `toolmux.toml`?");
    check(&["call", "Shell.echo", "--url", "127.0.0.1:9"], 2, "", "did you mean `http://127.0.0.1:9`?");
    check(&["call", "echo", "text=x"], 2, "", "did you mean `Shell_echo`?");
}

#[test]
fn a_part_of_an_address_is_told_whole() {
    for (part, whole) in [
        ("127.0.0.1", "127.0.0.1:9627"),
        ("9700", "127.0.0.1:9700"),
        (":9700", "127.0.0.1:9700"),
        ("localhost:9700", "127.0.0.1:9700"),
        ("::1", "[::1]:9627"),
    ] {
        check(&["serve", "--listen", part], 2, "", &format!("hint: did you mean `{whole}`?"));
    }
}

#[test]
fn a_toolset_that_is_not_there_is_not_taken_for_an_empty_one() {
    let folder = folder(&format!("{ECHO}\n[toolsets.home]\ntools = []\n"));
    let output = toolmux(folder.path(), &["mcp", "--toolset", "hom"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("hint: did you mean `home`?"), "{}", stderr(&output));
}

#[test]
fn help_is_told_without_colour_to_whoever_is_no_terminal() {
    let folder = folder(ECHO);
    for words in [&["--help"][..], &["serve", "--help"], &["doctor"], &["serv"]] {
        let output = toolmux(folder.path(), words);
        assert!(!(stdout(&output) + &stderr(&output)).contains('\x1b'), "{words:?}");
    }
    let painted = toolmux(folder.path(), &["tools", "--color", "always"]);
    assert!(stdout(&painted).starts_with("\x1b[1mTOOL"), "{}", stdout(&painted));
}

#[test]
fn a_list_that_is_not_read_to_its_end_ends_well() {
    use std::io::Read;
    let folder = folder(ECHO);
    let mut child = std::process::Command::new(crate::process::BINARY)
        .args(["tools", "--json"])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let mut told = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut told).expect("text");
    assert_eq!(child.wait().expect("our child").code(), Some(0), "{told}");
    assert_eq!(told, "");
}

const STEPS: &str = r#"{ "openworkflow": "1.0.0", "info": { "title": "T", "version": "1" }, "workflow": {
    "start": { "function": "Shell.echo", "arguments": { "text": "hello" }, "results": { "result": "" }, "next": "" } } }"#;

#[test]
fn progress_of_a_tool_is_shown_while_it_runs() {
    let folder = folder(ECHO);
    std::fs::write(folder.path().join("steps.json"), STEPS).expect("written");
    let config = format!("{ECHO}\n[sources.Flow]\nkind = \"workflow\"\ndocument = \"steps.json\"\n");
    crate::process::write(folder.path(), &config);
    let tools = stdout(&toolmux(folder.path(), &["tools", "--json"]));
    let tools: serde_json::Value = serde_json::from_str(&tools).expect("JSON");
    let tools = tools.as_array().expect("a list");
    let flow = tools.iter().filter_map(|tool| tool["name"].as_str()).find(|name| name.starts_with("Flow"));
    let called = toolmux(folder.path(), &["call", flow.expect("the workflow is a tool")]);
    assert!(called.status.success(), "{}", stderr(&called));
    assert!(stderr(&called).contains("[0/1] start: Shell.echo"), "{}", stderr(&called));
}

#[test]
fn completions_and_the_manual_are_printed() {
    check(&["completions", "bash"], 0, "_toolmux()", "");
    check(&["--help"], 0, "Also:     start, follow, auth, db, health, completions, man, install-extras", "");
    check(&["man"], 0, ".TH toolmux", "");
}

#[test]
fn extras_are_installed_where_shells_and_man_look() {
    let home = tempfile::tempdir().expect("a folder");
    let run = || {
        std::process::Command::new(crate::process::BINARY)
            .arg("install-extras")
            .env("HOME", home.path())
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .expect("the binary runs")
    };
    assert!(run().status.success());
    let again = run();
    assert!(again.status.success(), "twice is the same as once: {}", stderr(&again));
    for (file, words) in [
        (".local/share/bash-completion/completions/toolmux", "_toolmux()"),
        (".local/share/man/man1/toolmux.1", "0 success, 1 tool failed, 2 usage or refused"),
        (".local/share/man/man1/toolmux-serve.1", "Example: toolmux serve"),
    ] {
        let text = std::fs::read_to_string(home.path().join(file)).unwrap_or_default();
        assert!(text.contains(words), "{file}: {text}");
    }
}

#[test]
fn a_parameter_with_a_default_may_be_left_out() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let call = |given: &[&str]| {
        let config = ["--config", "examples/quickstart/toolmux.toml"];
        let output = toolmux(root.as_ref(), &[&["call", "Clock.now"], given, &config].concat());
        stdout(&output) + &stderr(&output)
    };
    assert!(call(&[]).contains("+00:00"), "{}", call(&[]));
    assert!(call(&["zone=Asia/Tokyo"]).contains("+09:00"), "{}", call(&["zone=Asia/Tokyo"]));
}
