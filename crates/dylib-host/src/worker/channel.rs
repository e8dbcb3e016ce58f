//! The two pipes as frames. Nothing is read ahead of need, nothing is written late: when a call starts,
//! the answers to all calls before it are in the pipe.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::call::Library;
use crate::fault::{CallError, CallFault};
use crate::frame::{AnswerFrame, FrameError, Kind, MAX_LENGTH, RequestFrame, begin, finish};
use crate::hello::{Hello, Ready};

const CHUNK: usize = 64 << 10;
/// How long the next request is looked for before the process goes to sleep: to be woken on a processor that
/// went idle takes longer than most calls.
const EAGER: Duration = Duration::from_micros(50);
/// Larger buffers are given back when they are empty.
const KEPT: usize = 1 << 20;

/// The server cannot be talked to any more.
#[derive(Debug, Error)]
pub(super) enum Broken {
    #[error("the pipe is unusable: {0}")]
    Pipe(io::Error),
    #[error("the server broke the protocol: {0}")]
    Frame(#[from] FrameError),
    #[error("the server broke the protocol: {0}")]
    Hello(serde_json::Error),
    #[error("the server broke the protocol: the first frame, and only that, must be HELLO")]
    Order,
}

pub(super) struct Requests {
    pipe: File,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Requests {
    pub(super) fn new(descriptor: RawFd) -> Self {
        // SAFETY: the descriptor was made for this value, and nothing else closes it.
        Self { pipe: unsafe { File::from_raw_fd(descriptor) }, bytes: vec![0; CHUNK], start: 0, end: 0 }
    }

    /// The next frame; nothing when the server has closed the pipe.
    pub(super) fn next(&mut self) -> Result<Option<RequestFrame<'_>>, Broken> {
        let frame = loop {
            if let Some((_, length)) = RequestFrame::decode(&self.bytes[self.start..self.end])? {
                let start = self.start;
                self.start += length;
                break start..self.start;
            }
            if !self.fill()? {
                return Ok(None);
            }
        };
        // Decoded once more: a frame of the loop would borrow the buffer that `fill` changes.
        Ok(RequestFrame::decode(&self.bytes[frame])?.map(|(request, _)| request))
    }

    pub(super) fn hello(&mut self) -> Result<Option<(u32, Hello)>, Broken> {
        match self.next()? {
            None => Ok(None),
            Some(RequestFrame::Hello { id, json }) => {
                serde_json::from_slice(json).map(|hello| Some((id, hello))).map_err(Broken::Hello)
            }
            Some(RequestFrame::Call { .. } | RequestFrame::Stop) => Err(Broken::Order),
        }
    }

    fn fill(&mut self) -> Result<bool, Broken> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == 0 && self.bytes.len() > KEPT {
            self.bytes = vec![0; CHUNK];
        } else if self.end == self.bytes.len() {
            // `decode` refuses longer frames, so a full buffer never needs more than the largest.
            self.bytes.resize((self.bytes.len() * 2).min(MAX_LENGTH + CHUNK), 0);
        }
        self.look_eagerly();
        loop {
            match self.pipe.read(&mut self.bytes[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Broken::Pipe(error)),
            }
        }
    }
}

impl Requests {
    /// Returns when there is something to read, or when it takes too long. Gives way to whoever wants the
    /// processor meanwhile.
    fn look_eagerly(&self) {
        let until = Instant::now() + EAGER;
        let mut look = libc::pollfd { fd: self.pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open as long as this value is.
        while unsafe { libc::poll(&raw mut look, 1, 0) } == 0 && Instant::now() < until {
            thread::yield_now();
        }
    }
}

pub(super) struct Answers {
    pipe: File,
    bytes: Vec<u8>,
}

impl Answers {
    pub(super) fn new(descriptor: RawFd) -> Self {
        // SAFETY: the descriptor was made for this value, and nothing else closes it.
        Self { pipe: unsafe { File::from_raw_fd(descriptor) }, bytes: Vec::new() }
    }

    pub(super) fn ready(&mut self, id: u32, ready: &Ready) -> Result<(), Broken> {
        let json = serde_json::to_vec(ready).map_err(|error| Broken::Pipe(error.into()))?;
        AnswerFrame::Ready { id, json: &json }.encode(&mut self.bytes)?;
        self.flush()
    }

    pub(super) fn load_failed(&mut self, id: u32, text: &str) -> Result<(), Broken> {
        self.fail(id, &CallFault::LoadFailed.because(text))
    }

    /// Makes the call and answers it. Returns the fault if it failed.
    pub(super) fn call(
        &mut self,
        library: &mut Library,
        (id, function, values): (u32, u16, &[u8]),
    ) -> Result<Option<CallFault>, Broken> {
        let start = begin(&mut self.bytes, id, Kind::Result, 0);
        let called = library.call(usize::from(function), values, &mut self.bytes).and_then(|()| {
            finish(&mut self.bytes, start).map_err(|error| CallFault::TooLong.because(error.to_string()))
        });
        match called {
            Ok(()) => self.flush().map(|()| None),
            Err(error) => {
                // What the call wrote of its result must not be sent in front of the fault.
                self.bytes.clear();
                self.fail(id, &error)?;
                Ok(Some(error.fault))
            }
        }
    }

    fn fail(&mut self, id: u32, error: &CallError) -> Result<(), Broken> {
        AnswerFrame::Fail { id, fault: error.fault, text: &error.text }.encode(&mut self.bytes)?;
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Broken> {
        self.pipe.write_all(&self.bytes).map_err(Broken::Pipe)?;
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        Ok(())
    }
}
