//! What the worker says to the server. The server believes none of it unchecked: a library can write
//! anything to the pipe.

use super::Decoded;
use super::header::{FrameError, Kind, Raw, begin, finish};
use crate::fault::CallFault;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerFrame<'a> {
    /// JSON of [`Ready`](crate::hello::Ready).
    Ready { id: u32, json: &'a [u8] },
    /// The values of one result, see [`value`](crate::value).
    Result { id: u32, values: &'a [u8] },
    /// The call, or the loading when it answers HELLO, did not succeed.
    Fail { id: u32, fault: CallFault, text: &'a str },
    /// Last words of the signal handler.
    Crash { id: u32, crash: Crash },
}

/// Where a signal struck. A hint: the exit status of the process is the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crash {
    pub signal: u16,
    pub address: u64,
    /// Index of the parameter whose buffer, or the guard beside it, holds the address.
    pub parameter: Option<usize>,
}

impl<'a> AnswerFrame<'a> {
    pub fn decode(bytes: &'a [u8]) -> Decoded<Self> {
        let Some((raw, end)) = Raw::decode(bytes)? else { return Ok(None) };
        Ok(Some((Self::from_raw(raw)?, end)))
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        let crash_payload;
        let (id, kind, arg, payload) = match *self {
            Self::Ready { id, json } => (id, Kind::Ready, 0, json),
            Self::Result { id, values } => (id, Kind::Result, 0, values),
            Self::Fail { id, fault, text } => (id, Kind::Fail, fault.number(), text.as_bytes()),
            Self::Crash { id, crash } => {
                crash_payload = crash.payload();
                (id, Kind::Crash, crash.signal, &crash_payload[..])
            }
        };
        let start = begin(out, id, kind, arg);
        out.extend_from_slice(payload);
        finish(out, start)
    }

    fn from_raw(raw: Raw<'a>) -> Result<Self, FrameError> {
        const READY: u16 = Kind::Ready as u16;
        const RESULT: u16 = Kind::Result as u16;
        const FAIL: u16 = Kind::Fail as u16;
        const CRASH: u16 = Kind::Crash as u16;
        match raw.kind {
            READY => raw.no_arg().map(|()| Self::Ready { id: raw.id, json: raw.payload }),
            RESULT => raw.no_arg().map(|()| Self::Result { id: raw.id, values: raw.payload }),
            FAIL => {
                let fault = CallFault::from_number(raw.arg).ok_or(raw.bad_arg())?;
                let text = str::from_utf8(raw.payload).map_err(|_| raw.bad_payload())?;
                Ok(Self::Fail { id: raw.id, fault, text })
            }
            CRASH => {
                let crash = Crash::decode(raw.arg, raw.payload).ok_or(raw.bad_payload())?;
                Ok(Self::Crash { id: raw.id, crash })
            }
            other => Err(FrameError::Kind(other)),
        }
    }
}

impl Crash {
    const PAYLOAD: usize = 12;
    const FRAME: usize = 12 + Self::PAYLOAD;

    /// The whole frame without touching the heap, for a signal handler.
    pub(crate) fn frame(self, id: u32) -> [u8; Self::FRAME] {
        let mut frame = [0; Self::FRAME];
        frame[..4].copy_from_slice(&(Self::FRAME as u32 - 4).to_le_bytes());
        frame[4..8].copy_from_slice(&id.to_le_bytes());
        frame[8..10].copy_from_slice(&(Kind::Crash as u16).to_le_bytes());
        frame[10..12].copy_from_slice(&self.signal.to_le_bytes());
        frame[12..].copy_from_slice(&self.payload());
        frame
    }

    fn payload(self) -> [u8; Self::PAYLOAD] {
        let parameter = self.parameter.and_then(|index| i32::try_from(index).ok()).unwrap_or(-1);
        let mut payload = [0; Self::PAYLOAD];
        payload[..8].copy_from_slice(&self.address.to_le_bytes());
        payload[8..].copy_from_slice(&parameter.to_le_bytes());
        payload
    }

    fn decode(signal: u16, payload: &[u8]) -> Option<Self> {
        let (address, rest) = payload.split_first_chunk()?;
        let parameter = i32::from_le_bytes(rest.try_into().ok()?);
        Some(Self {
            signal,
            address: u64::from_le_bytes(*address),
            parameter: usize::try_from(parameter).ok(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(answer: AnswerFrame<'_>) {
        let mut bytes = Vec::new();
        answer.encode(&mut bytes).unwrap();
        assert_eq!(AnswerFrame::decode(&bytes), Ok(Some((answer, bytes.len()))));
    }

    #[test]
    fn the_signal_handler_writes_the_same_frame() {
        for parameter in [None, Some(3)] {
            let crash = Crash { signal: 11, address: 0xdead_beef, parameter };
            let mut bytes = Vec::new();
            AnswerFrame::Crash { id: 7, crash }.encode(&mut bytes).unwrap();
            assert_eq!(crash.frame(7)[..], bytes[..]);
            check(AnswerFrame::Crash { id: 7, crash });
        }
    }

    #[test]
    fn a_fault_without_a_number_of_ours_is_refused() {
        let fail = [8, 0, 0, 0, 0, 0, 0, 0, 5, 0, 99, 0];
        assert_eq!(AnswerFrame::decode(&fail), Err(FrameError::Arg { kind: 5, arg: 99 }));
    }

    #[test]
    fn requests_are_not_answers() {
        let call = [8, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0];
        assert_eq!(AnswerFrame::decode(&call), Err(FrameError::Kind(3)));
    }

    proptest! {
        #[test]
        fn answers_are_decoded_as_they_were_encoded(id: u32, values: Vec<u8>, text: String) {
            check(AnswerFrame::Ready { id, json: &values });
            check(AnswerFrame::Result { id, values: &values });
            check(AnswerFrame::Fail { id, fault: CallFault::BadHandle, text: &text });
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(
            bytes: Vec<u8>,
            kind in 0..9u8,
            arg in 0..12u8,
            payload: Vec<u8>,
        ) {
            let _ = AnswerFrame::decode(&bytes);
            let mut framed = vec![8 + payload.len() as u8, 0, 0, 0, 1, 0, 0, 0, kind, 0, arg, 0];
            framed.extend(&payload);
            let _ = AnswerFrame::decode(&framed);
        }
    }
}
