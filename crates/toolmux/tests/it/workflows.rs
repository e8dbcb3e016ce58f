//! Workflows from the command line: their steps may be tools of sources that start slowly.

use std::process::{Command, Stdio};

use crate::process::{BINARY, ECHO, folder, stderr, stdout, until};

/// An MCP server that says nothing before a file is there.
fn late() -> String {
    let script =
        format!("touch asked; while [ ! -e go ]; do sleep 0.01; done; rm go; exec {BINARY} mcp inner.toml");
    format!("store = \"memory\"\n[sources.Late]\nkind = \"mcp\"\ncommand = [\"sh\", \"-c\", \"{script}\"]\n")
}

fn steps(title: &str, function: &str) -> String {
    format!(
        r#"{{ "openworkflow": "1.0.0", "info": {{ "title": "{title}", "version": "1" }}, "workflow": {{ "start":
        {{ "function": "{function}", "arguments": {{}}, "results": {{ "result": "" }}, "next": "" }} }} }}"#
    )
}

#[test]
fn a_workflow_waits_for_the_sources_that_its_steps_name() {
    let flows = ["Inner", "Outer"]
        .map(|name| format!("[sources.{name}]\nkind = \"workflow\"\ndocument = \"{name}.json\"\n"));
    let folder = folder(&[late(), flows.concat()].concat());
    let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).expect("written");
    let echo = ECHO.replace("{ type = \"string\" }", "{ type = \"string\", default = \"hello\" }");
    write("inner.toml", &echo);
    write("Inner.json", &steps("I", "Late.Shell_echo"));
    write("Outer.json", &steps("O", "Inner.I"));
    for words in [&["call", "Inner.I"][..], &["call", "Outer.O"], &["run", "Outer.json"]] {
        std::fs::remove_file(folder.path().join("asked")).ok();
        let mut command = Command::new(BINARY);
        command.args(words).current_dir(folder.path()).env_remove("RUST_LOG");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        until("the source to be asked", || folder.path().join("asked").exists().then_some(()));
        write("go", "");
        let output = child.wait_with_output().expect("our child");
        assert_eq!(stdout(&output), "\"hello\"\n", "{words:?}: {}", stderr(&output));
    }
}
