//! Starting a worker: this program again, told by one argument to be nothing else.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::time::timeout;
use toolmux_core::ports::figures::ProcessCounters;
use toolmux_dylib_host::frame::{AnswerFrame, RequestFrame};
use toolmux_dylib_host::hello::{Abi, Hello, Ready};
use toolmux_dylib_host::worker::ARGUMENT;

use crate::child::ChildGroup;
use crate::child::exit_status;
use crate::opendyn::enforcement;

/// How long a library may take to load.
const LOAD_PATIENCE: Duration = Duration::from_secs(10);
/// Set in the environment of workers: a program that is one must not start others.
pub(in crate::opendyn) const MARK: &str = "TOOLMUX_DYN_WORKER";
/// How many addresses the program's allocator keeps for itself in a worker. A library must not find the 1 GiB that
/// is kept otherwise beside what it may take. Less than this is not possible.
pub(in crate::opendyn) const ALLOCATOR_KEEPS: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "32MiB");

/// Turns this process into a worker if it was started as one, and does not return then. Call it first in
/// `main`, before anything starts threads or opens files.
pub fn become_worker_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == ARGUMENT) {
        toolmux_dylib_host::worker::run();
    }
}

/// What every worker of a library is started with.
pub(in crate::opendyn) struct Launch {
    executable: PathBuf,
    env: BTreeMap<String, String>,
    pub(super) hello: Hello,
    /// Counts up with every worker, so that handles of earlier ones are known as such.
    generations: AtomicU32,
    pub(super) processes: Arc<ProcessCounters>,
}

/// A worker that has loaded its library.
pub(super) struct Worker {
    pub(super) group: ChildGroup,
    pub(super) requests: Arc<pipe::Sender>,
    pub(super) answers: Arc<pipe::Receiver>,
    pub(super) generation: u32,
    pub(super) ready: Arc<Ready>,
}

/// Why there is no worker.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("cannot start a worker process")]
    Process(#[source] io::Error),
    #[error("{0}")]
    Load(String),
    #[error("the worker process ended while it loaded the library ({0})")]
    Died(String),
    #[error("the library was not loaded within {LOAD_PATIENCE:?}")]
    Silent,
    #[error("the worker process did not report that it is ready")]
    Confused,
}

impl Launch {
    /// For a library none of whose workers was started yet.
    pub(in crate::opendyn) fn new(executable: PathBuf, env: BTreeMap<String, String>, hello: Hello) -> Self {
        Launch { executable, env, hello, generations: AtomicU32::new(0), processes: Arc::default() }
    }

    /// Dropping the future ends the worker.
    pub(super) async fn start(&self) -> Result<Worker, StartError> {
        // Taken even by a start that fails: numbers may be left out, but no two workers may share one.
        let generation = self.generations.fetch_add(1, Ordering::Relaxed) + 1;
        let group = ChildGroup::start_worker(&self.executable, ARGUMENT, &self.env);
        let mut group = group.map_err(StartError::Process)?.counted_by(&self.processes);
        let (requests, mut answers) = pipes(&mut group).map_err(StartError::Process)?;
        let mut requests = requests;
        let greeting = self.greet(generation, &mut requests, &mut answers);
        let ready = match timeout(LOAD_PATIENCE, greeting).await {
            Ok(Ok(ready)) => ready,
            // The pipe broke, so the process has ended or will: how it ended says more than that.
            Ok(Err(StartError::Process(_))) => return Err(StartError::Died(ended(&mut group).await)),
            Ok(Err(error)) => return Err(error),
            Err(_elapsed) => return Err(StartError::Silent),
        };
        if ready.abi != Abi::HOST || ready.functions.len() != self.hello.plan.functions.len() {
            return Err(StartError::Confused);
        }
        enforcement::check(self.hello.sandbox.profile, ready.enforced).map_err(StartError::Load)?;
        Ok(Worker {
            group,
            requests: Arc::new(requests),
            answers: Arc::new(answers),
            generation,
            ready: Arc::new(ready),
        })
    }

    /// Errors of the pipes are told as those of the process.
    async fn greet(
        &self,
        generation: u32,
        requests: &mut pipe::Sender,
        answers: &mut pipe::Receiver,
    ) -> Result<Ready, StartError> {
        let mut hello = self.hello.clone();
        hello.plan.generation = generation;
        let json = serde_json::to_vec(&hello).map_err(|_| StartError::Confused)?;
        let mut bytes = Vec::new();
        RequestFrame::Hello { id: 0, json: &json }.encode(&mut bytes).map_err(|_| StartError::Confused)?;
        requests.write_all(&bytes).await.map_err(StartError::Process)?;
        let mut unread = Vec::new();
        loop {
            if answers.read_buf(&mut unread).await.map_err(StartError::Process)? == 0 {
                return Err(StartError::Process(io::ErrorKind::UnexpectedEof.into()));
            }
            let Some((answer, end)) = AnswerFrame::decode(&unread).map_err(|_| StartError::Confused)? else {
                continue;
            };
            return match answer {
                AnswerFrame::Ready { json, .. } if end == unread.len() => {
                    serde_json::from_slice(json).map_err(|_| StartError::Confused)
                }
                AnswerFrame::Fail { text, .. } => Err(StartError::Load(text.to_owned())),
                AnswerFrame::Crash { .. } | AnswerFrame::Ready { .. } | AnswerFrame::Result { .. } => {
                    Err(StartError::Confused)
                }
            };
        }
    }
}

/// The pipes do not block: callers write to them on threads of the runtime.
fn pipes(group: &mut ChildGroup) -> io::Result<(pipe::Sender, pipe::Receiver)> {
    let missing = || io::Error::other("a pipe is missing");
    let stdin = group.child.stdin.take().ok_or_else(missing)?.into_owned_fd()?;
    let stdout = group.child.stdout.take().ok_or_else(missing)?.into_owned_fd()?;
    Ok((pipe::Sender::from_owned_fd(stdin)?, pipe::Receiver::from_owned_fd(stdout)?))
}

/// How a worker that hung up ended.
async fn ended(group: &mut ChildGroup) -> String {
    match timeout(LOAD_PATIENCE, group.child.wait()).await {
        Ok(Ok(status)) => exit_status::noun(status),
        Ok(Err(_)) | Err(_) => "it closed its pipes".to_owned(),
    }
}
