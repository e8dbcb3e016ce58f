//! Commands, exit codes and words.

use crate::process::{ECHO, folder, stderr, stdout, toolmux};

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
    check(&["call", "Shell.fail"], 1, "", "`false` failed");
}

#[test]
fn a_refused_call_exits_with_2_and_says_what_to_do() {
    check(&["call", "Shell.ecko", "text=x"], 2, "", "did you mean `Shell.echo`?");
    check(&["call", "Shell.ecko", "text=x"], 2, "", "hint: `toolmux tools` lists what there is");
    check(&["call", "Shell.echo"], 2, "", "`text` is required but missing");
    check(&["call", "Shell.echo", "text"], 2, "", "hint: write name=value");
    check(&["call", "Shell.echo", "--json", "[1]"], 2, "", "must be a JSON object");
    check(&["call", "Shell.echo", "--config", "nowhere.toml"], 2, "", "cannot read `nowhere.toml`");
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
    check(&["db", "migrate", "--store", "sqlite:records.db"], 0, "version 2", "");
    check(&["db", "prune", "--store", "sqlite:records.db", "--older-than", "1h"], 0, "0 calls, 0 tasks", "");
    check(&["db", "status", "--store", "papyrus:x"], 2, "", "is no store");
}

#[test]
fn check_says_whether_files_are_good() {
    check(&["check", "toolmux.toml"], 0, "a good configuration with 1 sources", "");
    check(&["check", "toolmux.toml", "nowhere.toml"], 2, "a good configuration", "cannot read");
}

#[test]
fn wrong_usage_suggests_what_was_meant() {
    check(&["serv"], 2, "", "'serve'");
    check(&["serve", "--lisen", "x"], 2, "", "'--listen'");
}

#[test]
fn help_fits_one_screen_and_every_command_has_an_example() {
    let folder = folder(ECHO);
    let help = stdout(&toolmux(folder.path(), &["-h"]));
    assert!(help.lines().count() <= 40, "{help}");
    for command in ["serve", "tools", "call", "chat", "db", "check", "completions", "man"] {
        let help = stdout(&toolmux(folder.path(), &[command, "--help"]));
        assert!(help.contains("Example: toolmux"), "{command}: {help}");
    }
}

#[test]
fn completions_and_the_manual_are_printed() {
    check(&["completions", "bash"], 0, "_toolmux()", "");
    check(&["man"], 0, ".TH toolmux", "");
}
