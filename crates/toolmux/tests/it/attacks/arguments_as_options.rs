//! An attacker who chooses an argument of a command wants it to be taken for an option.

use std::path::Path;

use serde_json::{Value, json};

use crate::process::{Serving, folder};

/// `sort` writes to any file by its option `--output`.
const SORT: &str = r#"
store = "memory"

[sources.Text]
kind = "command"

[sources.Text.tools.plain]
description = "Sorts a file"
command = ["sort", "{file}"]
parameters.file = { type = "string" }

[sources.Text.tools.joined]
description = "Sorts a file in a folder"
command = ["sort", "{folder}{file}"]
parameters.folder = { type = "string" }
parameters.file = { type = "string" }

[sources.Text.tools.ended]
description = "Sorts a file, whatever its name"
command = ["sort", "--", "{file}"]
parameters.file = { type = "string" }

[sources.Text.tools.allowed]
description = "Sorts a file, or does what an option says"
command = ["sort", "{file}"]
parameters.file = { type = "string" }
dashes = true

[sources.Text.tools.named]
description = "Sorts a file with a separator"
command = ["sort", "--field-separator={separator}", "numbers"]
parameters.separator = { type = "string" }
"#;

fn place() -> tempfile::TempDir {
    let folder = folder(SORT);
    std::fs::write(folder.path().join("numbers"), "2\n1\n").expect("written");
    std::fs::write(folder.path().join("-dash"), "4\n3\n").expect("written");
    folder
}

fn call(serving: &Serving, tool: &str, input: Value) -> (u16, Value) {
    let body = json!({ "tool_id": format!("Text.{tool}"), "input": input }).to_string();
    let (status, answer) = serving.post("/tools/call", "", body.as_bytes());
    (status, serde_json::from_str(&answer).expect("JSON"))
}

fn owned(folder: &Path) -> bool {
    folder.join("owned").exists()
}

#[test]
fn an_argument_does_not_become_an_option() {
    let folder = place();
    let serving = Serving::start(folder.path());
    let option = format!("--output={}", folder.path().join("owned").display());
    for (tool, input, parameter) in [
        ("plain", json!({ "file": option }), "file"),
        ("plain", json!({ "file": "-o" }), "file"),
        ("joined", json!({ "folder": "", "file": option }), "file"),
        ("joined", json!({ "folder": "-", "file": option }), "folder"),
    ] {
        let (status, answer) = call(&serving, tool, input.clone());
        let told = answer.to_string();
        assert_eq!(status, 422, "{tool} {input}: {told}");
        assert!(told.contains("must not begin with `-`") && told.contains("`dashes = true`"), "{told}");
        assert!(answer["parameter_errors"].to_string().contains(parameter), "{parameter}: {told}");
        assert!(!owned(folder.path()), "{tool} {input} wrote a file");
    }
    let told = serving.call("Text_plain", &json!({ "file": option }));
    assert!(told.contains("\"code\":400") && told.contains("file"), "{told}");
    assert!(!owned(folder.path()));
}

#[test]
fn an_argument_behind_two_dashes_or_a_name_is_no_option() {
    let folder = place();
    let serving = Serving::start(folder.path());
    assert_eq!(call(&serving, "ended", json!({ "file": "-dash" })).1["value"], "3\n4");
    let option = format!("--output={}", folder.path().join("owned").display());
    assert_eq!(
        call(&serving, "ended", json!({ "file": option })).1["success"],
        false,
        "there is no such file"
    );
    assert_eq!(call(&serving, "named", json!({ "separator": "-" })).1["value"], "1\n2");
    assert_eq!(call(&serving, "plain", json!({ "file": "numbers" })).1["value"], "1\n2");
    assert!(!owned(folder.path()));
    // What a configuration allows is its own choice.
    assert_eq!(call(&serving, "allowed", json!({ "file": "--version" })).1["success"], true);
}
