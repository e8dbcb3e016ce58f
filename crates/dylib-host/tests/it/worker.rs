//! The test's side of a worker: frames over plain pipes, every wait bounded.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use toolmux_dylib_host::fault::CallFault;
use toolmux_dylib_host::frame::{AnswerFrame, Crash, RequestFrame};
use toolmux_dylib_host::hello::{Hello, Ready};

use crate::plans::Values;

/// Far above what any of it takes, so that a defect fails the test instead of stopping it.
const PATIENCE_MS: i32 = 30_000;

/// An answer, or that there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Ready(Ready),
    Values(Vec<u8>),
    Failed(CallFault, String),
    Crashed(Crash),
    EndOfPipe,
}

pub(crate) struct Worker {
    child: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
    stderr: ChildStderr,
    unread: Vec<u8>,
    last: u32,
}

impl Worker {
    /// A worker that has not been told anything yet.
    pub(crate) fn spawn() -> Self {
        Self::spawn_by(&mut Command::new(env!("CARGO_BIN_EXE_dyn-worker")))
    }

    /// The same, with a command that the test has prepared.
    pub(crate) fn spawn_by(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let requests = child.stdin.take();
        let (answers, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        Self { child, requests, answers, stderr, unread: Vec::new(), last: 0 }
    }

    /// A worker that has answered READY.
    pub(crate) fn start(hello: &Hello) -> Self {
        let mut worker = Self::spawn();
        worker.greet(hello);
        worker
    }

    /// Says HELLO and expects READY.
    pub(crate) fn greet(&mut self, hello: &Hello) -> Ready {
        match self.hello(hello) {
            Reply::Ready(ready) => ready,
            other => panic!("{other:?} instead of READY; {}", self.stderr_to_end()),
        }
    }

    pub(crate) fn hello(&mut self, hello: &Hello) -> Reply {
        let json = serde_json::to_vec(hello).unwrap();
        self.request(RequestFrame::Hello { id: 0, json: &json });
        self.reply(0)
    }

    pub(crate) fn call(&mut self, function: usize, values: &Values) -> Reply {
        let id = self.begin(function, values);
        self.reply(id)
    }

    /// Calls and expects a result.
    pub(crate) fn result(&mut self, function: usize, values: &Values) -> Vec<u8> {
        match self.call(function, values) {
            Reply::Values(values) => values,
            other => panic!("{other:?} instead of a result"),
        }
    }

    /// Sends a call without waiting for its answer.
    pub(crate) fn begin(&mut self, function: usize, values: &Values) -> u32 {
        self.last += 1;
        self.request(RequestFrame::Call { id: self.last, function: function as u16, values: &values.0 });
        self.last
    }

    /// Sends several calls in one write.
    pub(crate) fn begin_all<const N: usize>(&mut self, functions: [u16; N]) -> [u32; N] {
        let mut bytes = Vec::new();
        let ids = functions.map(|function| {
            self.last += 1;
            RequestFrame::Call { id: self.last, function, values: &[] }.encode(&mut bytes).unwrap();
            self.last
        });
        self.send(&bytes);
        ids
    }

    pub(crate) fn stop(&mut self) {
        self.request(RequestFrame::Stop);
    }

    pub(crate) fn request(&mut self, request: RequestFrame<'_>) {
        let mut bytes = Vec::new();
        request.encode(&mut bytes).unwrap();
        self.send(&bytes);
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.requests.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next frame, which must answer `expected`.
    pub(crate) fn reply(&mut self, expected: u32) -> Reply {
        loop {
            if let Some((answer, end)) = AnswerFrame::decode(&self.unread).unwrap() {
                let (id, reply) = owned(&answer);
                assert_eq!(id, expected, "{reply:?}");
                self.unread.drain(..end);
                return reply;
            }
            let mut chunk = vec![0; 1 << 16];
            wait_for(self.answers.as_raw_fd(), libc::POLLIN);
            match self.answers.read(&mut chunk).unwrap() {
                0 => return Reply::EndOfPipe,
                count => self.unread.extend_from_slice(&chunk[..count]),
            }
        }
    }

    /// Returns when the fixture says that it is inside a function that will not return.
    pub(crate) fn wait_until_inside(&mut self) {
        let mut line = [0; 7];
        wait_for(self.stderr.as_raw_fd(), libc::POLLIN);
        self.stderr.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"inside\n");
    }

    /// What the worker and all its children print until the last of them is gone.
    pub(crate) fn stderr_to_end(&mut self) -> String {
        let mut text = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            wait_for(self.stderr.as_raw_fd(), libc::POLLIN);
            match self.stderr.read(&mut chunk).unwrap() {
                0 => return String::from_utf8(text).unwrap(),
                count => text.extend_from_slice(&chunk[..count]),
            }
        }
    }

    /// Whether nobody holds the other end of the answer pipe.
    pub(crate) fn answers_hung_up(&self) -> bool {
        poll(self.answers.as_raw_fd(), 0, 0) & libc::POLLHUP != 0
    }

    /// What a server does when the time is up.
    pub(crate) fn kill_group(&self) {
        // SAFETY: sends a signal, touches no memory.
        unsafe { libc::kill(-self.child.id().cast_signed(), libc::SIGKILL) };
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: sends a signal, touches no memory.
        unsafe { libc::kill(self.child.id().cast_signed(), signal) };
    }

    /// What remains of a server that was killed.
    pub(crate) fn close_requests(&mut self) {
        self.requests = None;
    }

    /// How the process ended.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        // SAFETY: asks for a descriptor of our own child, touches no memory.
        let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, self.child.id(), 0) };
        // SAFETY: the descriptor is new and ours.
        let process = unsafe { OwnedFd::from_raw_fd(RawFd::try_from(opened).unwrap()) };
        wait_for(process.as_raw_fd(), libc::POLLIN);
        self.child.wait().unwrap()
    }

    pub(crate) fn wait_for_signal(&mut self) -> Option<i32> {
        self.wait().signal()
    }

    pub(crate) fn wait_for_code(&mut self) -> Option<i32> {
        self.wait().code()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill_group();
            let _ = self.child.wait();
        }
    }
}

/// Both ends of a pipe, the first to read from.
pub(crate) fn pipe() -> (File, File) {
    let (read, write) = std::io::pipe().unwrap();
    (OwnedFd::from(read).into(), OwnedFd::from(write).into())
}

fn owned(answer: &AnswerFrame<'_>) -> (u32, Reply) {
    match *answer {
        AnswerFrame::Ready { id, json } => (id, Reply::Ready(serde_json::from_slice(json).unwrap())),
        AnswerFrame::Result { id, values } => (id, Reply::Values(values.to_vec())),
        AnswerFrame::Fail { id, fault, text } => (id, Reply::Failed(fault, text.to_owned())),
        AnswerFrame::Crash { id, crash } => (id, Reply::Crashed(crash)),
    }
}

fn wait_for(descriptor: RawFd, events: i16) {
    assert_ne!(poll(descriptor, events, PATIENCE_MS), 0, "waited too long");
}

fn poll(descriptor: RawFd, events: i16, timeout: i32) -> i16 {
    let mut watched = libc::pollfd { fd: descriptor, events, revents: 0 };
    // SAFETY: the struct is valid for the time of the call.
    unsafe { libc::poll(&raw mut watched, 1, timeout) };
    watched.revents
}
