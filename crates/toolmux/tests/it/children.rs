//! Whatever ends a command, nothing that it started is left: neither its children nor theirs.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use crate::life::children;
use crate::process::{BINARY, Serving, folder, processes, until};
use crate::remote::terminal;

const WORKFLOW: &str = r#"{ "openworkflow": "1.0.0", "info": { "title": "T", "version": "1" }, "workflow": {
    "start": { "function": "Hang.hang", "arguments": {}, "results": { "result": "" }, "next": "" } } }"#;

/// A child that ends by no end of its input, and a grandchild. TIME is known to no other process.
const HANGS: &str = "sleep TIME & sleep TIME";
/// The same, and requests to end are ignored.
const STUBBORN: &str = "trap '' HUP INT TERM; sleep TIME & sleep TIME";
/// The grandchild leaves the group of the child.
const LEAVES: &str = "setsid sleep TIME & sleep TIME";
/// The grandchild gives up its environment.
const UNMARKED: &str = "env -i sleep TIME & sleep TIME";

/// Commands that hang, each on what stands in `script`.
const COMMANDS: [&[&str]; 9] = [
    &["call", "Hang.hang"],
    &["call", "Mute.any", "--config", "mute.toml"],
    &["run", "workflow.json"],
    &["tools", "mute.toml"],
    &["doctor", "mute.toml"],
    &["chat", "hello", "--model-url", "http://127.0.0.1:9", "--model", "any", "--config", "mute.toml"],
    &["mcp", "mute.toml"],
    &["add", "--name", "Mute", "--", "sh", "script"],
    &["describe", "TIME.h", "--library", "libm.so.6", "-D", "MARK=TIME"],
];

/// A running command with a child that does not end by itself.
struct Hanging {
    child: Child,
    time: String,
    _folder: tempfile::TempDir,
}

impl Hanging {
    fn start(arguments: &[&str], script: &str) -> Self {
        let (place, time) = place(script);
        let arguments = arguments.iter().map(|argument| argument.replace("TIME", &time));
        // Whoever runs the tests may have signals ignored, as a shell does for what runs in its background.
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,TERM", BINARY]).args(arguments).current_dir(place.path());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("`env` runs");
        let hanging = Hanging { child, time, _folder: place };
        until("the child and the grandchild", || (hanging.left() >= 2).then_some(()));
        hanging
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// How many processes are left of those that it started.
    fn left(&self) -> usize {
        left(&self.time, self.child.id())
    }

    /// Waits until it and all that it started has ended; its exit code.
    fn ended(mut self) -> Option<i32> {
        let code = until("the command to end", || self.child.try_wait().expect("our child")).code();
        until("all that it started to end", || (self.left() == 0).then_some(()));
        code
    }
}

/// A folder with what the commands need, and the number by which their processes are known.
fn place(script: &str) -> (tempfile::TempDir, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let time = format!("1000.{}00{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let place = folder(
        "[sources.Hang]\nkind = \"command\"\n[sources.Hang.tools.hang]\ndescription = \"Never ends\"\n\
         command = [\"sh\", \"script\"]\n",
    );
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).expect("written");
    write("mute.toml", "[sources.Mute]\nkind = \"mcp\"\ncommand = [\"sh\", \"script\"]\n");
    write("workflow.json", WORKFLOW);
    write("script", &script.replace("TIME", &time));
    // A header that nobody ever writes: the compiler waits for it.
    let made = Command::new("mkfifo").arg(place.path().join(format!("{time}.h"))).status();
    assert!(made.expect("mkfifo runs").success());
    (place, time)
}

/// How many processes have this in their command line, but for one.
fn left(time: &str, but: u32) -> usize {
    let names = |process: &Path| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(time)
    };
    processes(names).into_iter().filter(|process| *process != but).count()
}

/// Every command, all at the same time, since sources get some seconds to end by themselves.
fn check(signal: &str, code: Option<i32>) {
    let started: Vec<_> =
        COMMANDS.iter().map(|command| (command[0], Hanging::start(command, HANGS))).collect();
    for (_, hanging) in &started {
        hanging.signal(signal);
    }
    for (command, hanging) in started {
        // What serves ends in an ordinary way by a signal.
        let expect = if command == "mcp" { code.and(Some(0)) } else { code };
        assert_eq!(hanging.ended(), expect, "{command} by SIG{signal}");
    }
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    check("INT", Some(130));
}

#[test]
fn nothing_is_left_after_a_request_to_end() {
    check("TERM", Some(143));
}

#[test]
fn nothing_is_left_after_the_terminal_was_closed() {
    check("HUP", Some(129));
}

#[test]
fn nothing_is_left_after_a_kill() {
    check("KILL", None);
}

#[test]
fn nothing_is_left_of_a_server_that_was_killed() {
    for script in [HANGS, STUBBORN, LEAVES, UNMARKED] {
        let serving = Hanging::start(&["serve", "mute.toml", "--listen", "127.0.0.1:0"], script);
        serving.signal("KILL");
        assert_eq!(serving.ended(), None, "{script}");
    }
}

#[test]
fn nothing_is_left_of_a_command_whose_tool_left_its_group() {
    for script in [STUBBORN, LEAVES, UNMARKED] {
        let calling = Hanging::start(&["call", "Hang.hang"], script);
        calling.signal("KILL");
        assert_eq!(calling.ended(), None, "{script}");
    }
}

#[test]
fn a_second_signal_ends_the_wait_for_sources() {
    let listing = Hanging::start(&["tools", "mute.toml"], STUBBORN);
    listing.signal("INT");
    listing.signal("TERM");
    assert!(matches!(listing.ended(), Some(130 | 143)));
}

#[test]
fn ctrl_c_at_a_terminal_ends_the_tool() {
    let (place, time) = place(HANGS);
    let mut command = terminal(place.path(), &["call", "Hang.hang"]);
    let mut script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("`script` runs");
    until("the tool", || (left(&time, 0) >= 2).then_some(()));
    script.stdin.as_mut().expect("piped").write_all(b"\x03").expect("typed");
    let ended = script.wait_with_output().expect("our child");
    assert_eq!(ended.status.code(), Some(130), "{}", String::from_utf8_lossy(&ended.stdout));
    until("the tool to end", || (left(&time, 0) == 0).then_some(()));
}

#[test]
fn the_watcher_is_started_once_and_again_when_it_was_killed() {
    let (place, _) = place("true");
    let serving = Serving::start(place.path());
    let call = || {
        let answer = serving.call("Hang_hang", &json!({}));
        assert!(answer.contains("\"error\":null"), "{answer}");
    };
    let watchers = || watchers(serving.id());
    assert_eq!(watchers(), Vec::<u32>::new(), "no child, no watcher");
    call();
    call();
    let [first] = watchers()[..] else { panic!("{:?}", watchers()) };
    let killed = Command::new("kill").args(["-s", "KILL", &first.to_string()]).status();
    assert!(killed.expect("kill runs").success());
    // The signal may reach it only after the next call has begun.
    let second = until("another watcher", || {
        call();
        watchers().into_iter().find(|watcher| *watcher != first)
    });
    assert_eq!(children(serving.id()), Vec::<u32>::new());
    drop(serving);
    until("the watcher to end", || (!Path::new(&format!("/proc/{second}")).exists()).then_some(()));
}

fn watchers(parent: u32) -> Vec<u32> {
    processes(|process| {
        let read = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
        read("status").contains(&format!("PPid:\t{parent}\n"))
            && read("cmdline").starts_with("child-watcher\0")
    })
}
