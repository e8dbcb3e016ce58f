//! Commands as tools: exit statuses, folders, parameters and what is printed.

use crate::process::{folder, stderr, stdout, toolmux};

/// Calls a tool of this table; exit code, output and what was told.
fn call(table: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let config =
        format!("[sources.T]\nkind = \"command\"\n[sources.T.tools.x]\ndescription = \"x\"\n{table}");
    let folder = folder(&config);
    std::fs::create_dir(folder.path().join("below")).expect("made");
    let output = toolmux(folder.path(), &[&["call", "T.x"], arguments].concat());
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn how_a_command_ended_is_told() {
    for (script, expect) in [
        ("exit 7", "`sh` ended with status 7 and printed nothing"),
        ("echo why >&2; exit 7", "`sh` ended with status 7: why"),
        ("kill -SEGV $$", "`sh` was killed by signal 11 (SIGSEGV)"),
    ] {
        let (code, _, told) = call(&format!("command = [\"sh\", \"-c\", \"{script}\"]"), &[]);
        assert!(code == Some(1) && told.contains(expect), "{script}: {told}");
    }
}

#[test]
fn other_exit_statuses_may_be_successes() {
    let table = "command = [\"sh\", \"-c\", \"echo none; exit 1\"]\nsuccess_codes = [0, 1]\n";
    assert_eq!(call(table, &[]).1, "\"none\"\n");
    assert_eq!(call(&table.replace("exit 1", "exit 2"), &[]).0, Some(1));
    assert_eq!(call(&table.replace("exit 1", "kill $$"), &[]).0, Some(1), "a signal is no status");
    let (code, _, told) = call(&table.replace("[0, 1]", "[]"), &[]);
    assert!(code == Some(2) && told.contains("empty `success_codes`"), "{told}");
    let (code, _, told) = call(&table.replace("[0, 1]", "[-1]"), &[]);
    assert!(
        code == Some(2)
            && told.contains("`sources.T.tools.x.success_codes[0]` must be a whole number from 0 to 255"),
        "{told}"
    );
}

#[test]
fn a_command_runs_in_its_folder() {
    let (_, out, told) = call("command = [\"pwd\"]\nfolder = \"below\"\n", &[]);
    assert!(out.trim_end().ends_with("/below\""), "{out}{told}");
    let (code, _, told) = call("command = [\"pwd\"]\nfolder = \"nowhere\"\n", &[]);
    assert!(code == Some(2) && told.contains("has a `folder` that is not there"), "{told}");
}

#[test]
fn a_parameter_may_be_said_not_to_be_required() {
    let table =
        "command = [\"echo\", \"{a}\", \"{b}\"]\nparameters.a = { type = \"string\", required = true }
parameters.b = { type = \"string\", required = false }\n";
    assert_eq!(call(table, &["a=one"]).1, "\"one\"\n");
    assert_eq!(call(table, &["a=one", "b=two"]).1, "\"one two\"\n");
    let (code, _, told) = call(table, &["b=two"]);
    assert!(code == Some(2) && told.contains("`a` is required but missing"), "{told}");
}

#[test]
fn output_that_is_not_utf_8_is_told() {
    let (_, out, told) = call("command = [\"printf\", 'gr\\374n']\n", &[]);
    assert_eq!(out, "\"gr\u{fffd}n\"\n", "{told}");
    assert!(told.contains("the output of `printf` is not UTF-8 from byte 2 on"), "{told}");
}
