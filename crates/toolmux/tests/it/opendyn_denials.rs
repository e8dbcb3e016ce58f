//! What an operator is told when the sandbox refused a library what it needs, although the library does not tell itself.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::opendyn_fixture::{document, function};
use crate::process::Serving;

/// Opens a file that the caller does not know of, as libraries do with their configuration, and loses `errno`.
const SOURCE: &str = r#"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
static int lost(int fd) { errno = 0; return fd < 0 ? -14 : (close(fd), 0); }
int read_settings(void) { return lost(open(FOLDER "/settings", O_RDONLY)); }
int write_log(void) { return lost(open(FOLDER "/log", O_WRONLY | O_CREAT, 0600)); }
int connect_out(void) { return lost(socket(AF_INET, SOCK_STREAM, 0)); }
int read_listed(void) {
    FILE *file = fopen(FOLDER "/listed", "r");
    if (!file) return -14;
    int letter = fgetc(file);
    fclose(file);
    return letter;
}
"#;

fn compile(folder: &Path) {
    let source = folder.join("own.c");
    std::fs::write(&source, SOURCE).expect("written");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-w"])
        .arg(format!("-DFOLDER=\"{}\"", folder.display()))
        .arg(&source)
        .arg("-o")
        .arg(folder.join("own.so"))
        .status()
        .expect("a C compiler is installed as `cc`");
    assert!(compiled.success());
}

/// A server with the library under a profile, which may read `listed` under `deny`.
fn serve(folder: &Path, profile: &str) -> Serving {
    compile(folder);
    let functions = ["read_settings", "write_log", "connect_out", "read_listed"].map(|name| {
        let mut function = function(name, "int", &[]);
        function["return"]["success"] = ">=0".into();
        function
    });
    std::fs::write(folder.join("own.json"), document(json!(functions)).to_string()).expect("written");
    for file in ["settings", "listed"] {
        std::fs::write(folder.join(file), "A").expect("written");
    }
    let config = format!(
        "store = \"memory\"\n[sources.Own]\nkind = \"opendyn\"\ndocument = \"own.json\"\nlibrary = \"./own.so\"\n\
         sandbox = \"{profile}\"\nreadable = [\"{}/listed\"]\n",
        folder.display()
    );
    std::fs::write(folder.join("toolmux.toml"), config).expect("written");
    Serving::start(folder)
}

fn call(serving: &Serving, name: &str) -> Value {
    let body = json!({ "tool_id": format!("Own.{name}"), "input": {} }).to_string();
    let (_, answer) = serving.post("/tools/call", "", body.as_bytes());
    serde_json::from_str(&answer).expect("JSON")
}

#[track_caller]
fn check(serving: &Serving, name: &str, expect: &str) {
    let answer = call(serving, name);
    let told = answer["error"]["developer_message"].as_str().unwrap_or_default();
    assert!(told.contains(expect), "{answer}");
    // Callers are told neither paths nor settings of the server.
    let public = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(public.contains("-14") && !public.contains("sandbox"), "{answer}");
}

#[test]
fn a_file_or_call_that_the_sandbox_refused_is_named_to_the_operator() {
    let folder = tempfile::tempdir().expect("a folder");
    let serving = serve(folder.path(), "deny");
    let path = folder.path().display();
    check(
        &serving,
        "read_settings",
        &format!("the sandbox refused to read `{path}/settings`: add it to `readable`"),
    );
    check(&serving, "write_log", &format!("the sandbox refused to write `{path}/log`: add it to `writable`"));
    check(&serving, "connect_out", "the sandbox refused the system call `socket`");
    let read = call(&serving, "read_listed");
    assert!(read.to_string().contains("65"), "{read}");
}

#[test]
fn a_file_or_call_that_pure_refused_is_named_to_the_operator() {
    let folder = tempfile::tempdir().expect("a folder");
    let serving = serve(folder.path(), "pure");
    let path = folder.path().display();
    check(&serving, "read_settings", &format!("the sandbox refused to read `{path}/settings`"));
    check(&serving, "read_listed", "`sandbox = \"deny\"` lets the library use the files in `readable`");
    check(&serving, "connect_out", "the sandbox refused the system call `socket`");
}
