//! The binary under test, as a process that never outlives its test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long anything may take before a test fails.
const TEST_TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_toolmux");

/// Runs a command of the binary to its end.
pub(crate) fn toolmux(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .env_remove("RUST_LOG");
    command.output().expect("the binary runs")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `toolmux serve` on a port that the system chose.
pub(crate) struct Serving {
    child: Child,
    pub(crate) address: String,
    told: Arc<Mutex<String>>,
}

/// What a server logs at level debug as soon as it listens.
const LISTENING: &str = "listening on http://";

impl Serving {
    /// Starts on a configuration in `folder` and waits for the line that says where.
    pub(crate) fn start(folder: &Path) -> Self {
        Serving::by(folder, &["serve", "toolmux.toml", "--listen", "127.0.0.1:0"])
    }

    /// The same for a configuration with `[tls]`.
    pub(crate) fn secured(folder: &Path) -> Self {
        let mut command = Serving::command(folder, &["serve", "toolmux.toml", "--listen", "127.0.0.1:0"]);
        Serving::told_by(command.env("RUST_LOG", "toolmux=info"), " on https://")
    }

    /// The same with a variable in its environment.
    pub(crate) fn start_with(folder: &Path, name: &str, value: &str) -> Self {
        let mut command = Serving::command(folder, &["serve", "toolmux.toml", "--listen", "127.0.0.1:0"]);
        Serving::told_by(command.env(name, value), " on http://")
    }

    /// The same, but does not wait for sources: only until it listens.
    pub(crate) fn listening(folder: &Path) -> Self {
        let mut command = Serving::command(folder, &["serve", "toolmux.toml", "--listen", "127.0.0.1:0"]);
        Serving::told_by(command.env("RUST_LOG", "toolmux=debug"), LISTENING)
    }

    /// The same with a variable in its environment.
    pub(crate) fn listening_with(folder: &Path, name: &str, value: &str) -> Self {
        let mut command = Serving::command(folder, &["serve", "toolmux.toml", "--listen", "127.0.0.1:0"]);
        Serving::told_by(command.env("RUST_LOG", "toolmux=debug").env(name, value), "listening on http://")
    }

    /// Starts by a command line of its own.
    pub(crate) fn by(folder: &Path, arguments: &[&str]) -> Self {
        Serving::told_by(&mut Serving::command(folder, arguments), " on http://")
    }

    /// The same with its standard output in a file.
    pub(crate) fn writing(folder: &Path, arguments: &[&str], file: std::fs::File) -> Self {
        Serving::told_by(Serving::command(folder, arguments).stdin(Stdio::null()).stdout(file), " on http://")
    }

    /// The same under a limit on open files, which a shell sets first.
    pub(crate) fn with_open_files(folder: &Path, limit: &str) -> Self {
        let script = format!("{limit}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, BINARY, "serve", "toolmux.toml", "--listen", "127.0.0.1:0"]);
        command.current_dir(folder).env("NO_COLOR", "1").env_remove("RUST_LOG");
        Serving::told_by(&mut command, " on http://")
    }

    fn command(folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(folder).env("NO_COLOR", "1").env_remove("RUST_LOG");
        command
    }

    /// Starts a server whose address stands behind `mark` on a line of standard error.
    fn told_by(command: &mut Command, mark: &str) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let told = Arc::new(Mutex::new(String::new()));
        let keep = |told: &Mutex<String>, line: &str| {
            let mut told = told.lock().expect("nobody panics with it");
            told.push_str(line);
            told.push('\n');
        };
        let address = loop {
            let Some(Ok(line)) = lines.next() else {
                panic!("it does not say where it listens: {}", told.lock().expect("nobody panics with it"))
            };
            keep(&told, &line);
            let is_meant = mark == LISTENING || line.contains(" serves ");
            if let Some((_, address)) = line.split_once(mark).filter(|_| is_meant) {
                break address.to_owned();
            }
        };
        let more = Arc::clone(&told);
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| keep(&more, &line)));
        Serving { child, address, told }
    }

    /// What it told, once these words are in it.
    pub(crate) fn told(&self, words: &str) -> String {
        let so_far = || self.told.lock().expect("nobody panics with it").clone();
        let told = until_or(|| Some(so_far()).filter(|told| told.contains(words)));
        told.unwrap_or_else(|| panic!("waited too long for {words}, was told: {}", so_far()))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits for the end; the exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        until("the process to end", || self.child.try_wait().expect("our child").map(|status| status.code()))
    }

    /// Sends bytes, reads the answer to its end.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A server that refuses a body early closes while we still write.
        stream.write_all(bytes).ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a socket");
        stream
    }

    /// Posts a body; status and body of the answer.
    pub(crate) fn post(&self, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
        split(&self.exchange(&request(&format!("POST {path}"), headers, body)))
    }

    pub(crate) fn get(&self, path: &str, headers: &str) -> (u16, String) {
        split(&self.exchange(&request(&format!("GET {path}"), headers, b"")))
    }

    /// Calls over OpenTool; the answer in one line.
    pub(crate) fn call(&self, tool: &str, params: &Value) -> String {
        let body = serde_json::json!({ "jsonrpc": "2.0", "method": tool, "params": params, "id": "1" });
        self.post("/opentool/call", "", body.to_string().as_bytes()).1
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn request(line: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn split(answer: &str) -> (u16, String) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, body.to_owned())
}

/// The processes of this machine that are wanted, each by its folder below `/proc`.
pub(crate) fn processes(wanted: impl Fn(&Path) -> bool) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("Linux").filter_map(Result::ok);
    let wanted = entries.filter(|entry| wanted(&entry.path()));
    wanted.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Polls for a condition, within a bound.
pub(crate) fn until<T>(what: &str, ready: impl FnMut() -> Option<T>) -> T {
    until_or(ready).unwrap_or_else(|| panic!("waited too long for {what}"))
}

/// The same; none when the time is over.
fn until_or<T>(mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        let value = ready();
        if value.is_some() || Instant::now() > end {
            return value;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A folder with a configuration.
pub(crate) fn folder(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), config);
    folder
}

pub(crate) fn write(folder: &Path, config: &str) {
    // Written beside and moved, so that a reader never sees half of it.
    let (new, old) = (folder.join("new.toml"), folder.join("toolmux.toml"));
    std::fs::write(&new, config).expect("written");
    std::fs::rename(new, old).expect("moved");
}

/// A source of commands that every Linux has.
pub(crate) const ECHO: &str = r#"
store = "memory"

[sources.Shell]
kind = "command"

[sources.Shell.tools.echo]
description = "Says it back"
command = ["echo", "{text}"]
parameters.text = { type = "string" }
"#;
