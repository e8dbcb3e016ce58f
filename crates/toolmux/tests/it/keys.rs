//! `toolmux keys`: keys in the store, by the command line and by a running server, at every replica.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::postgres_server::PostgresServer;
use crate::process::{Serving, folder, stderr, stdout, toolmux, until};

const SHELL: &str = r#"
[toolsets.some]
tools = ["Shell.echo"]

[sources.Shell]
kind = "command"

[sources.Shell.tools.echo]
description = "Says it back"
command = ["echo", "{text}"]
parameters.text = { type = "string" }

[sources.Shell.tools.hidden]
description = "Not for everybody"
command = ["true"]
"#;

fn good(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output).trim().to_owned()
}

fn tools(serving: &Serving, key: &str) -> (u16, String) {
    serving.get("/tools", &format!("authorization: Bearer {key}\r\n"))
}

fn until_status(serving: &Serving, key: &str, status: u16) {
    until("a key to be noticed", || (tools(serving, key).0 == status).then_some(()));
}

fn keys_at(folder: &Path, serving: &Serving, arguments: &[&str]) -> Output {
    let url = format!("http://{}", serving.address);
    toolmux(folder, &[&["keys"], arguments, &["--url", &url, "--key-file", "ops.key"]].concat())
}

#[test]
fn keys_are_added_used_and_revoked_while_a_server_runs() {
    let folder = folder(&format!("store = \"sqlite:records.db\"\n{SHELL}"));
    let serving = Serving::start(folder.path());
    assert_eq!(serving.get("/tools", "").0, 200, "without a key everybody on this machine is let in");
    let ops = good(&toolmux(folder.path(), &["keys", "add", "ops", "--operator"]));
    std::fs::write(folder.path().join("ops.key"), &ops).unwrap();
    until_status(&serving, "none", 401);
    assert_eq!(tools(&serving, &ops).0, 200);
    assert_eq!(serving.get("/tools", "").0, 401);
    let added = good(&keys_at(folder.path(), &serving, &["add", "ci", "--toolset", "some", "--json"]));
    let ci = serde_json::from_str::<Value>(&added).unwrap()["key"].as_str().unwrap().to_owned();
    let (status, list) = tools(&serving, &ci);
    assert!(status == 200 && list.contains("echo") && !list.contains("hidden"), "{list}");
    let list = good(&keys_at(folder.path(), &serving, &["list"]));
    assert!(list.contains("ops") && list.contains("toolset some") && !list.contains("tmx_"), "{list}");
    good(&keys_at(folder.path(), &serving, &["revoke", "ci"]));
    assert_eq!(tools(&serving, &ci).0, 401, "at once where it was revoked");
    for (arguments, expect) in [
        (&["add", "ops"][..], "there is already a key `ops`"),
        (&["add", "x", "--toolset", "none"], "there is no toolset `none`"),
        (&["add", "a b"], "letters, digits"),
        (&["revoke", "ci"], "there is no key `ci`"),
    ] {
        let refused = keys_at(folder.path(), &serving, arguments);
        assert!(
            refused.status.code() == Some(2) && stderr(&refused).contains(expect),
            "{}",
            stderr(&refused)
        );
    }
    good(&toolmux(folder.path(), &["keys", "revoke", "ops"]));
    until_status(&serving, &ops, 401);
    assert_eq!(serving.get("/tools", "").0, 401, "revoking the last key opens nothing");
    let audit = good(&toolmux(folder.path(), &["db", "audit"]));
    assert_eq!(audit.matches("key.added").count() + audit.matches("key.revoked").count(), 4, "{audit}");
    for file in std::fs::read_dir(folder.path()).unwrap().filter_map(Result::ok) {
        let bytes = std::fs::read(file.path()).unwrap();
        assert!(!bytes.windows(ci.len()).any(|window| window == ci.as_bytes()), "{}", file.path().display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_stops_working_at_every_replica() {
    let store = PostgresServer::shared().database().await;
    let folder =
        folder(&format!("store = \"{store}\"\n{SHELL}\n[keys.ops]\nkey = \"ops-key\"\noperator = true\n"));
    std::fs::write(folder.path().join("ops.key"), "ops-key").unwrap();
    let replicas = [Serving::start(folder.path()), Serving::start(folder.path())];
    let key = good(&keys_at(folder.path(), &replicas[0], &["add", "ci"]));
    for replica in &replicas {
        until_status(replica, &key, 200);
    }
    good(&keys_at(folder.path(), &replicas[1], &["revoke", "ci"]));
    for replica in &replicas {
        until_status(replica, &key, 401);
    }
}
