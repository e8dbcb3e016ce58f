//! The lines that a server prints at its start do what they say when they are pasted into a shell.

use std::process::Command;

use crate::process::{ECHO, Serving, folder};

/// An example with all that a shell would make something of.
const AWKWARD: &str = r#"it's \"$HOME\" `id` \\ * it''s"#;

#[test]
fn lines_to_paste_survive_the_shell() {
    let text = format!("{{ type = \"string\", examples = [\"{AWKWARD}\"] }}");
    let folder = folder(&ECHO.replace("{ type = \"string\" }", &text));
    let serving = Serving::start(folder.path());
    let told = serving.told("print(answer.result)");
    for protocol in ["OpenTool", "OXP", "ATS", "MCP"] {
        let line = told.lines().find_map(|line| line.trim().strip_prefix(protocol)?.strip_prefix(' '));
        let line = line.unwrap_or_else(|| panic!("no line for {protocol}: {told}")).trim();
        let ran = Command::new("sh").args(["-c", line]).env("HOME", "/root").output().expect("a shell");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(
            said.contains(AWKWARD),
            "{protocol}: {line}\n{said}\n{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
}
