//! `toolmux demo`: every step answers as it says, nothing is left behind.

use std::process::{Command, Stdio};

use crate::life::children;
use crate::process::{BINARY, Serving, processes, stderr, stdout, toolmux, until};

#[test]
fn every_step_is_made_and_answers_as_expected() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = toolmux(folder.path(), &["demo", "--exit"]);
    let (walk, told) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{walk}\n{told}");
    assert!(told.contains("toolmux 0.1.0 serves 6 tools on http://127.0.0.1:"), "{told}");
    for (title, answer) in [
        ("1/10 OpenTool", r#""result":{"result":1024.0}"#),
        ("2/10 OXP", r#""success":true,"value":{"result":1024.0}"#),
        ("3/10 OXP", r#""parameter_errors":{"x":"must be a number"#),
        ("4/10 OXP", r#""call_id":"order-2""#),
        ("5/10 ATS", r#"data:{"status":"completed""#),
        ("6/10 MCP", r#""protocolVersion":"2025-11-25""#),
        ("7/10 MCP", r#""resultType":"complete""#),
        ("8/10 REST", r#"{"result":9.0}"#),
        ("9/10 Model", r#""role":"tool""#),
        ("10/10 A crash", r#""success":false"#),
    ] {
        let step = walk.split_once(title).unwrap_or_else(|| panic!("no {title}: {walk}")).1;
        let step = step.split("/10 ").next().unwrap_or_default();
        assert!(
            step.contains("$ curl -s") && step.contains(answer) && step.contains("\n→ "),
            "{title}: {step}"
        );
    }
    let instructions = walk.matches("Tools of several sources behind one server.").count();
    assert_eq!(instructions, 1, "its MCP server says the same of itself");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "it writes no files");
}

#[test]
fn the_lines_it_shows_work_while_it_serves_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let transcript = folder.path().join("walk.txt");
    let file = std::fs::File::create(&transcript).expect("a file");
    let mut serving = Serving::writing(folder.path(), &["demo"], file);
    serving.told("until Ctrl-C");
    let walk = std::fs::read_to_string(&transcript).expect("written");
    let line = walk.lines().find_map(|line| line.strip_prefix("$ ").filter(|line| line.contains("Math_pow")));
    let ran = Command::new("sh").args(["-c", line.expect("a curl line")]).output().expect("a shell");
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1024.0"), "{ran:?}");
    let started = children(serving.id());
    assert!(!started.is_empty(), "its MCP server runs");
    serving.signal("INT");
    assert_eq!(serving.ended(), Some(0));
    until("its children to end", || {
        processes(|process| started.iter().any(|id| process.ends_with(id.to_string())))
            .is_empty()
            .then_some(())
    });
}

#[test]
fn it_is_stopped_in_the_middle_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(BINARY)
        .arg("demo")
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let started =
        until("its first child", || Some(children(child.id())).filter(|children| !children.is_empty()));
    let sent = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    assert!(until("the end", || child.try_wait().expect("our child")).success());
    until("its children to end", || {
        processes(|process| started.iter().any(|id| process.ends_with(id.to_string())))
            .is_empty()
            .then_some(())
    });
}

#[test]
fn its_configuration_is_good_to_start_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = toolmux(folder.path(), &["demo", "--print-config"]);
    std::fs::write(folder.path().join("toolmux.toml"), stdout(&printed)).expect("written");
    let checked = toolmux(folder.path(), &["check", "toolmux.toml"]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    let called = toolmux(folder.path(), &["call", "Flow.power_then_root", "y=4"]);
    assert_eq!(stdout(&called), "{\"result\":4.0}\n", "{}", stderr(&called));
}
