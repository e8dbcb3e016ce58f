//! Whatever a source, a file or a document says, no command writes what would steer a terminal, or show a text other
//! than it is, to standard output or standard error.

use std::path::Path;

use crate::process::{BINARY, folder, stderr, stdout, toolmux};

/// A title of the terminal, a hidden text, a return to the start of the line and a change of direction, as TOML and
/// JSON write them.
const HOSTILE: &str = r"\u001b]0;owned\u0007\u001b[8m\u000d\u202e\u009b2J";
/// The same as the shell's `printf` writes them.
const PRINTED: &str = r"\033]0;owned\007\033[8m\r\342\200\256\302\2332J";

fn steers(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{202e}'
}

/// Runs a command and looks at both of its streams, which must have the words that came with the hostile ones.
#[track_caller]
fn check(folder: &Path, words: &[&str]) {
    let output = toolmux(folder, words);
    let told = stdout(&output) + &stderr(&output);
    assert!(told.contains("owned"), "{words:?} does not show it: {told:?}");
    assert!(!told.contains(steers), "{words:?}: {told:?}");
}

#[test]
fn no_text_of_others_steers_the_terminal() {
    let folder = folder(&format!(
        r#"
[sources.Shell]
kind = "command"
[sources.Shell.tools.echo]
description = "{HOSTILE}"
command = ["printf", '{PRINTED}']
[sources.Shell.tools.fail]
description = "Fails"
command = ["sh", "-c", "printf '{}' >&2; exit 3"]
"#,
        PRINTED.replace('\\', r"\\")
    ));
    let path = folder.path();
    let write = |name: &str, text: &str| std::fs::write(path.join(name), text).expect("written");
    check(path, &["tools"]);
    check(path, &["tools", "--format", "openai"]);
    check(path, &["tools", "--", BINARY, "mcp", "toolmux.toml"]);
    check(path, &["call", "Shell.echo"]);
    check(path, &["call", "Shell.fail"]);
    write(
        "bad.toml",
        &format!(
            "[sources.Bad]\nkind = \"mcp\"\ncommand = [\"sh\", \"-c\", \"printf '{}' >&2; exit 1\"]\n",
            PRINTED.replace('\\', r"\\")
        ),
    );
    check(path, &["tools", "bad.toml"]);
    check(path, &["doctor", "bad.toml"]);
    write("key.toml", &format!("\"{HOSTILE}\" = 1\n"));
    check(path, &["check", "key.toml"]);
    write("raw.toml", "\"\u{202e}owned\" = 1\n");
    check(path, &["check", "raw.toml"]);
    write("flow.json", &format!(r#"{{ "openworkflow": "1.0.0", "workflow": {{ "{HOSTILE}": 1 }} }}"#));
    check(path, &["check", "flow.json"]);
    write("owned.h", "/* \u{202e}\u{9b}2J */\nint owned(int number);\n");
    write("owned.c", "int owned(int number) { return number; }\n");
    let built = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "owned.so", "owned.c"])
        .current_dir(path)
        .status();
    assert!(built.expect("cc runs").success());
    check(path, &["describe", "owned.h", "--library", "./owned.so"]);
}
