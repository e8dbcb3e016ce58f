//! The messages between server and worker: `u32 length, u32 id, u16 kind, u16 arg, payload`, little
//! endian. [`RequestFrame`] goes to the worker, [`AnswerFrame`] comes back; each side decodes only what it may get.

mod answer;
mod header;
mod request;

pub use answer::{AnswerFrame, Crash};
pub use header::{FrameError, MAX_LENGTH};
pub(crate) use header::{Kind, begin, finish};
pub use request::RequestFrame;

/// A message and where it ended, or nothing while the bytes of it are incomplete.
pub type Decoded<T> = Result<Option<(T, usize)>, FrameError>;
