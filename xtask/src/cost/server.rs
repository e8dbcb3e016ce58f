//! A toolmux under measurement, and the requests that are sent to it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tempfile::TempDir;

/// How long a start or an answer may take, on a busy machine and with a debug build.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(2);

pub(super) struct Server {
    child: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Server {
    /// Starts with this configuration and waits until it is ready.
    pub(super) fn start(toolmux: &Path, config: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("toolmux.toml"), config)?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let mut command = Command::new(toolmux);
        command.args(["serve", "toolmux.toml", "--listen", &address.to_string()]).current_dir(folder.path());
        command.env("RUST_LOG", "error").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self { child: command.spawn()?, address, _folder: folder };
        let start = Instant::now();
        while start.elapsed() < ANSWER_TIMEOUT {
            if server.send(&get("/health")).is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200")) {
                return Ok(server);
            }
            sleep(Duration::from_millis(20));
        }
        bail!("the server was not ready within {ANSWER_TIMEOUT:?}")
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and reads the answer to its end.
    pub(super) fn send(&self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        // A server that refuses early closes while we still write; its answer can be read all the same.
        stream.write_all(request).ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        if answer.is_empty() {
            bail!("the server gave no answer");
        }
        Ok(answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(super) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").into_bytes()
}

pub(super) fn post(path: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// Runs a command of toolmux on a file to its end; what it cost. Whether it succeeds does not matter.
pub(super) fn run_on(
    toolmux: &Path,
    arguments: &[&str],
    name: &str,
    text: &str,
) -> anyhow::Result<super::Cost> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(name), text)?;
    let mut command = Command::new(toolmux);
    command.args(arguments).arg(name).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().context("the program starts")?;
    let (start, mut cost) = (Instant::now(), super::Cost::default());
    // Both only ever grow, so that the last look before its end is close to the truth.
    while child.try_wait()?.is_none() {
        if let (Ok(cpu), Ok(memory)) = (crate::bench::usage::cpu(child.id()), super::usage::peak(child.id()))
        {
            cost = super::Cost { cpu, memory };
        }
        if start.elapsed() > ANSWER_TIMEOUT {
            child.kill()?;
            child.wait()?;
            bail!("`toolmux {}` did not end within {ANSWER_TIMEOUT:?}", arguments.join(" "));
        }
        sleep(Duration::from_millis(2));
    }
    Ok(cost)
}
