//! `toolmux doctor` and `toolmux tools --why`: what is wrong, and what to do about it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::process::{ECHO, folder, stderr, stdout, toolmux};

/// Every finding of one state, with its remedy.
#[track_caller]
fn findings(folder: &Path, more: &[&str], code: i32, state: &str) -> Vec<String> {
    let output = toolmux(folder, &[&["doctor", "--json"], more].concat());
    assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
    let told: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let told = told.as_array().expect("a list").iter().filter(|finding| finding["state"] == state);
    told.map(|finding| format!("{}: {} -> {}", finding["area"], finding["what"], finding["remedy"])).collect()
}

#[track_caller]
fn check(config: &str, code: i32, state: &str, expect: &[&str]) {
    let folder = folder(config);
    let told = findings(folder.path(), &[], code, state);
    for words in expect {
        assert!(told.iter().any(|finding| finding.contains(words)), "{words}: {told:#?}");
    }
}

const FREE: &str = "listen = \"127.0.0.1:0\"";

#[test]
fn a_good_configuration_is_told_to_be_good() {
    let areas = ["config", "address", "source", "clock"];
    check(&format!("{FREE}\n{ECHO}"), 0, "ok", &areas);
    check(&format!("{FREE}\n{ECHO}"), 0, "ok", &["Shell: 1 tool"]);
    check(&format!("{FREE}\n{ECHO}"), 0, "warn", &["kept in memory", "sqlite:toolmux.db"]);
}

#[test]
fn it_is_told_what_of_a_sandbox_holds() {
    let sandboxed = ECHO.replace("kind = \"command\"", "kind = \"command\"\nsandbox = \"deny\"");
    let expect = [
        "C libraries: files (landlock)",
        "programs: files (landlock ",
        "Shell: `sandbox` is on",
        "Shell: 1 tool",
    ];
    check(&format!("{FREE}\n{sandboxed}"), 0, "ok", &expect);
}

#[test]
fn what_would_keep_it_from_serving_is_told_with_the_remedy() {
    check("lisen = 1\n", 2, "bad", &["unknown key `lisen`", "did you mean `listen`?"]);
    check(&format!("listen = \"0.0.0.0:0\"\n{ECHO}"), 2, "bad", &["no key is configured", "[keys.NAME]"]);
    check(&format!("listen = \"192.0.2.1:9\"\n{ECHO}"), 2, "bad", &["cannot listen on 192.0.2.1:9"]);
    check(
        "[keys.ann]\nkey = { env = \"TOOLMUX_TEST_UNSET\" }\n",
        2,
        "bad",
        &["keys.ann.key: its environment variable is not set", "export it"],
    );
    check("[keys.ann]\nkey = \"short\"\n", 0, "warn", &["5 characters and can be guessed", "written out"]);
}

#[test]
fn a_source_that_fails_is_not_taken_for_a_server_that_cannot_serve() {
    check(
        &format!("{FREE}\n{ECHO}\n[sources.Gone]\nkind = \"oxp\"\nurl = \"http://127.0.0.1:1\"\n"),
        1,
        "fail",
        &["Gone: Cannot connect", "check that it is running, and its address and key"],
    );
    check(
        &format!("{FREE}\n{ECHO}\n[sources.Gone]\nkind = \"mcp\"\ncommand = [\"no-such-program\"]\n"),
        1,
        "fail",
        &["its program is missing: install it"],
    );
    check(
        &format!("{FREE}\n{ECHO}\n[sources.Gone]\nkind = \"mcp\"\ncommand = [\"false\"]\n"),
        1,
        "fail",
        &["run its command by hand"],
    );
}

#[test]
fn patterns_that_fit_no_tool_are_told() {
    let more =
        "[toolsets.home]\ntools = [\"Shel.echo\", \"Shell.*\"]\n[tools.\"Other.*\"]\ntimeout = \"5s\"\n";
    let expect = [
        "item 1 of toolsets.home.tools matches no tool\" -> \"did you mean `Shell.echo`?",
        "[tools.\\\"Other.*\\\"] matches no tool\" -> \"`toolmux tools` lists all tools",
    ];
    check(&format!("{FREE}\n{ECHO}\n{more}"), 0, "warn", &expect);
    let silent =
        format!("{FREE}\n{ECHO}\n{more}[sources.Gone]\nkind = \"oxp\"\nurl = \"http://127.0.0.1:1\"\n");
    let folder = folder(&silent);
    let told = findings(folder.path(), &[], 1, "warn");
    assert!(!told.iter().any(|finding| finding.contains("matches no tool")), "Gone may have them: {told:#?}");
}

#[test]
fn what_is_safe_to_mend_is_mended_when_asked() {
    let folder = folder(
        "listen = \"127.0.0.1:0\"\nstore = \"sqlite:data/records.db\"\n[keys.ann]\nkey = { file = \"ann.key\" }\n",
    );
    let key = folder.path().join("ann.key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").expect("written");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("set");
    let mode = || std::fs::metadata(&key).expect("it is there").permissions().mode() & 0o777;
    let bad = findings(folder.path(), &[], 2, "bad");
    assert!(bad[0].contains("no folder") && bad[0].contains("toolmux doctor --fix"), "{bad:?}");
    assert_eq!(mode(), 0o644, "nothing changes unasked");
    let fixed = findings(folder.path(), &["--fix"], 0, "fixed");
    assert_eq!(fixed.len(), 2, "{fixed:?}");
    assert_eq!(mode(), 0o600);
    assert!(folder.path().join("data").is_dir());
    assert_eq!(findings(folder.path(), &[], 0, "bad"), Vec::<String>::new());
}

const SETS: &str = "\n[toolsets.home]\ntools = [\"Shell.*\"]\n[toolsets.away]\ntools = [\"Other.*\"]
[keys.ann]\nkey = \"k1\"\ntoolset = \"home\"\n[keys.bob]\nkey = \"k2\"\ntoolset = \"away\"\n[keys.root]\nkey = \"k3\"\n";

#[track_caller]
fn why(config: &str, tool: &str, code: i32, expect: &[&str]) {
    let folder = folder(config);
    let output = toolmux(folder.path(), &["tools", "--why", tool]);
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(code), "{told}{}", stderr(&output));
    let lines: Vec<String> =
        told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in expect {
        assert!(lines.iter().any(|told| told == line), "{line}: {told}");
    }
}

#[test]
fn it_is_told_why_a_tool_is_served_and_to_whom() {
    let config = format!("{ECHO}{SETS}");
    let expect =
        ["served yes", "source Shell", "toolsets home", "everybody no", "keys ann, root", "not keys bob"];
    for tool in ["Shell.echo", "Shell_echo", "echo"] {
        why(&config, tool, 0, &expect);
    }
    why(ECHO, "Shell.echo", 0, &["everybody yes", "keys none"]);
}

#[test]
fn it_is_told_why_a_tool_is_not_served() {
    why(ECHO, "Shell.ecko", 2, &["served no", "reason no source has such a tool", "nearest Shell.echo"]);
    why(ECHO, "Shell.echo@9", 2, &["reason there is no such version; the newest is 1.0.0"]);
    let gone = format!("{ECHO}\n[sources.Gone]\nkind = \"oxp\"\nurl = \"http://127.0.0.1:1\"\n");
    why(
        &gone,
        "Gone.buy",
        2,
        &["reason no source that answers has such a tool", "silent Gone: Cannot connect to `127.0.0.1:1`"],
    );
}
