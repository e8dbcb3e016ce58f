//! A server as a child process: one message a line on its standard streams.

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

use super::duplex::Duplex;
use super::message_channel::MessageChannel;
use super::outgoing::{Cut, Outgoing};
use super::stderr::StderrTail;
use crate::child::{ChildGroup, Program};
use crate::mcp::client::settings::{Address, ServerAddress};
use crate::mcp::lines::{Line, Lines};

/// How long a child may take to end after its input was closed, and again after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How many bytes of messages are gathered before they are written.
const WRITTEN_AT_ONCE: usize = 64 << 10;

/// Starts the program. `name` is the source's, for logs.
pub(in crate::mcp) fn start(name: &str, place: &ServerAddress) -> std::io::Result<Duplex> {
    let (most, counters) = (place.max_message, &place.processes);
    let Address::Command { argv, env, folder, idle, sandbox } = &place.address else {
        return Err(std::io::Error::other("there is no command"));
    };
    let group = ChildGroup::start_family(&Program { argv, env, folder, sandbox: sandbox.as_ref() });
    let mut group = group.inspect_err(|_| counters.failed())?.counted_by(counters);
    let (messages, outgoing) = MessageChannel::new();
    let (stderr_tail, stop) = (StderrTail::default(), CancellationToken::new());
    let mut tasks = JoinSet::new();
    let pipes = (group.child.stdin.take(), group.child.stdout.take(), group.child.stderr.take());
    if let (Some(stdin), Some(stdout), Some(stderr)) = pipes {
        tasks.spawn(write(Arc::clone(&messages), outgoing, stdin, stop.clone()));
        let lines = Lines::new(stdout, most, Arc::clone(&messages.memory));
        tasks.spawn(read(Arc::clone(&messages), lines, name.to_owned()));
        tasks.spawn(stderr_tail.clone().listen(stderr, name.to_owned()));
    }
    if let Some(idle) = *idle {
        tasks.spawn(stop_when_idle(Arc::clone(&messages), idle, stop.clone()));
    }
    tasks.spawn(watch(group, Arc::clone(&messages), stop.clone()));
    Ok(Duplex::new(messages, Some(stderr_tail), stop, tasks))
}

/// Closing the input is how a server is told to end.
async fn write(
    messages: Arc<MessageChannel>,
    mut outgoing: mpsc::Receiver<Outgoing>,
    mut stdin: ChildStdin,
    stop: CancellationToken,
) {
    let mut batch = Vec::new();
    let mut buffer = Vec::new();
    while let Some(count) = stop.run_until_cancelled(outgoing.recv_many(&mut batch, 64)).await {
        if count == 0 {
            return;
        }
        for next in batch.drain(..).filter(|next| messages.begins(next)) {
            append(&mut buffer, next.message);
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
fn append(buffer: &mut Vec<u8>, mut message: Vec<u8>) {
    for byte in message.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    message.push(b'\n');
    if buffer.is_empty() {
        *buffer = message;
    } else {
        buffer.extend_from_slice(&message);
    }
}

async fn read(messages: Arc<MessageChannel>, mut lines: Lines<ChildStdout>, source: String) {
    while let Some(line) = lines.next().await {
        match line {
            Line::Whole(text, _) if text.iter().all(u8::is_ascii_whitespace) => {}
            Line::Whole(text, held) => {
                let before = messages.noise.load(Ordering::Relaxed);
                messages.deliver(&text, held);
                if before == 0 && messages.noise.load(Ordering::Relaxed) == 1 {
                    tracing::debug!(source, "printed a line that is not a message on its standard output");
                }
            }
            Line::TooLong(ends) => messages.deliver_ends(&ends, Cut::TooLong),
            Line::NoMemory(ends) => messages.deliver_ends(&ends, Cut::NoMemory),
        }
    }
    messages.close();
}

async fn stop_when_idle(messages: Arc<MessageChannel>, idle: Duration, stop: CancellationToken) {
    let mut quiet_for = Duration::ZERO;
    let step = (idle / 4).max(Duration::from_millis(1));
    let mut last = messages.next_id();
    while quiet_for < idle {
        tokio::time::sleep(step).await;
        // Ids are given in order: two of ours in a row mean that nobody asked in between.
        let now = messages.next_id();
        quiet_for = if messages.is_idle() && now == last + 1 { quiet_for + step } else { Duration::ZERO };
        last = now;
    }
    // The next call must find a closed channel, not one that is about to close. In this order: whoever sees it closed
    // sees too that it was stopped for want of calls, and does not count that as a crash.
    stop.cancel();
    messages.close();
}

/// Ends the channel when the child ends, and the child when it is to stop; then whatever it left behind.
async fn watch(mut group: ChildGroup, messages: Arc<MessageChannel>, stop: CancellationToken) {
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
    messages.close();
}
