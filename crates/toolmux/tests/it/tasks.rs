//! Tasks outlive the server that accepted them.

use std::time::Instant;

use crate::process::{ECHO, Serving, folder};

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
