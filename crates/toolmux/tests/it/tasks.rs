//! Tasks outlive the server that accepted them.

use std::time::Instant;

use crate::process::{ECHO, Serving, folder, stderr, stdout, toolmux, until, write};

#[test]
fn weak_point_tasks_live_longer_than_the_process() {
    let folder = folder(&ECHO.replace("store = \"memory\"", "store = \"sqlite:records.db\""));
    let serving = Serving::start(folder.path());
    let (status, body) = serving.post("/call_tool/Shell_echo", "", br#"{"text":"hi"}"#);
    assert_eq!(status, 200, "{body}");
    let task = body.split('"').nth(3).expect("a task id").to_owned();
    let json = "accept: application/json\r\n";
    let path = format!("/callback/{task}");
    let (_, before) = serving.get(&path, json);
    assert!(before.contains("\"completed\""), "{before}");
    drop(serving);
    let started = Instant::now();
    let serving = Serving::start(folder.path());
    assert_eq!(serving.get(&path, json).1, before, "after {:?}", started.elapsed());
}

#[test]
fn a_reset_reads_the_configuration_again() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    assert!(!serving.get("/get_tool", "").1.contains("More_echo"));
    let more = ECHO.split("[sources.Shell").skip(1).map(|part| format!("[sources.More{part}"));
    write(folder.path(), &format!("{ECHO}\n{}", more.collect::<String>()));
    let (_, told) = serving.get("/reset", "");
    assert!(told.contains(r#""name":"More","status":"ok""#), "{told}");
    let (_, tools) = serving.get("/get_tool", "");
    assert_eq!((tools.matches("More_echo").count(), tools.matches("Shell_echo").count()), (1, 1), "{tools}");
    write(folder.path(), "sources = 1");
    let (_, told) = serving.get("/reset", "");
    assert!(told.contains(r#""status":"error""#) && told.contains("cannot be used"), "{told}");
    assert!(serving.get("/get_tool", "").1.contains("More_echo"), "what runs goes on");
}

#[test]
fn the_database_is_looked_at_pruned_and_audited() {
    let keys = "[toolsets.none]\ntools = []\n[keys.bob]\nkey = \"bob-key\"\ntoolset = \"none\"\n";
    let echo = ECHO.replace("store = \"memory\"", "store = \"sqlite:records.db\"");
    let folder = folder(&format!("{echo}\n{keys}\n[retention]\ncalls_for = \"1h\"\naudit = 50\n"));
    let db = |arguments: &[&str]| {
        let output = toolmux(folder.path(), &[&["db"], arguments].concat());
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let (code, told) = db(&["status"]);
    assert_eq!(code, Some(2), "there is not a store yet: {told}");
    assert!(!folder.path().join("records.db").exists(), "looking makes none");
    assert_eq!(db(&["migrate"]), (Some(0), "version 9\n".to_owned()));
    let serving = Serving::start(folder.path());
    let key = "authorization: Bearer bob-key\r\n";
    let (_, told) = serving.post("/call_tool/Shell_echo", key, br#"{"text":"very secret"}"#);
    assert!(told.contains("detail"), "{told}");
    let told = until("the record of the refusal", || {
        let (_, told) = db(&["audit", "--json"]);
        told.contains("call.refused").then_some(told)
    });
    assert!(told.contains(r#""caller":"bob""#) && told.contains("Shell_echo not_permitted"), "{told}");
    assert!(!told.contains("secret"), "{told}");
    let (_, told) = db(&["status"]);
    assert!(told.contains("servers  1\n") && told.contains("audit    1\n"), "{told}");
    let (_, told) = db(&["prune", "--keep", "0"]);
    assert_eq!(told, "0 calls, 0 tasks, 0 sealed records, 0 audit records removed\n");
}

#[test]
fn tasks_are_listed_shown_and_cancelled_from_the_command_line() {
    let slow = "[sources.Shell.tools.slow]\ndescription = \"Waits\"\ncommand = [\"sleep\", \"600\"]\n";
    let echo = ECHO.replace("store = \"memory\"", "store = \"sqlite:records.db\"");
    let folder = folder(&format!("{echo}\n{slow}"));
    let serving = Serving::start(folder.path());
    let url = format!("http://{}", serving.address);
    let submit = |tool: &str, body: &[u8]| {
        let (_, told) = serving.post(&format!("/call_tool/{tool}"), "", body);
        told.split('"').nth(3).expect("a task id").to_owned()
    };
    let tasks = |arguments: &[&str]| {
        let output = toolmux(folder.path(), &[&["tasks"], arguments].concat());
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let (quick, slow) = (submit("Shell_echo", br#"{"text":"hi"}"#), submit("Shell_slow", b"{}"));
    until("the quick one to end", || {
        tasks(&["--url", &url, "--state", "completed"]).1.contains(&quick).then_some(())
    });
    until("the slow one to run", || {
        tasks(&["--url", &url, "--state", "running"]).1.contains(&slow).then_some(())
    });
    for place in [&["--url", url.as_str()][..], &["--store", "sqlite:records.db"], &[]] {
        let (code, all) = tasks(place);
        assert!(code == Some(0) && all.contains(&quick) && all.contains(&slow), "{place:?}: {all}");
        let (_, running) = tasks(&[place, &["--state", "running", "--json"]].concat());
        let running: serde_json::Value = serde_json::from_str(&running).expect("one line of JSON");
        assert_eq!((&running["task_id"], &running["tool"]), (&slow.as_str().into(), &"Shell_slow".into()));
        let (_, shown) = tasks(&[&[quick.as_str()], place].concat());
        assert!(
            shown.contains("state    completed") && shown.contains("value    \"hi\""),
            "{place:?}: {shown}"
        );
        let (code, told) = tasks(&[&["nothing"], place].concat());
        assert_eq!(code, Some(2), "{told}");
    }
    let (code, told) = tasks(&[&slow, "--cancel", "--store", "sqlite:records.db"]);
    assert!(code == Some(0) && told.contains("state    cancelled"), "{told}");
    let (_, told) = tasks(&[&slow, "--url", &url]);
    assert!(told.contains("state    cancelled"), "{told}");
    let again = submit("Shell_slow", b"{}");
    let (_, told) = tasks(&[&again, "--cancel", "--url", &url]);
    assert!(told.contains("state    cancelled"), "{told}");
}
