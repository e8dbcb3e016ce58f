//! What a worker answers. Whoever looks first reads it: the worker's supervisor, or a caller that waits alone.

use std::io;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use tokio::net::unix::pipe;
use toolmux_dylib_host::frame::{AnswerFrame, Crash};

use super::death::Death;
use super::job::Answered;
use super::supervisor::End;
use super::worker_queue::WorkerQueue;

/// How much is read at once.
const READ_AT_ONCE: usize = 1 << 16;

pub(super) struct Answers {
    pipe: Arc<pipe::Receiver>,
    /// Of the worker: objects that it tells of must be its own.
    generation: u32,
    unread: Vec<u8>,
    /// What the worker said of the signal that killed it.
    pub(super) crash: Option<Crash>,
    /// Why the worker cannot go on, found by a caller.
    pub(super) end: Option<End>,
}

/// What reading found.
#[derive(PartialEq)]
pub(super) enum Read {
    Some,
    NothingNow,
    EndOfPipe,
}

impl Answers {
    pub(super) fn new(pipe: Arc<pipe::Receiver>, generation: u32) -> Self {
        Answers { pipe, generation, unread: Vec::new(), crash: None, end: None }
    }

    /// For the supervisor, who was told that there is something to read: answers whoever waits, and tells why
    /// the worker cannot go on, if so.
    pub(super) fn read_frames(&mut self, worker_queue: &WorkerQueue) -> (Read, Option<End>) {
        self.unread.reserve(READ_AT_ONCE);
        let read = found(self.pipe.try_read_buf(&mut self.unread));
        (read, self.end.take().or_else(|| self.take_frames(worker_queue)))
    }

    /// For a caller, who looks without having been told. What follows from the end of the pipe, or of the
    /// worker, is left to the supervisor.
    pub(super) fn look(&mut self, worker_queue: &WorkerQueue) {
        if self.end.is_some() {
            return;
        }
        self.unread.reserve(READ_AT_ONCE);
        // Read past the runtime, which does not even try before the kernel has told it that there is something.
        let count = rustix::io::read(&*self.pipe, spare_capacity(&mut self.unread));
        if found(count.map_err(io::Error::from)) == Read::Some {
            self.end = self.take_frames(worker_queue);
        }
        // Only the supervisor may end a worker: it alone owns the process. What was found stays here until it wakes.
        if self.end.is_some() {
            worker_queue.wake.notify_one();
        }
    }

    fn take_frames(&mut self, worker_queue: &WorkerQueue) -> Option<End> {
        // Nothing behind a reason to end is looked at: the worker is not believed any more.
        let unread = std::mem::take(&mut self.unread);
        let mut taken = 0;
        let mut end = None;
        while end.is_none() {
            match AnswerFrame::decode(&unread[taken..]) {
                Ok(Some((answer, length))) => {
                    end = self.take(answer, worker_queue);
                    taken += length;
                }
                Ok(None) => break,
                Err(_) => end = Some(broken()),
            }
        }
        self.unread = unread;
        self.unread.drain(..taken);
        end
    }

    fn take(&mut self, answer: AnswerFrame<'_>, worker_queue: &WorkerQueue) -> Option<End> {
        match answer {
            AnswerFrame::Result { id, values } => {
                let answered = Answered::Values(values.to_vec(), None);
                worker_queue.answer(id, answered, self.generation).is_none().then(broken)
            }
            AnswerFrame::Fail { id, fault, text } => {
                match worker_queue.answer(id, Answered::Fault(fault, text.to_owned()), self.generation) {
                    Some(()) => fault.ends_worker().then_some(End::Unfit),
                    None => Some(broken()),
                }
            }
            AnswerFrame::Crash { crash, .. } => {
                self.crash = Some(crash);
                None
            }
            AnswerFrame::Ready { .. } => Some(broken()),
        }
    }
}

fn found(read: io::Result<usize>) -> Read {
    match read {
        Ok(0) => Read::EndOfPipe,
        Ok(_) => Read::Some,
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Read::NothingNow
        }
        Err(_) => Read::EndOfPipe,
    }
}

fn broken() -> End {
    End::Died(Death::Broken("broke the connection to the server"))
}
