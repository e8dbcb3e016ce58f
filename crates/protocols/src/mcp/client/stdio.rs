//! A server as a child process: one line of messages on its standard streams.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::message_channel::MessageChannel;
use super::outgoing::{Cut, Outgoing};
use super::settings::Address;
use super::stderr::LastWords;
use crate::child::{ChildGroup, Program};
use crate::mcp::lines::{self, Lines};

/// How long a child may take to end after its input was closed, and again after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How many bytes of messages are gathered before they are written.
const WRITTEN_AT_ONCE: usize = 64 << 10;

/// A running child. Dropping it kills the child and all its descendants.
pub(super) struct Child {
    pub(super) line: Arc<MessageChannel>,
    pub(super) last_words: LastWords,
    stop: CancellationToken,
    tasks: tokio::sync::Mutex<JoinSet<()>>,
}

impl Child {
    /// Starts the program. `name` is the source's, for logs.
    pub(super) fn start(name: &str, address: &Address, most: usize) -> std::io::Result<Self> {
        let Address::Command { argv, env, folder, idle, sandbox } = address else {
            return Err(std::io::Error::other("there is no command"));
        };
        let mut group = ChildGroup::start_family(&Program { argv, env, folder, sandbox: sandbox.as_ref() })?;
        let (line, written) = MessageChannel::new();
        let (last_words, stop) = (LastWords::default(), CancellationToken::new());
        let mut tasks = JoinSet::new();
        let pipes = (group.child.stdin.take(), group.child.stdout.take(), group.child.stderr.take());
        if let (Some(stdin), Some(stdout), Some(stderr)) = pipes {
            tasks.spawn(write(Arc::clone(&line), written, stdin, stop.clone()));
            let lines = Lines::new(stdout, most, Arc::clone(&line.memory));
            tasks.spawn(read(Arc::clone(&line), lines, name.to_owned()));
            tasks.spawn(last_words.clone().listen(stderr, name.to_owned()));
        }
        if let Some(idle) = *idle {
            tasks.spawn(stop_when_idle(Arc::clone(&line), idle, stop.clone()));
        }
        tasks.spawn(watch(group, Arc::clone(&line), stop.clone()));
        Ok(Child { line, last_words, stop, tasks: tokio::sync::Mutex::new(tasks) })
    }

    /// Lets the child end by itself, then asks it, then makes it.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        let mut tasks = self.tasks.lock().await;
        // A grandchild that holds a pipe open must not hold us.
        timeout(GRACE * 3, async { while tasks.join_next().await.is_some() {} }).await.ok();
        tasks.abort_all();
    }

    /// True when we stopped it because nobody called.
    pub(super) fn is_resting(&self) -> bool {
        self.stop.is_cancelled()
    }
}

/// Closing the input is how a server is told to end.
async fn write(
    line: Arc<MessageChannel>,
    mut written: mpsc::Receiver<Outgoing>,
    mut stdin: ChildStdin,
    stop: CancellationToken,
) {
    let mut batch = Vec::new();
    let mut buffer = Vec::new();
    while let Some(count) = stop.run_until_cancelled(written.recv_many(&mut batch, 64)).await {
        if count == 0 {
            return;
        }
        for message in batch.drain(..).filter(|message| line.begins(message)) {
            append(&mut buffer, message.text);
            // Short messages are written together; more than this would only be a second copy of long ones.
            if buffer.len() > WRITTEN_AT_ONCE {
                if stdin.write_all(&buffer).await.is_err() {
                    return;
                }
                buffer = Vec::new();
            }
        }
        if stdin.write_all(&buffer).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
        buffer.clear();
    }
}

/// Adds a message as one line: raw JSON may have been written over several. A long one is not copied.
fn append(buffer: &mut Vec<u8>, message: String) {
    let mut bytes = message.into_bytes();
    for byte in bytes.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    bytes.push(b'\n');
    if buffer.is_empty() {
        *buffer = bytes;
    } else {
        buffer.extend_from_slice(&bytes);
    }
}

async fn read(line: Arc<MessageChannel>, mut lines: Lines<ChildStdout>, source: String) {
    while let Some(next) = lines.next().await {
        match next {
            lines::Line::Whole(text, _) if text.iter().all(u8::is_ascii_whitespace) => {}
            lines::Line::Whole(text, held) => {
                let before = line.noise.load(Ordering::Relaxed);
                line.deliver(&text, held);
                if before == 0 && line.noise.load(Ordering::Relaxed) == 1 {
                    tracing::debug!(source, "prints what is no message on its standard output");
                }
            }
            lines::Line::TooLong(ends) => line.deliver_ends(&ends, Cut::TooLong),
            lines::Line::NoMemory(ends) => line.deliver_ends(&ends, Cut::NoMemory),
        }
    }
    line.close();
}

async fn stop_when_idle(line: Arc<MessageChannel>, idle: Duration, stop: CancellationToken) {
    let mut quiet_for = Duration::ZERO;
    let step = (idle / 4).max(Duration::from_millis(1));
    let mut last = line.next_id();
    while quiet_for < idle {
        tokio::time::sleep(step).await;
        // Ids are given in order: two of ours in a row mean that nobody asked in between.
        let now = line.next_id();
        quiet_for = if line.is_idle() && now == last + 1 { quiet_for + step } else { Duration::ZERO };
        last = now;
    }
    // The next call must find a closed line, not one that is about to close.
    stop.cancel();
    line.close();
}

/// Ends the line when the child ends, and the child when it is to stop; then whatever it left behind.
async fn watch(mut group: ChildGroup, line: Arc<MessageChannel>, stop: CancellationToken) {
    tokio::select! {
        _ = group.child.wait() => {}
        () = stop.cancelled() => {
            if timeout(GRACE, group.child.wait()).await.is_err() {
                group.signal(Signal::TERM);
                timeout(GRACE, group.child.wait()).await.ok();
            }
        }
    }
    group.signal(Signal::KILL);
    group.child.wait().await.ok();
    line.close();
}
