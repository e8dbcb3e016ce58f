//! The 12 bytes in front of every payload.

use thiserror::Error;

/// Most bytes that may follow the length field.
pub const MAX_LENGTH: usize = 64 << 20;

const LENGTH_FIELD: usize = 4;
const AFTER_LENGTH: usize = 8;
const HEADER: usize = LENGTH_FIELD + AFTER_LENGTH;

/// A frame that breaks the protocol. Whoever reads one cannot find the next: the worker must go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    #[error("a frame of {0} bytes is not possible")]
    Length(usize),
    #[error("a frame of kind {0} does not belong here")]
    Kind(u16),
    #[error("a frame of kind {kind} cannot have the argument {arg}")]
    Arg { kind: u16, arg: u16 },
    #[error("a frame of kind {kind} cannot have a payload of {length} bytes")]
    Payload { kind: u16, length: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Kind {
    Hello = 1,
    Ready = 2,
    Call = 3,
    Result = 4,
    Fail = 5,
    Crash = 6,
    Stop = 7,
}

/// A frame as it lies in the bytes, its kind not yet looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raw<'a> {
    pub(super) id: u32,
    pub(super) kind: u16,
    pub(super) arg: u16,
    pub(super) payload: &'a [u8],
}

impl<'a> Raw<'a> {
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, FrameError> {
        let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if !(AFTER_LENGTH..=MAX_LENGTH).contains(&length) {
            return Err(FrameError::Length(length));
        }
        let Some((fields, payload)) = rest.get(..length).and_then(<[u8]>::split_first_chunk) else {
            return Ok(None);
        };
        let fields: u64 = u64::from_le_bytes(*fields);
        let raw =
            Self { id: fields as u32, kind: (fields >> 32) as u16, arg: (fields >> 48) as u16, payload };
        Ok(Some((raw, LENGTH_FIELD + length)))
    }

    pub(super) const fn no_arg(&self) -> Result<(), FrameError> {
        if self.arg == 0 { Ok(()) } else { Err(self.bad_arg()) }
    }

    pub(super) const fn bad_arg(&self) -> FrameError {
        FrameError::Arg { kind: self.kind, arg: self.arg }
    }

    pub(super) const fn bad_payload(&self) -> FrameError {
        FrameError::Payload { kind: self.kind, length: self.payload.len() }
    }
}

/// Starts a frame at the end of `out`; the payload is appended by the caller. Returns where it starts.
pub(crate) fn begin(out: &mut Vec<u8>, id: u32, kind: Kind, arg: u16) -> usize {
    let start = out.len();
    let mut header = [0; HEADER];
    header[4..8].copy_from_slice(&id.to_le_bytes());
    header[8..10].copy_from_slice(&(kind as u16).to_le_bytes());
    header[10..].copy_from_slice(&arg.to_le_bytes());
    out.extend_from_slice(&header);
    start
}

/// Writes the length of the frame that starts at `start`. A frame that is too long is taken back.
pub(crate) fn finish(out: &mut Vec<u8>, start: usize) -> Result<(), FrameError> {
    let length = out.len() - start - LENGTH_FIELD;
    if length > MAX_LENGTH {
        out.truncate(start);
        return Err(FrameError::Length(length));
    }
    out[start..start + LENGTH_FIELD].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(())
}
