//! Another user of the machine wants to read the records, to keep the server from starting, or to have it believe that
//! it is alone.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::process::{ECHO, Serving, folder, stderr, toolmux, until};

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

fn kept_in_a_file(more: &str) -> tempfile::TempDir {
    folder(&format!("{}\n{more}", ECHO.replace("\"memory\"", "\"sqlite:records.db\"")))
}

#[test]
fn nobody_else_can_read_the_files_of_a_server() {
    let folder = kept_in_a_file(
        "[auth.providers.p]\nauthorize_url = \"https://p.example/a\"\ntoken_url = \"https://p.example/t\"\nclient_id = \"x\"\n",
    );
    let serving = Serving::start(folder.path());
    serving.post("/tools/call", "", br#"{"tool_id":"Shell.echo","call_id":"1","input":{"text":"private"}}"#);
    for name in ["records.db", "records.db-wal", "records.db-shm", "records.db-servers", "toolmux.key"] {
        assert_eq!(mode(&folder.path().join(name)), 0o600, "{name}");
    }
    assert!(toolmux(folder.path(), &["init", "own.toml"]).status.success());
    assert_eq!(mode(&folder.path().join("own.toml")), 0o600);
}

#[test]
fn a_store_that_a_link_leads_to_is_made_for_its_owner_alone() {
    let folder = kept_in_a_file("");
    symlink("real.db", folder.path().join("records.db")).unwrap();
    let _serving = Serving::start(folder.path());
    for name in ["real.db", "real.db-wal", "real.db-servers"] {
        assert_eq!(mode(&folder.path().join(name)), 0o600, "{name}");
    }
}

#[test]
fn a_server_that_names_the_store_by_a_link_does_not_end_the_tasks_of_another() {
    let slow = "[sources.Shell.tools.slow]\ndescription = \"Waits\"\ncommand = [\"sh\", \"-c\", \"until [ -e go ]; do sleep 0.05; done; echo done\"]\n";
    let folder = kept_in_a_file(slow);
    let first = Serving::start(folder.path());
    let (status, body) = first.post("/call_tool/Shell_slow", "", b"{}");
    assert_eq!(status, 200, "{body}");
    let task = body.split('"').nth(3).expect("a task id").to_owned();
    let json = "accept: application/json\r\n";
    let look = |serving: &Serving| serving.get(&format!("/callback/{task}"), json).1;
    symlink("records.db", folder.path().join("link.db")).unwrap();
    let arguments = ["serve", "toolmux.toml", "--listen", "127.0.0.1:0", "--store", "sqlite:link.db"];
    let second = Serving::by(folder.path(), &arguments);
    assert!(!folder.path().join("link.db-servers").exists(), "the lock is that of the file itself");
    fs::write(folder.path().join("go"), "").unwrap();
    for serving in [&first, &second] {
        let ended =
            until("the task to end", || Some(look(serving)).filter(|told| told.contains("\"completed\"")));
        assert!(ended.contains("done"), "{ended}");
    }
}

#[test]
fn a_process_that_holds_the_lock_is_told_of_and_does_not_stop_the_server_for_ever() {
    let folder = kept_in_a_file("");
    drop(Serving::start(folder.path()));
    let lock = File::open(folder.path().join("records.db-servers")).unwrap();
    lock.lock().unwrap();
    let output = toolmux(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("waiting for the lock on") && told.contains("holds a lock on"), "{told}");
    lock.unlock().unwrap();
    drop(Serving::start(folder.path()));
}
