//! The lines that a server prints at its start do what they say when they are pasted into a shell.

use std::process::Command;

use crate::process::{ECHO, Serving, folder};

/// An example with all that a shell would make something of.
const AWKWARD: &str = r#"it's \"$HOME\" `id` \\ * it''s"#;

fn config() -> String {
    let text = format!("{{ type = \"string\", examples = [\"{AWKWARD}\"] }}");
    ECHO.replace("{ type = \"string\" }", &text)
}

/// Runs each line that a server printed; gives all that it printed.
fn check(serving: &Serving, key: &str) -> String {
    let told = serving.told("print(answer.result)");
    for protocol in ["OpenTool", "OXP", "ATS", "MCP"] {
        let line = told.lines().find_map(|line| line.trim().strip_prefix(protocol)?.strip_prefix(' '));
        let line = line.unwrap_or_else(|| panic!("no line for {protocol}: {told}")).trim();
        let ran = Command::new("sh")
            .args(["-c", line])
            .env("HOME", "/root")
            .env("KEY", key)
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(
            said.contains(AWKWARD),
            "{protocol}: {line}\n{said}\n{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
    told
}

#[test]
fn lines_to_paste_survive_the_shell() {
    let folder = folder(&config());
    let told = check(&Serving::start(folder.path()), "");
    assert!(!told.contains("$KEY") && !told.contains("every address"), "{told}");
}

#[test]
fn lines_to_paste_show_where_the_key_goes() {
    let folder = folder(&format!("{}\n[keys.ann]\nkey = \"ann-key\"\n", config()));
    let told = check(&Serving::start(folder.path()), "ann-key");
    assert!(told.contains(r#""headers":{"Authorization":"Bearer $KEY"}"#), "{told}");
    assert!(told.contains("Authorization: Bearer $KEY\n"), "{told}");
}
